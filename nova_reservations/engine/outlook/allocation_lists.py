# SPDX-License-Identifier: Apache-2.0
"""Lists, for operators, of the leases that have resources of a type or are
promised them."""

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import datetime

from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db.holdings import allocations
from nova_reservations.db.holdings import calendar as rows
from nova_reservations.db.resources import resources

PAGE = 100
"""The number of resources whose allocations are in memory at once."""

_ALL = objects.AllocationQuery()


@dataclasses.dataclass(eq=False)
class AllocationLists:
    database: api.Database
    resource_type: str

    def find(
        self,
        now: datetime.datetime,
        query: objects.AllocationQuery = _ALL,
    ) -> Iterator[Mapping[int, list[objects.Allocation]]]:
        """Yield resource id -> its allocations, of every resource: those that
        are not over, or all that the query asks for.

        Each yield has one page of resources, read in a transaction of its
        own when it is asked for.
        """
        after, left = query.marker, query.limit
        while left is None or left > 0:
            size = PAGE if left is None else min(left, PAGE)
            with self.database.reader() as session:
                ids = (
                    resources.ids(session, self.resource_type, after, size)
                    if query.resource_ids is None
                    else _next(query.resource_ids, after, size)
                )
                found = self._of(session, ids, query, now)
            yield found
            if len(ids) < size:
                return
            after = ids[-1]
            left = None if left is None else left - size

    def of(
        self,
        resource_id: int,
        now: datetime.datetime,
        query: objects.AllocationQuery = _ALL,
    ) -> list[objects.Allocation]:
        """Return the allocations of one resource, which must exist."""
        with self.database.reader() as session:
            return self._of(session, [resource_id], query, now)[resource_id]

    def described(
        self, resource_ids: Collection[int]
    ) -> Mapping[int, rows.Described]:
        """Return resource id -> its name, and the reasons that hold it."""
        with self.database.reader() as session:
            return rows.described(session, resource_ids)

    def _of(
        self,
        session: api.Session,
        resource_ids: Collection[int],
        query: objects.AllocationQuery,
        now: datetime.datetime,
    ) -> dict[int, list[objects.Allocation]]:
        during = None
        if query.start is not None:
            during = allocations.During(query.start, query.end, now)
        elif not (query.lease_id or query.reservation_id):
            during = allocations.During(now, None, now)
        found: dict[int, list[objects.Allocation]] = {
            resource_id: [] for resource_id in resource_ids
        }
        for allocation in allocations.find(
            session,
            self.resource_type,
            during,
            query.lease_id,
            query.reservation_id,
            resource_ids,
        ):
            found[allocation.resource_id].append(allocation)
        return found


def _next(ids: Collection[int], after: int, size: int) -> list[int]:
    return [number for number in sorted(ids) if number > after][:size]
