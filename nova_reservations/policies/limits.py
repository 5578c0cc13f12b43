# SPDX-License-Identifier: Apache-2.0
from nova_reservations.policies import base

SHOW = 'reservations:limits:show'
SHOW_ALL_PROJECTS = 'reservations:limits:show:all_projects'

RULES = [
    base.rule(
        SHOW,
        base.PROJECT_READER_OR_ADMIN,
        'Show the limits of the own project, and what it has of them.',
        ('GET', '/limits'),
    ),
    base.rule(
        SHOW_ALL_PROJECTS,
        base.ADMIN,
        'Show those of any project.',
        ('GET', '/limits?project_id={project_id}'),
    ),
]
