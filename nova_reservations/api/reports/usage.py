# SPDX-License-Identifier: Apache-2.0
"""Usage: what leases held and used in a window of time, and its cost."""

import datetime

from nova_reservations import exception
from nova_reservations.api import dates
from nova_reservations.api import listing
from nova_reservations.api.action import served
from nova_reservations.api.request import LeaseRequest
from nova_reservations.api.schemas import usage as schemas
from nova_reservations.api.views import usage as view
from nova_reservations.objects import interval
from nova_reservations.objects import usage_reports as reports
from nova_reservations.policies import usage as policies

_SECOND = datetime.timedelta(seconds=1)


@served(query=schemas.INDEX, response=schemas.INDEX_RESPONSE)
def index(req: LeaseRequest, query: dict[str, str]) -> listing.Listing:
    project_id = _project(req, query)
    now = req.now()
    window = _window(query, now)
    limit, beyond = listing.limit_of(query)
    is_detailed = query.get('detailed', '0').lower() in ('1', 'true')
    found = req.services.usage_reports.find(
        reports.ReportQuery(
            window,
            now,
            project_id,
            query.get('marker'),
            beyond,
        )
    )
    return listing.Listing(
        'tenant_usages',
        ([view.show(usage, window, is_detailed)] for usage in found),
        limit,
        lambda last: req.next_link(query, last['tenant_id']),
    )


def _project(req: LeaseRequest, query: dict[str, str]) -> str | None:
    """Return the project of the report; None: all projects."""
    own = req.context.project_id
    req.check(policies.SHOW)
    project_id = query.get('project_id')
    if project_id not in (None, own):
        req.check(policies.SHOW_ALL_PROJECTS, project_id)
    elif project_id is None and not req.may(policies.SHOW_ALL_PROJECTS):
        return str(own)
    return project_id


def _window(
    query: dict[str, str], now: datetime.datetime
) -> interval.Interval:
    """Return the window of the report. By default it ends now, and starts
    with the month of its end.

    :raises: InvalidInput
    """
    end = dates.parse(query['end'], now) if 'end' in query else now
    month = (end - _SECOND).replace(day=1, hour=0, minute=0, second=0)
    start = dates.parse(query['start'], now) if 'start' in query else month
    if start >= end:
        raise exception.InvalidInput(
            reason=f'start {dates.show(start)} is not before end '
            f'{dates.show(end)}'
        )
    return interval.Interval(start, end)
