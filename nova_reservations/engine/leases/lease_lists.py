# SPDX-License-Identifier: Apache-2.0
"""Use cases that show leases: lists, and what is shown along with a lease."""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import functools
import heapq
import itertools
from typing import Any

from oslo_log import log

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db.holdings import allocations
from nova_reservations.db.holdings import slot_servers
from nova_reservations.db.leases import deleted_leases
from nova_reservations.db.leases import lease_pages
from nova_reservations.db.leases import project_access
from nova_reservations.db.leases import retry_queue
from nova_reservations.db.resources import hosts
from nova_reservations.engine import resource_types
from nova_reservations.objects import states

LOG = log.getLogger(__name__)

PAGE = 500
"""The number of leases of a list that are in memory at once."""

_Read = Callable[
    [api.Session, objects.LeaseQuery, lease_pages.Position | None],
    tuple[list[objects.Lease], lease_pages.Position | None],
]

_READ: Mapping[bool, _Read] = {
    False: lease_pages.page,
    True: deleted_leases.page,
}
"""Whether leases were deleted -> how a page of them is read."""


@dataclasses.dataclass(eq=False)
class LeaseLists:
    database: api.Database
    types: resource_types.Types

    def find(self, query: objects.LeaseQuery) -> Iterator[objects.Lease]:
        """Yield leases as they are wanted.

        :raises: InvalidInput if the marker is unknown
        """
        for page in self.pages(query):
            yield from page

    def pages(
        self, query: objects.LeaseQuery
    ) -> Iterator[list[objects.Lease]]:
        """Yield leases a page at a time, as they are wanted.

        Each page is read in a transaction of its own, so that none is open
        while a client reads slowly. A lease that exists from the first page to
        the last is yielded once, unless the value that the list is sorted by
        changes meanwhile.

        :raises: InvalidInput if the marker is unknown
        """
        if query.deleted is None:
            return self._both(query)
        return self._pages(_READ[query.deleted], query, None)

    def _both(
        self, query: objects.LeaseQuery
    ) -> Iterator[list[objects.Lease]]:
        """Yield existing and deleted leases in one order."""
        after = None
        if query.marker is not None:
            with self.database.reader() as session:
                after = lease_pages.marked(
                    session, query
                ) or deleted_leases.marked(session, query)
            if after is None:
                raise lease_pages.no_marker(query)
        merged = heapq.merge(
            *(
                itertools.chain.from_iterable(self._pages(read, query, after))
                for read in _READ.values()
            ),
            key=functools.partial(lease_pages.position, query),
            reverse=query.descending,
        )
        wanted = itertools.islice(merged, query.limit)
        while page := list(itertools.islice(wanted, PAGE)):
            yield page

    def _pages(
        self,
        read: _Read,
        query: objects.LeaseQuery,
        after: lease_pages.Position | None,
    ) -> Iterator[list[objects.Lease]]:
        left = query.limit
        while left != 0:
            size = PAGE if left is None else min(PAGE, left)
            wanted = dataclasses.replace(query, limit=size)
            with self.database.reader() as session:
                page, after = read(session, wanted, after)
            if page:
                yield page
            if after is None:
                return
            if left is not None:
                left -= size

    def deleted(self, lease_id: str) -> objects.Lease:
        """Return a lease as it was when it was deleted.

        :raises: NotFound
        """
        with self.database.reader() as session:
            return deleted_leases.get(session, lease_id)

    def positions(self, found: Collection[objects.Lease]) -> Mapping[str, int]:
        """Return lease id -> its number in the queue, for each of the leases
        that waits; 1 is the next."""
        arrivals = {
            lease.id: lease.arrival
            for lease in found
            if lease.arrival is not None
            and lease.status == states.Lease.CREATING
        }
        if not arrivals:
            return {}
        with self.database.reader() as session:
            known = retry_queue.positions(session, {*arrivals.values()})
        return {
            lease_id: known[arrival]
            for lease_id, arrival in arrivals.items()
            if arrival in known
        }

    def hosts(self, reservation: objects.Reservation) -> Mapping[int, str]:
        """Return id -> name of the whole hosts that the reservation has. None
        are returned before its start: until then it may get other hosts.

        Decision 0046: doc/source/decisions/0046-what-a-token-reads
        """
        if reservation.status != states.Reservation.ACTIVE:
            return {}
        with self.database.reader() as session:
            return hosts.whole(session, reservation.id)

    def usage(
        self, lease: objects.Lease, reservation: objects.Reservation
    ) -> Mapping[str, Any]:
        """Return the present use of the lease's reservation as its type tells
        it; nothing if the cloud does not answer."""
        kind = self.types.get(reservation.resource_type)
        if kind is None or reservation.status != states.Reservation.ACTIVE:
            return {}
        with self.database.reader() as session:
            held = allocations.holdings(session, [reservation.id])
            came = slot_servers.chosen(session, reservation.id)
            shared = project_access.of(session, [reservation.id])
        resources = [holding.resource for holding in held[reservation.id]]
        sharers = shared.get(reservation.id, objects.NOBODY)
        try:
            found = dict(kind.usage(lease, reservation, resources, came))
            if 'used' in found:
                # Servers of projects that share it count, but are not named:
                # the owner may not see them.
                found['used'] += sum(
                    kind.usage(
                        dataclasses.replace(lease, project_id=project_id),
                        reservation,
                        resources,
                        came,
                    )['used']
                    for project_id in sorted(sharers.all)
                )
            return found
        except (
            exception.CloudRefused,
            exception.CloudUnavailable,
        ) as error:
            LOG.warning(
                'The use of reservation %(id)s is not known: %(reason)s',
                {'id': reservation.id, 'reason': error},
            )
            return {}
