# SPDX-License-Identifier: Apache-2.0
from typing import Any

from nova_reservations.api.schemas import parameters

SHOW = parameters.query(project_id=parameters.NAME)

_LIMIT = {'type': 'integer', 'minimum': -1, 'description': '-1: no limit'}
_SECONDS = {
    'type': 'integer',
    'minimum': -1,
    'description': 'seconds; -1: no limit',
}
_USED = {'type': 'integer', 'minimum': 0}


def _each(number: dict[str, Any], description: str) -> dict[str, Any]:
    """Return the schema of a number for each limit of other resources."""
    return {
        'type': 'object',
        'additionalProperties': number,
        'description': f'type of resources, or that and / and a resource '
        f'class -> {description}',
    }


SHOW_RESPONSE = parameters.answer(
    limits=parameters.exactly(
        rate={'type': 'array', 'maxItems': 0},
        absolute=parameters.exactly(
            maxOpenLeases=_LIMIT,
            openLeasesUsed=_USED,
            maxWaitingLeases=_LIMIT,
            waitingLeasesUsed=_USED,
            maxReservedHosts=_LIMIT,
            reservedHostsUsed={
                **_USED,
                'description': 'at the instant at which they are most',
            },
            maxReservedSlots=_LIMIT,
            reservedSlotsUsed={
                **_USED,
                'description': 'at the instant at which they are most',
            },
            maxHostHours=_LIMIT,
            hostHoursUsed={**_USED, 'description': 'from now on'},
            maxReservedResources=_each(_LIMIT, 'the most'),
            reservedResourcesUsed=_each(
                _USED, 'the number at the instant at which they are most'
            ),
            maxLeaseDuration=_SECONDS,
            reservationExtensionWindow=_SECONDS,
            maxStartAhead=_SECONDS,
        ),
    )
)
