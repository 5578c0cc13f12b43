# SPDX-License-Identifier: Apache-2.0
"""The past as lists show it, and an oracle that compares it before and after
each change."""

from collections import defaultdict
import datetime
import itertools

import sqlalchemy as sa

from nova_reservations import objects
from nova_reservations.db import models
from nova_reservations.db.holdings import allocations

FIRST = datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC)
LAST = datetime.datetime(2200, 1, 1, tzinfo=datetime.UTC)


def windows(region, resource_type=objects.HOST):
    """Return resource name -> what the lists of all time show of it."""
    with region.database.reader() as session:
        found = allocations.find(
            session,
            resource_type,
            allocations.During(FIRST, LAST, region.now),
        )
        names = dict(
            session.execute(
                sa.select(models.Resource.id, models.Resource.name)
            ).all()
        )
    shown = defaultdict(list)
    for each in found:
        shown[names[each.resource_id]].append(each)
    return shown


def of_lease(region, lease, resource_type=objects.HOST):
    """Return the windows of a lease: (resource, start, end) in minutes from
    the lease's start."""
    minute = datetime.timedelta(minutes=1)
    return sorted(
        (
            name,
            (each.start_date - lease.start_date) / minute,
            (each.end_date - lease.start_date) / minute,
        )
        for name, found in windows(region, resource_type).items()
        for each in found
        if each.lease_id == lease.id
    )


def overlaps(region, resource_type=objects.HOST):
    """Return the pairs of windows of whole resources that overlap."""
    return [
        (one, other)
        for found in windows(region, resource_type).values()
        for one, other in itertools.combinations(found, 2)
        if one.start_date < other.end_date and other.start_date < one.end_date
    ]


class Oracle:
    """Remembers what was shown of leases that had begun."""

    def __init__(self, region, resource_type=objects.HOST, whole=True):
        self.region = region
        self.resource_type = resource_type
        self.whole = whole
        self.before = {}

    def look(self):
        """Compare with what was shown at the last look."""
        region = self.region
        if self.whole:
            assert overlaps(region, self.resource_type) == []
        leases = {
            lease.id: lease
            for lease in region.lease_lists.find(objects.LeaseQuery())
        }
        shown = windows(region, self.resource_type)
        after = defaultdict(list)
        for key, found in shown.items():
            for each in found:
                after[key, each.reservation_id].append(each)
        for (key, reservation_id, lease_id), (
            was,
            then,
        ) in self.before.items():
            if lease_id in leases:
                now = _joined(after[key, reservation_id], then)
                assert now == was, (key, reservation_id, was, now)
        self.before = {
            (key, each.reservation_id, each.lease_id): (
                _joined(after[key, each.reservation_id], region.now),
                region.now,
            )
            for key, found in shown.items()
            for each in found
            if leases[each.lease_id].is_used
            or leases[each.lease_id].status in ('TERMINATED', 'ERROR')
        }


def _joined(found, until):
    """Return the time before an instant that windows cover."""
    joined = []
    for each in sorted(found, key=lambda one: one.start_date):
        start, end = each.start_date, min(each.end_date, until)
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], end)
        elif start < end:
            joined.append((start, end))
    return joined
