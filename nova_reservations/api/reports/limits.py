# SPDX-License-Identifier: Apache-2.0
"""Limits of a project and their usage, in the format of Nova's limits."""

import datetime
from typing import Any

from nova_reservations.api.action import served
from nova_reservations.api.request import LeaseRequest
from nova_reservations.api.schemas import limits as schemas
from nova_reservations.policies import limits as policies


@served(query=schemas.SHOW, response=schemas.SHOW_RESPONSE)
def show(req: LeaseRequest, query: dict[str, str]) -> dict[str, Any]:
    own = req.context.project_id
    project_id = query.get('project_id', own)
    req.check(policies.SHOW)
    if project_id != own:
        req.check(policies.SHOW_ALL_PROJECTS, project_id)
    service = req.services.leases
    most, used = service.limits.used(project_id, req.now())
    terms = service.options
    exempt = project_id in terms.max_lease_duration_exempt_project_ids
    return {
        'limits': {
            'rate': [],
            'absolute': {
                'maxOpenLeases': _number(most.leases),
                'openLeasesUsed': used.leases,
                'maxWaitingLeases': _number(most.waiting),
                'waitingLeasesUsed': used.waiting,
                'maxReservedHosts': _number(most.hosts),
                'reservedHostsUsed': used.hosts,
                'maxReservedSlots': _number(most.slots),
                'reservedSlotsUsed': used.slots,
                'maxHostHours': _number(most.host_hours),
                'hostHoursUsed': used.host_hours,
                'maxReservedResources': {
                    name: most.resources.get(name, -1)
                    for name in {**most.resources, **used.resources}
                },
                'reservedResourcesUsed': {
                    name: used.resources.get(name, 0)
                    for name in {**most.resources, **used.resources}
                },
                'maxLeaseDuration': -1
                if exempt
                else _seconds(terms.max_lease_duration),
                'reservationExtensionWindow': -1
                if exempt
                else _seconds(terms.reservation_extension_window),
                'maxStartAhead': _seconds(terms.max_start_ahead),
            },
        }
    }


def _number(limit: int | None) -> int:
    """Return a limit in Nova's format: -1 is unlimited."""
    return -1 if limit is None else limit


def _seconds(limit: datetime.timedelta | None) -> int:
    return -1 if limit is None else int(limit.total_seconds())
