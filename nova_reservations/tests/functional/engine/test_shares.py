# SPDX-License-Identifier: Apache-2.0
"""Leases of whole hosts and of shares of them, against brute force."""

import contextlib
import dataclasses
from typing import ClassVar

from hypothesis import given
from hypothesis import HealthCheck
from hypothesis import settings
from hypothesis import strategies as st
import pytest
import sqlalchemy as sa

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import models
from nova_reservations.db.holdings import allocations
from nova_reservations.objects import demand
from nova_reservations.testing import fake_cloud
from nova_reservations.testing import region as regions
from nova_reservations.tests import profile
from nova_reservations.types import base
from nova_reservations.types.servers import host

SHARE = 'test:share'
HOURS = 6
CLASSES = ('VCPU', 'MEMORY_MB')


class Shares(base.ResourceType):
    """Shares of hosts in our database only: no service is told of leases."""

    schema: ClassVar = {'type': 'object'}
    update_schema: ClassVar = schema

    def validate(self, asked):
        return dict(asked)

    def demand(self, params):
        return demand.Share(
            objects.HOST,
            params['slots'],
            params['amounts'],
            params['affinity'],
        )

    def start(self, booking):
        pass

    def end(self, booking):
        pass


TYPES = {objects.HOST: host.PhysicalHost, SHARE: Shares}


def inventories(vcpus, memory_mb):
    return (
        objects.Inventory('MEMORY_MB', memory_mb, 0, 1, memory_mb, 1, 1.0),
        # With the ratio and the reserved unit, 2 x vcpus are left in the end.
        objects.Inventory('VCPU', vcpus + 1, 1, 1, 2 * vcpus, 1, 2.0),
    )


def share(slots=1, vcpus=1, memory_mb=1, affinity=None):
    return (
        SHARE,
        {
            'slots': slots,
            'amounts': {'VCPU': vcpus, 'MEMORY_MB': memory_mb},
            'affinity': affinity,
        },
    )


def whole(minimum=1):
    return objects.HOST, {'min': minimum, 'max': minimum}


def set_capacity(region, name, vcpus, memory_mb):
    """Enrol a host of this many units."""
    region.cloud.known[name] = fake_cloud.facts(
        name, inventories=inventories(vcpus, memory_mb)
    )
    region.enrol(name)


@pytest.fixture
def two_hosts(make_region):
    region = make_region(types=TYPES)
    for name in ('one', 'two'):
        set_capacity(region, name, vcpus=2, memory_mb=100)
    return region


@dataclasses.dataclass(frozen=True)
class Held:
    reservation: str
    host: str
    start: float
    end: float
    exclusive: bool
    amounts: dict[str, int]


def held(region) -> list[Held]:
    """Return all allocations that are not released; times are in hours."""
    found = {}
    with region.database.reader() as session:
        for row in session.execute(
            sa.select(
                models.Allocation.id,
                models.Allocation.reservation_id,
                models.Resource.name,
                models.Allocation.start_date,
                models.Allocation.end_date,
                models.Allocation.exclusive,
                models.AllocationAmount.resource_class,
                models.AllocationAmount.amount,
            )
            .join(
                models.Resource,
                models.Resource.id == models.Allocation.resource_id,
            )
            .outerjoin(
                models.AllocationAmount,
                models.AllocationAmount.allocation_id == models.Allocation.id,
            )
            .where(models.Allocation.released == sa.false())
        ):
            one = found.setdefault(
                row.id,
                Held(
                    row.reservation_id,
                    row.name,
                    (row.start_date - regions.NOON).total_seconds() / 3600,
                    (row.end_date - regions.NOON).total_seconds() / 3600,
                    row.exclusive,
                    {},
                ),
            )
            if row.resource_class:
                one.amounts[row.resource_class] = row.amount
    return list(found.values())


def slots(region, lease):
    """Return host -> slots of the lease."""
    ids = {item.id: objects.slot_class(item.id) for item in lease.reservations}
    return {
        one.host: one.amounts[ids[one.reservation]]
        for one in held(region)
        if one.reservation in ids
    }


def test_shares_of_one_host_overlap_up_to_its_capacity(two_hosts):
    for _ in range(4):
        two_hosts.lease_of(share(2))
    with pytest.raises(exception.NotEnoughResources) as refusal:
        two_hosts.lease_of(share(1))
    assert '2 hosts match, there is room for 0 servers' in str(refusal.value)


def test_shares_leave_as_many_hosts_whole_as_they_can(two_hosts):
    for _ in range(4):
        two_hosts.lease_of(share(1))
    two_hosts.lease_of(whole())


def test_windows_that_touch_do_not_conflict(two_hosts):
    two_hosts.lease_of(share(8), start=60, end=120)
    two_hosts.lease_of(share(8), start=0, end=60)
    two_hosts.lease_of(whole(2), start=120, end=180)


def test_the_peak_counts_and_not_the_sum(make_region):
    region = make_region(types=TYPES)
    set_capacity(region, 'one', vcpus=2, memory_mb=100)
    region.lease_of(share(2), start=0, end=60)
    region.lease_of(share(2), start=60, end=120)
    region.lease_of(share(2), start=0, end=120)


def test_a_host_that_is_leased_whole_takes_no_share(two_hosts):
    two_hosts.lease_of(whole(2), start=0, end=60)
    with pytest.raises(exception.NotEnoughResources):
        two_hosts.lease_of(share(1), start=30, end=90)


def test_a_host_with_shares_is_not_leased_whole(two_hosts):
    two_hosts.lease_of(share(1), start=0, end=60)
    with pytest.raises(exception.NotEnoughResources):
        two_hosts.lease_of(whole(2), start=30, end=90)


def test_cleaning_keeps_whole_hosts_and_shares_apart_only(make_region):
    region = make_region(types=TYPES, cleaning_time=regions.minutes(10))
    set_capacity(region, 'one', vcpus=2, memory_mb=100)
    region.lease_of(share(4), start=60, end=120)
    # The host does not change hands as a whole, so there is no cleaning.
    region.lease_of(share(4), start=120, end=180)
    with pytest.raises(exception.NotEnoughResources):
        region.lease_of(whole(), start=180, end=240)
    region.lease_of(whole(), start=190, end=240)
    with pytest.raises(exception.NotEnoughResources):
        region.lease_of(share(1), start=240, end=300)
    region.lease_of(share(1), start=250, end=300)


def test_a_lease_may_have_whole_hosts_and_shares(two_hosts):
    lease = two_hosts.lease_of(whole(), share(3), share(1))
    assert two_hosts.hosts_of(lease) == {'one', 'two'}
    with pytest.raises(exception.NotEnoughResources):
        two_hosts.lease_of(share(1))


def test_an_active_lease_gets_more_slots_and_keeps_those_it_has(two_hosts):
    lease = two_hosts.lease_of(share(2))
    two_hosts.work()
    [(name, _)] = slots(two_hosts, lease).items()
    two_hosts.change(lease, slots=6)
    now = slots(two_hosts, lease)
    assert sum(now.values()) == 6
    assert now[name] >= 2
    with pytest.raises(exception.NotEnoughResources):
        two_hosts.change(lease, slots=9)
    with pytest.raises(exception.NotEnoughResources, match='keeps the 6'):
        two_hosts.change(lease, slots=1)


def test_a_pending_lease_may_move(two_hosts):
    lease = two_hosts.lease_of(share(1), start=60, end=120)
    two_hosts.lease_of(share(3), start=60, end=120)
    two_hosts.change(lease, slots=4)
    assert sum(slots(two_hosts, lease).values()) == 4


def test_a_longer_lease_needs_room_for_the_time_that_is_new(two_hosts):
    lease = two_hosts.lease_of(share(4), start=0, end=60)
    two_hosts.lease_of(share(4), start=60, end=120)
    two_hosts.change(lease, end=90)
    two_hosts.work()
    other = two_hosts.lease_of(whole(), start=120, end=180)
    assert two_hosts.hosts_of(other)
    with pytest.raises(exception.NotEnoughResources):
        two_hosts.change(lease, end=180, slots=8)


def test_a_share_that_is_over_but_not_left_takes_room_only_from_now_on(
    two_hosts,
):
    lease = two_hosts.lease_of(share(8), start=0, end=60)
    two_hosts.now += regions.minutes(60)
    assert two_hosts.status(lease) == 'PENDING'
    with pytest.raises(exception.NotEnoughResources):
        two_hosts.lease_of(share(1), start=0, end=30)
    later = two_hosts.lease_of(share(8), start=1, end=30)
    two_hosts.now += regions.minutes(1)
    with two_hosts.database.reader() as session:
        waits = allocations.predecessors(session, [two_hosts.see(later)])
    assert waits == {later.id: two_hosts.hosts_of(later)}


def test_a_start_does_not_wait_for_a_share_that_lasts(two_hosts):
    two_hosts.lease_of(share(2), start=0, end=120)
    later = two_hosts.lease_of(share(2), start=30, end=90)
    two_hosts.forward(until=30)
    assert two_hosts.status(later) == 'ACTIVE'


def test_a_host_with_shares_is_not_removed(two_hosts):
    lease = two_hosts.lease_of(share(1))
    [name] = slots(two_hosts, lease)
    [found] = two_hosts.hosts.find(objects.HostQuery(name=name))
    with pytest.raises(exception.HostInUse):
        two_hosts.hosts.enrolment.remove(found.id, two_hosts.now)


# Against brute force


@dataclasses.dataclass(frozen=True)
class Wanted:
    start: int
    length: int
    whole: int
    slots: int
    vcpus: int
    memory_mb: int
    affinity: bool | None

    @property
    def window(self):
        return range(self.start, min(self.start + self.length, HOURS))

    @property
    def amounts(self):
        return {'VCPU': self.vcpus, 'MEMORY_MB': self.memory_mb}


wanted = st.builds(
    Wanted,
    st.integers(0, HOURS - 1),
    st.integers(1, HOURS),
    # Whole hosts are rare here; otherwise they would take everything.
    st.sampled_from([0, 0, 0, 1, 2]),
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(1, 3),
    st.sampled_from([None, True, False]),
)


def room_for(asked, capacities, taken):
    """Return host -> slots that fit, looking at each hour."""
    return {
        name: min(
            min(
                (capacity[kind] - used(taken, name, kind, hour)) // amount
                for kind, amount in asked.amounts.items()
            )
            if not busy(taken, name, hour, exclusive=True)
            else 0
            for hour in asked.window
        )
        for name, capacity in capacities.items()
    }


def used(taken, name, kind, hour):
    return sum(
        one.amounts.get(kind, 0)
        for one in taken
        if one.host == name and one.start <= hour < one.end
    )


def busy(taken, name, hour, exclusive=False):
    return any(
        one.host == name
        and one.start <= hour < one.end
        and (one.exclusive or not exclusive)
        for one in taken
    )


def should_fit(asked, capacities, taken):
    if asked.whole:
        free = [
            name
            for name in capacities
            if not any(busy(taken, name, hour) for hour in asked.window)
        ]
        return len(free) >= asked.whole
    room = room_for(asked, capacities, taken)
    if asked.affinity:
        return max(room.values()) >= asked.slots
    if asked.affinity is False:
        return sum(1 for fit in room.values() if fit) >= asked.slots
    return sum(room.values()) >= asked.slots


def item(asked):
    if asked.whole:
        return whole(asked.whole)
    return share(asked.slots, asked.vcpus, asked.memory_mb, asked.affinity)


def check_instants(capacities, taken):
    for name, capacity in capacities.items():
        for hour in range(HOURS):
            now = [
                one
                for one in taken
                if one.host == name and one.start <= hour < one.end
            ]
            assert len(now) == 1 or not any(one.exclusive for one in now)
            for kind in CLASSES:
                assert used(taken, name, kind, hour) <= capacity[kind]


@given(
    sizes=st.lists(
        st.tuples(st.integers(1, 4), st.integers(1, 8)),
        min_size=1,
        max_size=4,
    ),
    asked=st.lists(st.tuples(wanted, wanted), min_size=1, max_size=7),
    dice=st.randoms(use_true_random=False),
)
@settings(
    max_examples=profile.examples(25),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_a_mix_of_leases_fits_at_every_instant_and_refuses_nothing_that_would(
    any_database, sizes, asked, dice
):
    region = regions.Region(any_database.url, types=TYPES)
    capacities = {}
    leases = []
    try:
        for number, (vcpus, memory_mb) in enumerate(sizes):
            name = f'host-{number}'
            set_capacity(region, name, vcpus, memory_mb)
            capacities[name] = {'VCPU': 2 * vcpus, 'MEMORY_MB': memory_mb}
        for one, then in asked:
            lease = attempt(
                lambda one=one: region.lease_of(
                    item(one), **minutes(one.window)
                ),
                should_fit(one, capacities, held(region)),
            )
            if lease is not None:
                leases.append((lease, one))
            if leases and dice.random() < 0.4:
                changed, was = dice.choice(leases)
                change(region, changed, was, then, capacities)
            if leases and dice.random() < 0.2:
                gone = leases.pop(dice.randrange(len(leases)))
                region.delete(gone[0])
            check_instants(capacities, held(region))
    finally:
        for lease in list(region.lease_lists.find(objects.LeaseQuery())):
            region.delete(lease)
        for known in region.hosts.find(objects.HostQuery()):
            region.hosts.enrolment.remove(known.id, region.now)
        region.close()


def attempt(act, fits):
    if fits:
        return act()
    with pytest.raises(exception.NotEnoughResources):
        act()
    return None


def change(region, lease, was, then, capacities):
    """Move a lease that has not begun to another window, and other slots."""
    own = {item.id for item in lease.reservations}
    others = [one for one in held(region) if one.reservation not in own]
    new = dataclasses.replace(then, whole=was.whole and (then.whole or 1))
    changes = minutes(new.window)
    if new.whole:
        changes |= {'min': new.whole, 'max': new.whole}
    else:
        changes |= item(new)[1]
    attempt(
        lambda: region.change(lease, **changes),
        should_fit(new, capacities, others),
    )


def minutes(window):
    return {'start': 60 * window[0], 'end': 60 * (window[-1] + 1)}


@given(
    sizes=st.lists(st.integers(1, 4), min_size=1, max_size=3),
    asked=st.lists(wanted, min_size=2, max_size=4),
)
@settings(
    max_examples=profile.examples(40),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_reservations_of_one_lease_never_take_too_much_together(
    make_region, sizes, asked
):
    region = make_region(types=TYPES)
    capacities = {}
    for number, vcpus in enumerate(sizes):
        set_capacity(region, f'host-{number}', vcpus, 8)
        capacities[f'host-{number}'] = {'VCPU': 2 * vcpus, 'MEMORY_MB': 8}
    with contextlib.suppress(exception.NotEnoughResources):
        region.lease_of(*(item(one) for one in asked), start=0, end=60)
    check_instants(capacities, held(region))
