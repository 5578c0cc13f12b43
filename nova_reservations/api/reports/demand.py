# SPDX-License-Identifier: Apache-2.0
"""Demand that was refused for lack of room."""

from typing import Any

from nova_reservations.api import dates
from nova_reservations.api.action import served
from nova_reservations.api.request import LeaseRequest
from nova_reservations.api.schemas import demand as schemas
from nova_reservations.api.views import demand as view
from nova_reservations.objects import refusal as refusals
from nova_reservations.policies import demand as policies


@served(query=schemas.INDEX, response=schemas.INDEX_RESPONSE)
def index(req: LeaseRequest, query: dict[str, str]) -> dict[str, Any]:
    req.check(policies.INDEX)
    now = req.now()
    start, end = (
        dates.parse(query[key], now) if key in query else None
        for key in ('start', 'end')
    )
    limit = int(query.get('limit', schemas.MOST))
    found = req.services.demand.find(
        refusals.RefusalQuery(
            project_id=query.get('project_id'),
            start=start,
            end=end,
            # One more than requested: it tells whether there is a next page.
            limit=limit + 1,
            marker=int(query['marker']) if 'marker' in query else None,
        )
    )
    shown = [view.show(refusal) for refusal in found[:limit]]
    answer: dict[str, Any] = {'demand': shown}
    if len(found) > limit:
        answer['demand_links'] = req.next_link(query, shown[-1]['id'])
    return answer
