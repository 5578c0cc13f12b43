# SPDX-License-Identifier: Apache-2.0
"""Amounts of resources other than hosts, against brute force."""

import dataclasses

from hypothesis import given
from hypothesis import HealthCheck
from hypothesis import settings
from hypothesis import strategies as st
import pytest
import sqlalchemy as sa

from nova_reservations import exception
from nova_reservations.db import models
from nova_reservations.objects import limits
from nova_reservations.testing.region import minutes
from nova_reservations.tests import profile
from nova_reservations.tests.functional.engine import pools

HOURS = 5
TIERS = ('fast', 'slow')

windows = st.tuples(st.integers(1, HOURS - 1), st.integers(1, HOURS - 1)).map(
    lambda pair: (min(pair), max(pair) + 1)
)
creates = st.tuples(
    st.just('create'),
    windows,
    st.none() | st.integers(1, 6),
    st.none() | st.sampled_from(TIERS),
)
changes = st.tuples(
    st.just('change'), st.integers(0, 5), windows, st.integers(1, 6)
)
ends = st.tuples(st.just('end'), st.integers(0, 5))
totals = st.tuples(
    st.just('total'), st.integers(0, 2), st.none() | st.integers(1, 8)
)
cordons = st.tuples(st.just('cordon'), st.integers(0, 2), st.booleans())


@dataclasses.dataclass
class Known:
    """A pool, as the oracle knows it.

    :ivar total: GiB; 0: nothing of the pool can be shared.
    """

    id: int
    name: str
    total: int
    tier: str
    cordoned: bool = False


@dataclasses.dataclass(frozen=True)
class Held:
    """:ivar size: GiB; None: the whole pool. Times are in hours."""

    lease: str
    pool: str
    start: int
    end: int
    size: int | None


class Play:
    """The engine and the oracle, side by side."""

    def __init__(self, region):
        self.region = region
        self.leases = []
        self.pools = []
        for number, tier in enumerate(('fast', 'fast', 'slow')):
            added = region.resources.add(
                pools.POOL,
                f'pool {number}',
                region.now,
                {pools.GIB: 4 + number},
                {'tier': tier},
            )
            self.pools.append(Known(added.id, added.name, 4 + number, tier))

    def held(self):
        """Return what leases hold, by the rows alone."""
        allocation, amount = models.Allocation, models.AllocationAmount
        query = (
            sa.select(
                models.Reservation.lease_id,
                models.Resource.name,
                allocation.start_date,
                allocation.end_date,
                amount.amount,
            )
            .join(
                models.Reservation,
                models.Reservation.id == allocation.reservation_id,
            )
            .join(
                models.Resource, models.Resource.id == allocation.resource_id
            )
            .outerjoin(
                amount,
                sa.and_(
                    amount.allocation_id == allocation.id,
                    amount.resource_class == pools.GIB,
                ),
            )
            .where(allocation.released == sa.false())
        )
        with self.region.database.reader() as session:
            return [
                Held(lease, name, *map(self._hour, (start, end)), size)
                for lease, name, start, end, size in session.execute(query)
            ]

    def _hour(self, date):
        return int((date - self.region.now).total_seconds()) // 3600

    def room(self, pool, window, size, ignore=None):
        """Return whether a pool has room throughout a window."""
        held = [
            each
            for each in self.held()
            if each.pool == pool.name and each.lease != ignore
        ]
        for hour in range(*window):
            there = [each for each in held if each.start <= hour < each.end]
            if any(each.size is None for each in there):
                return False
            if size is None and there:
                return False
            used = sum(each.size for each in there) + (size or 0)
            if size is not None and used > pool.total:
                return False
        return True

    def create(self, window, size, tier):
        fits = any(
            self.room(pool, window, size)
            for pool in self.pools
            if not pool.cordoned and tier in (None, pool.tier)
        )
        item = {} if size is None else {'size': size}
        if tier is not None:
            item['required'] = f'["==", "$tier", "{tier}"]'
        start, end = window
        try:
            lease = self.region.lease_of(
                (pools.POOL, item), start=60 * start, end=60 * end
            )
        except exception.NotEnoughResources:
            # A whole pool may be granted after promises have moved.
            assert not fits
        else:
            assert fits or size is None
            self.leases.append(lease.id)

    def change(self, number, window, size):
        if number >= len(self.leases):
            return
        lease = self.region.leases.get(self.leases[number])
        if 'size' not in lease.reservations[0].params:
            return
        tier = lease.reservations[0].params.get('required') or ''
        fits = any(
            self.room(pool, window, size, ignore=lease.id)
            for pool in self.pools
            if (not pool.cordoned or self._has(lease.id, pool))
            and (not tier or pool.tier in tier)
        )
        start, end = (60 * hour for hour in window)
        try:
            self.region.change(lease, start=start, end=end, size=size)
        except exception.NotEnoughResources:
            assert not fits
        else:
            assert fits

    def _has(self, lease_id, pool):
        return any(
            each.lease == lease_id and each.pool == pool.name
            for each in self.held()
        )

    def end(self, number):
        if number < len(self.leases):
            self.region.leases.delete(self.leases.pop(number), self.region.now)

    def total(self, number, total):
        pool = self.pools[number]
        held = [each for each in self.held() if each.pool == pool.name]
        most = max(
            sum(
                each.size or 0
                for each in held
                if each.start <= hour < each.end
            )
            for hour in range(HOURS + 1)
        )
        try:
            self.region.resources.update(
                pool.id, self.region.now, {pools.GIB: total}
            )
        except exception.ResourceInUse:
            assert (total or 0) < most
        else:
            assert (total or 0) >= most
            pool.total = total or 0

    def cordon(self, number, cordoned):
        pool = self.pools[number]
        service = self.region.resources
        act = service.cordon if cordoned else service.uncordon
        act(pool.id, self.region.now)
        pool.cordoned = cordoned

    def check(self):
        """Check by the rows that no pool is overbooked at any hour."""
        held = self.held()
        for pool in self.pools:
            for hour in range(HOURS + 1):
                there = [
                    each
                    for each in held
                    if each.pool == pool.name and each.start <= hour < each.end
                ]
                whole = [each for each in there if each.size is None]
                assert len(whole) <= 1
                if whole:
                    assert there == whole
                assert sum(each.size or 0 for each in there) <= pool.total


@given(
    st.lists(
        st.one_of(creates, creates, changes, ends, totals, cordons),
        min_size=4,
        max_size=12,
    )
)
@settings(
    max_examples=profile.examples(12),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_no_instant_has_more_than_there_is(make_region, actions):
    region = make_region(types={pools.POOL: pools.Pool}, monitors=[])
    try:
        play = Play(region)
        for name, *arguments in actions:
            getattr(play, name)(*arguments)
            play.check()
    finally:
        region.close()


def test_capacity_is_what_would_be_granted(make_region):
    region = make_region(types={pools.POOL: pools.Pool}, monitors=[])
    Play(region)
    region.lease_of((pools.POOL, {'size': 3}), start=60, end=120)
    start = region.now + minutes(60)
    [point] = region.resources.capacity(
        pools.POOL,
        *(start, start + minutes(60), minutes(60)),
        region.now,
        resource_class=pools.GIB,
    )
    assert (point.total, point.slots, point.hosts) == (15, 12, 3)
    region.lease_of((pools.POOL, {'size': 1, 'count': 12}), start=60, end=120)
    for item in ({'size': 1}, {}):
        with pytest.raises(exception.NotEnoughResources):
            region.lease_of((pools.POOL, item), start=60, end=120)


def test_promises_of_whole_ones_move_for_others(make_region):
    """Promises of whole pools move as those of hosts do."""
    region = make_region(types={pools.POOL: pools.Pool}, monitors=[])
    for name, tier in (('one', 'fast'), ('two', 'slow')):
        region.resources.add(
            pools.POOL, name, region.now, properties={'tier': tier}
        )
    first = region.lease_of((pools.POOL, {}), start=60, end=120)
    [its] = region.hosts_of(first)
    required = f'["==", "$name", "{its}"]'
    second = region.lease_of(
        (pools.POOL, {'required': required}), start=60, end=120
    )
    assert region.hosts_of(second) == {its}
    assert region.hosts_of(first) == {'one', 'two'} - {its}


def test_amounts_count_against_no_limit_of_hosts(make_region):
    region = make_region(
        types={pools.POOL: pools.Pool},
        monitors=[],
        limits=limits.Limits(leases=2, hosts=0, slots=0, host_hours=0),
    )
    Play(region)
    region.lease_of((pools.POOL, {'size': 1, 'count': 3}))
    region.lease_of((pools.POOL, {}))
    with pytest.raises(exception.OverLimit, match='3 leases'):
        region.lease_of((pools.POOL, {'size': 1}))
