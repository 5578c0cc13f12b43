# SPDX-License-Identifier: Apache-2.0
"""Pages of a project's calendar, for hosts and for other resources."""

from collections.abc import Callable
from collections.abc import Mapping
import datetime
from typing import Any

from nova_reservations.api import dates
from nova_reservations.api import request as api_request
from nova_reservations.api.schemas import hosts as schemas
from nova_reservations.api.views import hosts as view
from nova_reservations.engine.outlook import calendar as engine
from nova_reservations.objects import interval
from nova_reservations.planner import bars

LENGTH = datetime.timedelta(days=28)
"""The length of the calendar if the request gives no end."""


def page(
    req: api_request.LeaseRequest,
    query: Mapping[str, str],
    calendar: engine.Calendar,
    key: str,
    promised: Callable[[bars.Bar], dict[str, Any]],
) -> dict[str, Any]:
    """Return a page as the caller's project may see it.

    :param key: the key of the items in the answer: hosts or resources
    :param promised: shows a bar of leases that have no resources assigned yet
    :raises: InvalidInput
    """
    project_id = req.context.project_id
    now = req.now()
    window = _window(query, now)
    limit = int(query.get('limit', schemas.CALENDAR_HOSTS))
    first = int(query.get('marker', 0))
    # One more than wanted tells whether there is a next page.
    found = calendar.of_project(project_id, window, first, limit + 1, now)
    answer: dict[str, Any] = {
        key: [view.unnamed(each) for each in found[:limit]]
    }
    if 'marker' not in query:
        answer['promised'] = [
            promised(bar) for bar in calendar.promised(project_id, window, now)
        ]
    if len(found) > limit:
        last = found[limit - 1].number
        answer[f'{key}_links'] = req.next_link(query, str(last))
    return answer


def _window(
    query: Mapping[str, str], now: datetime.datetime
) -> interval.Interval:
    """:raises: InvalidInput"""
    start = dates.parse(query.get('start', 'now'), now)
    end = (
        dates.parse(query['end'], now)
        if 'end' in query
        else dates.after(start, LENGTH)
    )
    dates.check_order(start, end)
    return interval.Interval(start, end)
