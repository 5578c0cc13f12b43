# SPDX-License-Identifier: Apache-2.0
"""Actions of operators on a host, with bodies like those of Nova's actions."""

from collections.abc import Mapping
import datetime
from typing import Any

from nova_reservations import exception
from nova_reservations.api import dates
from nova_reservations.api.action import served
from nova_reservations.api.pool import hosts
from nova_reservations.api.request import LeaseRequest
from nova_reservations.api.schemas import host_actions as schemas
from nova_reservations.api.views import hosts as view
from nova_reservations.engine.leases import maintenance
from nova_reservations.policies import hosts as policies


@served(
    body=schemas.ACTION, response=schemas.ACTION_RESPONSE, refusals=(404, 409)
)
def action(
    req: LeaseRequest, host_id: str, body: dict[str, Any]
) -> dict[str, Any]:
    req.context.can(policies.MAINTAIN)
    [(name, asked)] = body.items()
    now = req.now()
    key = hosts.KIND.key_of(host_id)
    service = req.services.maintenance
    match name:
        case 'cordon':
            held = service.cordon(key, now)
        case 'uncordon':
            held = service.uncordon(key, now)
        case 'drain':
            moves = (asked or {}).get('servers') == 'migrate'
            held = service.drain(key, now, moves)
        case _:
            held = service.maintain(key, _window(req, asked, now), now)
    return view.held(held)


def _window(
    req: LeaseRequest,
    asked: Mapping[str, str],
    now: datetime.datetime,
) -> maintenance.Window:
    """:raises: InvalidInput"""
    start, end = (dates.due(asked[key], now) for key in ('from', 'until'))
    if end <= start:
        raise exception.InvalidInput('until must be later than from')
    return maintenance.Window(
        start, end, req.context.project_id, req.context.user_id
    )
