# SPDX-License-Identifier: Apache-2.0
"""Series: leases that repeat; all of them are granted, or those that fit."""

from collections import Counter
import dataclasses
import datetime
import pathlib
import tempfile

from hypothesis import given
from hypothesis import strategies as st
import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db.holdings import allocations
from nova_reservations.engine.booking import lease_requests
from nova_reservations.engine.leases import series
from nova_reservations.objects import limits
from nova_reservations.objects import states
from nova_reservations.testing import region as regions
from nova_reservations.testing.region import minutes
from nova_reservations.tests import profile
from nova_reservations.tests.functional.engine import test_replanning
from nova_reservations.types.servers import host
from nova_reservations.types.servers import instance

DAY = datetime.timedelta(days=1)
MINUTES_OF_A_DAY = 24 * 60
PERIOD = minutes(4 * 60)
"""The period of a series whose days are short."""
SLOTS = 'virtual:instance'
SLOT = {
    'vcpus': 1,
    'memory_mb': 4064,
    'disk_gb': 1,
    'affinity': None,
    'resource_properties': '',
}


def asked(region, start, end, kind=objects.HOST, **item):
    """Ask for a lease from start to end, in minutes from now."""
    item = {'min': 1, 'max': 1, **item} if kind == objects.HOST else item
    return lease_requests.NewLease(
        name='a course',
        project_id='lessee',
        user_id='user',
        start=region.now + minutes(start),
        end=region.now + minutes(end),
        before_end=None,
        reservations=(lease_requests.NewReservation(kind, item),),
    )


def create(region, start, end, count=3, partial=False, dry_run=False, **item):
    return region.services.series.create(
        asked(region, start, end, **item),
        series.Repeat(DAY, count, partial=partial),
        region.now,
        dry_run=dry_run,
    )


def starts(leases, region):
    return [(lease.start_date - region.now) // DAY for lease in leases]


@pytest.fixture
def region(make_region):
    return make_region('one', 'two')


class TestCreate:
    def test_leases_of_a_series_are_ordinary_ones_on_the_same_hosts(
        self, region
    ):
        made = create(region, 60, 120).leases
        assert starts(made, region) == [0, 1, 2]
        assert len({lease.series_id for lease in made}) == 1
        assert len({lease.id for lease in made}) == 3
        hosts = [region.hosts_of(lease) for lease in made]
        assert hosts == [hosts[0]] * 3
        for lease in made:
            seen = region.see(lease)
            assert (seen.status, seen.window) == ('PENDING', lease.window)
            assert seen.series_id == made[0].series_id
        told = [
            payload['lease_id']
            for event, payload in region.notes
            if event == 'lease.create'
        ]
        assert told == [lease.id for lease in made]

    def test_leases_of_a_series_start_and_end_each_at_its_time(self, region):
        first, second, _ = create(region, 0, 60).leases
        region.work()
        assert first.lease_type == states.LeaseType.IMMEDIATE
        assert second.lease_type == states.LeaseType.SCHEDULED
        assert region.status(first) == 'ACTIVE'
        region.forward(until=MINUTES_OF_A_DAY)
        assert region.status(first) == 'TERMINATED'
        assert region.status(second) == 'ACTIVE'

    def test_a_series_is_had_as_a_whole_or_not_at_all(self, region):
        region.lease(MINUTES_OF_A_DAY, MINUTES_OF_A_DAY + 60, minimum=1)
        before = region.picture()
        with pytest.raises(exception.NotEnoughResources) as refused:
            create(region, 0, 60, min=2, max=2)
        assert 'lease 2 of 3 of the series, from 2030-01-02 12:00' in str(
            refused.value
        )
        assert '2 hosts match, 1 is taken in this window' in str(refused.value)
        assert region.picture() == before

    def test_a_series_in_part_has_the_leases_that_fit(self, region):
        region.lease(MINUTES_OF_A_DAY, MINUTES_OF_A_DAY + 60)
        made = create(region, 0, 60, partial=True, min=2, max=2)
        assert starts(made.leases, region) == [0, 2]
        [refused] = made.refused
        assert starts([refused.lease], region) == [1]
        assert '1 is taken in this window' in str(refused.why)

    def test_in_part_nothing_is_not_had(self, region):
        region.lease(0, 5 * MINUTES_OF_A_DAY)
        before = region.picture()
        with pytest.raises(exception.NotEnoughResources):
            create(region, 0, 60, partial=True, min=2, max=2)
        assert region.picture() == before

    def test_a_dry_run_writes_nothing(self, region):
        before = region.picture()
        made = create(region, 0, 60, dry_run=True)
        assert len(made.leases) == 3
        assert region.picture() == before
        assert 'lease.create' not in dict(region.notes)

    def test_a_creation_that_stops_half_way_leaves_nothing(
        self, region, monkeypatch
    ):
        before, calls, real = region.picture(), [], allocations.insert

        def stopped(*args):
            calls.append(args)
            if len(calls) == 3:
                raise KeyboardInterrupt
            real(*args)

        monkeypatch.setattr(allocations, 'insert', stopped)
        with pytest.raises(KeyboardInterrupt):
            create(region, 0, 60)
        assert region.picture() == before

    @pytest.mark.parametrize(
        'kind',
        [
            states.LeaseType.RETRY,
            states.LeaseType.BEST_EFFORT,
            states.LeaseType.IMMEDIATE,
        ],
    )
    def test_leases_that_wait_do_not_repeat(self, region, kind):
        lease = dataclasses.replace(asked(region, 0, 60), lease_type=kind)
        with pytest.raises(exception.InvalidInput, match='do not repeat'):
            region.services.series.create(
                lease, series.Repeat(DAY, 2), region.now
            )

    def test_a_series_that_would_be_too_large_is_refused_before_its_plan(
        self, region
    ):
        with pytest.raises(exception.InvalidInput, match='4096 hosts'):
            create(region, 0, 60, count=64, min=1, max=65)
        lease = asked(region, 0, 60)
        many = dataclasses.replace(lease, reservations=lease.reservations * 3)
        with pytest.raises(exception.InvalidInput, match='128 reservations'):
            region.services.series.create(
                many, series.Repeat(DAY, 64), region.now
            )


class TestLimits:
    """A project holds what all leases of a series have together."""

    def limit(self, region, **most):
        region.leases.limits.source = lambda _: limits.Limits(**most)

    def test_all_leases_of_a_series_count(self, region):
        self.limit(region, leases=3)
        create(region, 60, 120)
        region.services.series.delete(
            next(region.lease_lists.find(objects.LeaseQuery())).series_id,
            region.now,
        )
        before = region.picture()
        with pytest.raises(exception.OverLimit, match='4 leases, 3 allowed'):
            create(region, 60, 120, count=4)
        assert region.picture() == before

    def test_leases_that_overlap_hold_hosts_at_one_time(self, region):
        self.limit(region, hosts=1)
        create(region, 0, 60, count=2)
        with pytest.raises(exception.OverLimit, match='2 hosts'):
            create(region, 3 * MINUTES_OF_A_DAY, 5 * MINUTES_OF_A_DAY, count=2)

    def test_other_leases_at_the_time_of_the_last_of_a_series_count(
        self, region
    ):
        self.limit(region, hosts=1)
        region.lease(MINUTES_OF_A_DAY, MINUTES_OF_A_DAY + 60)
        with pytest.raises(exception.OverLimit, match='2 hosts'):
            create(region, 0, 60, count=2)

    def test_in_part_a_series_that_is_too_much_is_refused(self, region):
        self.limit(region, leases=2)
        with pytest.raises(exception.OverLimit):
            create(region, 60, 120, partial=True)


class TestReplanning:
    def test_promises_of_others_move_for_a_series(self, region):
        """Each host is promised for a part of the second window."""
        day = MINUTES_OF_A_DAY
        first = region.lease(day + 60, day + 90)
        [its] = region.hosts_of(first)
        # If both leases get one host, one on the other host replaces the
        # second.
        other = region.lease(day + 150, day + 180, resource_properties='')
        if region.hosts_of(other) == {its}:
            blocker = region.lease(day + 140, day + 190)
            region.delete(other)
            other = blocker
        made = create(region, 0, 240, count=2).leases
        second = region.hosts_of(made[1])
        assert region.hosts_of(first) == region.hosts_of(other)
        assert region.hosts_of(first).isdisjoint(second)

    def test_a_host_that_a_promise_leaves_goes_to_a_lease_that_waits(
        self, make_region
    ):
        gpu = test_replanning.GPU
        region = make_region('one')
        region.add_host('two', enrol=False)
        region.enrol('two', gpu='yes')
        promise = test_replanning.put_on(region, 'two', 30, 60)
        test_replanning.claim(region, promise, 'a worker')
        waits = region.retry(start=45, end=60, **gpu)
        region.work()
        assert region.status(waits) == 'CREATING'
        test_replanning.claim(region, promise, None)
        create(region, 30, 40, count=2, **gpu)
        region.work()
        assert region.hosts_of(promise) == {'one'}
        assert region.hosts_of(waits) == {'two'}


class TestCleaning:
    """The only host is cleaned for ten minutes after a lease."""

    @pytest.fixture
    def region(self, make_region):
        return make_region('one', cleaning_time=minutes(10))

    def test_leases_of_a_series_that_touch_do_not_get_one_host(self, region):
        with pytest.raises(exception.NotEnoughResources):
            region.services.series.create(
                asked(region, 0, 4 * 60), series.Repeat(PERIOD, 2), region.now
            )

    def test_leases_of_a_series_get_a_host_that_is_clean_again(self, region):
        made = region.services.series.create(
            asked(region, 0, 4 * 60 - 10),
            series.Repeat(PERIOD, 2),
            region.now,
        )
        assert [region.hosts_of(each) for each in made.leases] == [{'one'}] * 2


class TestDelete:
    def test_leases_of_a_series_go_and_used_ones_when_they_have_ended(
        self, region
    ):
        made = create(region, 0, 60).leases
        region.work()
        [left] = region.services.series.delete(made[0].series_id, region.now)
        assert (left.lease.id, left.lease.status) == (made[0].id, 'DELETING')
        region.work()
        with pytest.raises(exception.NotFound):
            region.services.series.get(made[0].series_id)

    def test_a_deletion_goes_on_where_it_was_cut_off(self, region):
        made = create(region, 60, 120).leases
        region.delete(made[1])
        found = region.services.series.get(made[0].series_id)
        assert [lease.id for lease in found] == [made[0].id, made[2].id]
        assert not region.services.series.delete(made[0].series_id, region.now)
        assert region.hosts_of(made[0]) == set()


BUSY = st.lists(
    st.tuples(st.integers(1, 12), st.integers(1, 6), st.integers(1, 2)),
    max_size=6,
)


@profile.guard(60)
@given(
    busy=BUSY,
    start=st.integers(0, 4),
    length=st.integers(1, 12),
    count=st.integers(2, 4),
    least=st.integers(1, 2),
    partial=st.booleans(),
)
def test_equal_hosts_are_had_exactly_if_each_lease_finds_enough(
    busy, start, length, count, least, partial
):
    """This also holds if leases of the series overlap: the peak of each hour
    decides."""
    hosts, held = 3, Counter()
    with tempfile.TemporaryDirectory() as directory:
        factory = regions.Factory(pathlib.Path(directory))
        region = factory('one', 'two', 'three')
        for begin, hours, size in busy:
            span = range(begin, begin + hours)
            if all(held[hour] + size <= hosts for hour in span):
                held.update(dict.fromkeys(span, size))
                region.lease(60 * begin, 60 * (begin + hours), minimum=size)
        wanted = [
            range(start + 4 * number, start + 4 * number + length)
            for number in range(count)
        ]
        total = held + Counter(
            hour for span in wanted for hour in span for _ in range(least)
        )
        fits = all(number <= hosts for number in total.values())
        first = asked(
            region, 60 * start, 60 * (start + length), min=least, max=least
        )
        repeat = series.Repeat(PERIOD, count, partial=partial)
        try:
            made = region.services.series.create(first, repeat, region.now)
        except exception.NotEnoughResources:
            made = None
        if fits:
            assert made and len(made.leases) == count
        elif not partial:
            assert made is None
        for lease in made.leases if made else ():
            assert len(region.hosts_of(lease)) == least
        _nothing_is_held_twice(region)
        factory.close()


def _nothing_is_held_twice(region):
    with region.database.reader() as session:
        found = allocations.find(session, objects.HOST)
    for number, one in enumerate(found):
        for other in found[number + 1 :]:
            assert (
                one.resource_id != other.resource_id
                or one.end_date <= other.start_date
                or other.end_date <= one.start_date
            )


class TestShares:
    @pytest.fixture
    def region(self, make_region):
        return make_region(
            'one',
            types={
                objects.HOST: host.PhysicalHost,
                SLOTS: instance.VirtualInstance,
            },
        )

    @pytest.fixture
    def cleaned(self, make_region):
        """A region in which hosts are cleaned between leases."""
        return make_region(
            'one',
            types={
                objects.HOST: host.PhysicalHost,
                SLOTS: instance.VirtualInstance,
            },
            cleaning_time=minutes(10),
        )

    def _slots(self, region, length, amount, count=3):
        first = asked(region, 0, 60 * length, SLOTS, amount=amount, **SLOT)
        return region.services.series.create(
            first, series.Repeat(PERIOD, count), region.now
        )

    def test_leases_that_overlap_share_a_host_as_far_as_it_goes(self, region):
        """A host has room for 16 slots, and two leases overlap at a time."""
        made = self._slots(region, 6, 8).leases
        assert len(made) == 3
        with pytest.raises(exception.NotEnoughResources):
            self._slots(region, 6, 1)

    def test_room_that_a_lease_of_a_series_takes_is_not_for_the_next(
        self, region
    ):
        with pytest.raises(exception.NotEnoughResources) as refused:
            self._slots(region, 6, 9)
        assert 'lease 2 of 3' in str(refused.value)

    def test_leases_that_follow_each_other_have_all_of_a_host(self, region):
        assert len(self._slots(region, 4, 16).leases) == 3

    def test_slots_of_leases_that_only_touch_are_not_added_up(self, cleaned):
        """No host is cleaned between leases that share it."""
        assert len(self._slots(cleaned, 4, 16).leases) == 3

    def test_slots_of_leases_that_overlap_are_added_up(self, cleaned):
        with pytest.raises(exception.NotEnoughResources):
            self._slots(cleaned, 5, 9)
