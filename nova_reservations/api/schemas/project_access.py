# SPDX-License-Identifier: Apache-2.0
from nova_reservations.api import validation
from nova_reservations.api.schemas import parameters

_ACCESS = parameters.exactly(
    reservation_id=parameters.UUID, project=parameters.PROJECT
)

ACTION = validation.Schema(
    {
        'title': 'LeaseAction',
        **parameters.optional(
            addProjectAccess={
                **_ACCESS,
                'description': 'the project may create servers in the '
                'reservation by naming it',
            },
            removeProjectAccess={
                **_ACCESS,
                'description': 'the project may not any more; its servers '
                'that are there stay until the end of the lease',
            },
        ),
        'minProperties': 1,
        'maxProperties': 1,
    }
)

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
