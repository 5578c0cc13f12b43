# SPDX-License-Identifier: Apache-2.0
from collections.abc import Mapping
from typing import Any

from nova_reservations.api import validation
from nova_reservations.api.schemas import parameters
from nova_reservations.engine.leases import sharing

_ADD = 'the projects may create servers in the reservations by naming them'
_REMOVE = (
    'the projects may not any more; their servers that are there stay until '
    'the end of the lease'
)
_PROJECTS = {
    'type': 'array',
    'items': parameters.PROJECT,
    'minItems': 1,
    'maxItems': sharing.MOST,
    'uniqueItems': True,
}
_OF_LEASE = parameters.optional(
    reservation_id={
        **parameters.UUID,
        'description': 'by default all reservations of the lease that can '
        'be shared',
    },
    project={
        **parameters.PROJECT,
        'description': 'one project; with reservation_id, it is a conflict '
        'if it has access already',
    },
    projects={
        **_PROJECTS,
        'description': 'in place of project; those that have access already '
        'keep it, so the request can be repeated',
    },
)
_OF_SERIES = parameters.exactly(projects=_PROJECTS)


def _action(title: str, asked: Mapping[str, Any]) -> validation.Schema:
    return validation.Schema(
        {
            'title': title,
            **parameters.optional(
                addProjectAccess={**asked, 'description': _ADD},
                removeProjectAccess={**asked, 'description': _REMOVE},
            ),
            'minProperties': 1,
            'maxProperties': 1,
        }
    )


ACTION = _action('LeaseAction', _OF_LEASE)
SERIES_ACTION = _action('SeriesAction', _OF_SERIES)

INDEX_RESPONSE = parameters.answer(
    project_access={
        'type': 'array',
        'items': parameters.exactly(
            'ProjectAccess',
            reservation_id=parameters.UUID,
            project_id={'type': 'string'},
        ),
    }
)
