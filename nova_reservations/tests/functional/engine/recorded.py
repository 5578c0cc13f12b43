# SPDX-License-Identifier: Apache-2.0
"""The record of what leases had, and an oracle that adds up allocations as
they are between any two changes."""

from collections import Counter
from collections import defaultdict
import datetime

import sqlalchemy as sa

from nova_reservations import objects
from nova_reservations.db import models
from nova_reservations.db.record import usage
from nova_reservations.objects import usage as records

FIRST = datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC)
LAST = datetime.datetime(2200, 1, 1, tzinfo=datetime.UTC)
NOTHING = datetime.timedelta(0)


def rows(region):
    with region.database.reader() as session:
        return list(usage.find(session, records.UsageQuery(FIRST, LAST)))


def going_on(region):
    """Return (lease, class, degraded) -> amount that goes on by the record."""
    found = Counter()
    for row in rows(region):
        if row.ended_at is None:
            key = row.lease_id, row.resource_class, row.degraded
            assert key not in found
            found[key] = row.amount
    return found


def totals(region):
    """Return (project, class) -> amount x seconds, by the record."""
    found = Counter()
    for row in rows(region):
        assert row.ended_at is None or row.ended_at > row.started_at, row
        found[row.project_id, row.resource_class] += (
            row.amount * row.within(FIRST, region.now).total_seconds()
        )
    return {key: total for key, total in found.items() if total}


def held(region):
    """Return (lease, class, degraded) -> amount that active leases hold, added
    up over their allocations."""
    found = Counter()
    with region.database.reader() as session:
        taken = session.execute(
            sa.select(
                models.Allocation,
                models.Lease.id.label('lease_id'),
                models.Lease.status,
                models.Resource.resource_type,
                models.Resource.down_since,
                models.Host,
            )
            .join(
                models.Reservation,
                models.Reservation.id == models.Allocation.reservation_id,
            )
            .join(models.Lease, models.Lease.id == models.Reservation.lease_id)
            .join(
                models.Resource,
                models.Resource.id == models.Allocation.resource_id,
            )
            .outerjoin(
                models.Host, models.Host.resource_id == models.Resource.id
            )
            .where(
                models.Allocation.released == sa.false(),
                # Nobody uses a window of maintenance.
                sa.not_(
                    sa.and_(
                        models.Lease.by_default,
                        models.Reservation.resource_type == objects.HOST,
                    )
                ),
            )
        ).all()
        inventories = defaultdict(dict)
        for row in session.scalars(sa.select(models.Inventory)):
            inventories[row.resource_id][row.resource_class] = int(
                (row.total - row.reserved) * row.allocation_ratio
            )
        amounts = defaultdict(dict)
        for amount in session.scalars(sa.select(models.AllocationAmount)):
            amounts[amount.allocation_id][amount.resource_class] = (
                amount.amount
            )
    left = [one.Allocation for one in taken if one.Allocation.replaced_at]
    for one in taken:
        given, host = one.Allocation, one.Host
        if one.status != 'ACTIVE' or given.replaced_at:
            continue
        occupied = any(
            other.resource_id == given.resource_id
            and other.reservation_id != given.reservation_id
            and (other.exclusive or given.exclusive)
            for other in left
        )
        degraded = one.down_since is not None or occupied
        if given.exclusive and host is None:
            units = {one.resource_type: 1, **inventories[given.resource_id]}
        elif given.exclusive:
            units = {
                one.resource_type: 1,
                'VCPU': host.vcpus,
                'MEMORY_MB': host.memory_mb,
                'DISK_GB': host.local_gb,
            }
        else:
            units = {
                'slots' if objects.slots_of(name) else name: amount
                for name, amount in amounts[given.id].items()
            }
        for name, amount in units.items():
            found[one.lease_id, name, degraded] += amount
    return found


def whatever_works(amounts):
    """Return (lease, class) -> amount, degraded or not."""
    found = Counter()
    for (lease, name, _), amount in amounts.items():
        found[lease, name] += amount
    return found


class Oracle:
    """Adds up what leases hold at each look. What they held at the look before
    counts until now.

    Nothing counts after the end of a lease, however late a worker ends it.
    """

    def __init__(self, region):
        self.region = region
        self.since = region.now
        self.held = Counter()
        self.pieces = []
        self.leases = {}

    def look(self):
        """Check that the record agrees with the allocations."""
        region = self.region
        if region.now > self.since:
            self.pieces += [
                (*key, amount, self.since, region.now)
                for key, amount in self.held.items()
            ]
        for lease in region.lease_lists.find(objects.LeaseQuery()):
            self.leases[lease.id] = lease
        self.held = whatever_works(held(region))
        self.since = region.now
        assert whatever_works(going_on(region)) == self.held

    def totals(self):
        """Return (project, class) -> amount x seconds."""
        found = Counter()
        for lease_id, name, amount, start, end in self.pieces:
            lease = self.leases[lease_id]
            lasted = max(min(end, lease.end_date) - start, NOTHING)
            found[lease.project_id, name] += amount * lasted.total_seconds()
        return {key: total for key, total in found.items() if total}
