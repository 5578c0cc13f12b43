# SPDX-License-Identifier: Apache-2.0
from nova_reservations.policies import base

SHOW = 'reservations:usage:show'
SHOW_ALL_PROJECTS = 'reservations:usage:show:all_projects'

RULES = [
    base.rule(
        SHOW,
        base.PROJECT_READER_OR_ADMIN,
        'Show what leases of the own project had and used, and what that '
        'costs.',
        ('GET', '/usage'),
    ),
    base.rule(
        SHOW_ALL_PROJECTS,
        base.ADMIN,
        'Show the same of any project, or of all.',
        ('GET', '/usage?project_id={project_id}'),
    ),
]
