# SPDX-License-Identifier: Apache-2.0
"""Requests that hosts and other resources have in common: which leases have
them, when they are taken, their properties; and their removal."""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import datetime
from typing import Any

from oslo_utils import strutils

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.api import dates
from nova_reservations.api import listing
from nova_reservations.api.request import LeaseRequest
from nova_reservations.api.schemas import hosts as schemas
from nova_reservations.api.views import hosts as view
from nova_reservations.engine.outlook import allocation_lists
from nova_reservations.objects import interval

DEFAULT_STEP = datetime.timedelta(hours=1)
MIN_STEP = datetime.timedelta(minutes=1)

LENGTH = datetime.timedelta(days=28)
"""The length of the calendar if the request gives no end."""

_INSTANT = datetime.timedelta(seconds=1)
"""The shortest window, because all dates are in whole seconds."""


@dataclasses.dataclass(frozen=True, slots=True)
class Kind:
    """Hosts, or all other resources, as paths, answers and rules name them.

    :ivar noun: one of them, in refusals.
    :ivar items: the key of a list of them.
    :ivar name_key: the key of the name of one in a list of allocations.
    :ivar policies: the module of their rules.
    :ivar type_of: returns the type that a query is about.
    :ivar remove: removes the one with this id.
    """

    noun: str
    items: str
    name_key: str
    policies: Any
    type_of: Callable[[LeaseRequest, Mapping[str, str]], str]
    remove: Callable[[LeaseRequest, int], None]

    def key_of(self, text: str) -> int:
        """:raises: NotFound for a text that can't be the number of one"""
        if not (text.isascii() and text.isdigit() and len(text) < 10):
            raise exception.NotFound(kind=self.noun, id=text)
        return int(text)

    def page(
        self,
        req: LeaseRequest,
        query: Mapping[str, str],
        shown: Iterable[dict[str, Any]],
        limit: int | None,
    ) -> listing.Listing:
        """:param shown: one more than the limit if there is another page"""
        return listing.Listing(
            self.items,
            iter([list(shown)]),
            limit,
            lambda last: req.next_link(query, last['id']),
        )

    def delete(self, req: LeaseRequest, **path: str) -> None:
        req.context.can(self.policies.DELETE)
        key = self.key_of(*path.values())
        try:
            self.remove(req, key)
        except (exception.HostInUse, exception.ResourceInUse):
            # A client that deletes a lease and its host has a 204 of the
            # first.
            if not req.services.short_waits.for_end(key):
                raise
            self.remove(req, key)

    def allocations(
        self,
        req: LeaseRequest,
        query: dict[str, str],
        resource_ids: Collection[int] | None = None,
    ) -> listing.Listing:
        """:param resource_ids: those that are listed; None: all"""
        req.context.can(self.policies.ALLOCATIONS)
        lists = req.services.resources.allocation_lists(
            self.type_of(req, query)
        )
        now = req.now()
        asked = allocation_query(query, now)
        limit, beyond = listing.limit_of(query)
        held = lists.find(
            now,
            dataclasses.replace(
                asked,
                resource_ids=resource_ids,
                limit=beyond,
                marker=int(query.get('marker', 0)),
            ),
        )
        return listing.Listing(
            'allocations',
            (self.allocated(lists, page, asked, now) for page in held),
            limit,
            lambda last: req.next_link(query, last['resource_id']),
        )

    def allocated(
        self,
        lists: allocation_lists.AllocationLists,
        page: Mapping[int, Collection[objects.Allocation]],
        query: objects.AllocationQuery,
        now: datetime.datetime,
    ) -> list[dict[str, Any]]:
        """Show who has resources, by their ids."""
        start = query.start or now
        known = lists.described(page)
        return [
            {
                self.name_key: known[key].name,
                **view.allocation(
                    key,
                    found,
                    [
                        each
                        for each in known[key].holds
                        if each.overlaps(start, query.end)
                    ],
                ),
            }
            for key, found in page.items()
            # A resource may have been removed since its id was read.
            if key in known
        ]

    def calendar(
        self, req: LeaseRequest, query: dict[str, str]
    ) -> dict[str, Any]:
        """Return a page of the calendar as the caller's project may see it.

        :raises: InvalidInput
        """
        project_id = req.context.project_id
        req.check(self.policies.CALENDAR)
        calendar = req.services.resources.calendar(self.type_of(req, query))
        now = req.now()
        window = _window(query, now)
        limit = int(query.get('limit', schemas.CALENDAR_HOSTS))
        first = int(query.get('marker', 0))
        # One more than wanted tells whether there is a next page.
        found = calendar.of_project(project_id, window, first, limit + 1, now)
        answer: dict[str, Any] = {
            self.items: [view.unnamed(each) for each in found[:limit]]
        }
        if 'marker' not in query:
            answer['promised'] = [
                {**view.bar(bar), self.items: bar.hosts}
                for bar in calendar.promised(project_id, window, now)
            ]
        if len(found) > limit:
            last = found[limit - 1].number
            answer[f'{self.items}_links'] = req.next_link(query, str(last))
        return answer

    def properties(
        self, req: LeaseRequest, query: dict[str, str]
    ) -> dict[str, Any]:
        req.context.can(self.policies.PROPERTIES)
        private = strutils.bool_from_string(query.get('all'))
        if private:
            req.context.can(self.policies.PRIVATE_PROPERTIES)
        detail = strutils.bool_from_string(query.get('detail'))
        found = req.services.resources.properties(
            self.type_of(req, query), private
        )
        return {
            'resource_properties': [
                view.listed_property(each, detail) for each in found
            ]
        }


def allocation_query(
    query: Mapping[str, str], now: datetime.datetime
) -> objects.AllocationQuery:
    """:raises: InvalidInput"""
    start, end = (
        dates.parse(query[key], now) if key in query else None
        for key in ('start', 'end')
    )
    if 'at' in query:
        if start or end:
            raise exception.InvalidInput('give at, or start and end')
        start = dates.parse(query['at'], now)
        end = start + _INSTANT
    elif end is not None:
        start = start or now
        dates.check_order(start, end)
    return objects.AllocationQuery(
        query.get('lease_id'), query.get('reservation_id'), start, end
    )


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


def steps(
    query: Mapping[str, str], now: datetime.datetime
) -> tuple[datetime.datetime, datetime.datetime, datetime.timedelta]:
    """Return the start, the end and the step of a capacity request.

    :raises: InvalidInput
    """
    step = (
        dates.parse_duration(query['step'])
        if 'step' in query
        else DEFAULT_STEP
    )
    if step < MIN_STEP:
        raise exception.InvalidInput('step must be a minute or longer')
    start, end = (dates.parse(query[key], now) for key in ('start', 'end'))
    return start, end, step
