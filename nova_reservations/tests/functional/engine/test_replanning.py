# SPDX-License-Identifier: Apache-2.0
"""Promises of leases that have not begun move, so that other leases fit."""

from collections import Counter
import contextlib
import datetime
import pathlib
import tempfile
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st
import pytest
import sqlalchemy as sa

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import models
from nova_reservations.engine import transactions
from nova_reservations.engine.booking import lease_requests
from nova_reservations.engine.booking import replanning
from nova_reservations.engine.leases import series
from nova_reservations.objects import interval
from nova_reservations.testing import fake_cloud
from nova_reservations.testing import region as regions
from nova_reservations.testing.region import minutes
from nova_reservations.tests import profile
from nova_reservations.tests.functional.engine import failures
from nova_reservations.tests.functional.engine import recorded

GPU = {'resource_properties': '["==", "$gpu", "yes"]'}


@pytest.fixture
def region(make_region):
    return make_region('one', 'two')


@pytest.fixture
def crossed(region):
    """Each host is promised for a part of the next hours. No host is free from
    0 to 240, but only one is taken at any time."""
    return put_on(region, 'one', 60, 90), put_on(region, 'two', 150, 180)


def put_on(region, host, start, end, **asked):
    """Return a lease whose promise is put on this host by hand."""
    lease = region.lease(start=start, end=end, **asked)
    with region.database.writer() as session:
        ids = dict(
            session.execute(
                sa.select(models.Resource.name, models.Resource.id)
            ).all()
        )
        session.execute(
            sa.update(models.Allocation)
            .where(
                models.Allocation.reservation_id == lease.reservations[0].id
            )
            .values(resource_id=ids[host])
        )
    return lease


def claim(region, lease, worker):
    with region.database.writer() as session:
        session.execute(
            sa.update(models.Lease)
            .where(models.Lease.id == lease.id)
            .values(claimed_by=worker, due_at=region.now + minutes(1))
        )


def asked(region, start, end):
    return lease_requests.NewLease(
        name='a lease',
        project_id='lessee',
        user_id='user',
        start=region.now + minutes(start),
        end=region.now + minutes(end),
        before_end=None,
        reservations=(
            lease_requests.NewReservation(objects.HOST, {'min': 1, 'max': 1}),
        ),
    )


def moved(region, *leases):
    """Return how many hosts these leases have together."""
    return len(set().union(*map(region.hosts_of, leases)))


class TestCreate:
    def test_a_promise_moves_so_that_another_lease_fits(self, region, crossed):
        lease = region.lease(end=240)
        [its] = region.hosts_of(lease)
        for other in crossed:
            assert region.hosts_of(other) == {'one', 'two'} - {its}

    def test_a_promise_that_is_due_stays(self, region):
        due = put_on(region, 'one', 60, 90)
        put_on(region, 'one', 150, 180, **failures.on('one'))
        # It may move, but to no other host.
        put_on(region, 'two', 120, 180)
        region.now += minutes(60)
        with pytest.raises(exception.NotEnoughResources):
            region.lease(end=80)
        assert region.hosts_of(due) == {'one'}

    def test_owners_see_the_same_lease(self, region, crossed):
        before = [region.see(lease) for lease in crossed]
        region.lease(end=240)
        for old in before:
            new = region.see(old)
            assert (new.status, new.window, new.degraded) == (
                old.status,
                old.window,
                old.degraded,
            )
            assert [item.params for item in new.reservations] == [
                item.params for item in old.reservations
            ]
            assert [item.resources_changed for item in new.reservations] == [
                False
            ]

    def test_a_promise_that_lasts_long_moves(self, region):
        """The promise lasts longer than the time that is read at first."""
        long = put_on(region, 'one', 60, 60 * 24 * 9)
        begun = put_on(region, 'two', 0, 30)
        region.work()
        lease = region.lease(start=10, end=90)
        assert region.hosts_of(begun) == region.hosts_of(long) == {'two'}
        assert region.hosts_of(lease) == {'one'}

    def test_a_lease_that_has_begun_stays(self, region):
        begun = put_on(region, 'one', 0, 30)
        region.work()
        assert region.status(begun) == 'ACTIVE'
        promised = put_on(region, 'two', 60, 90)
        lease = region.lease(start=10, end=90)
        assert region.hosts_of(begun) == region.hosts_of(promised) == {'one'}
        assert region.hosts_of(lease) == {'two'}

    def test_hosts_of_a_lease_past_its_end_stay_taken_until_they_are_released(
        self, make_region
    ):
        region = make_region('one', 'two', cleaning_time=minutes(10))
        over = put_on(region, 'one', 0, 30)
        region.work()
        server = region.cloud.boot('one', 'lessee')
        region.cloud.slow_servers.add(server)
        region.forward(until=30)
        region.now += minutes(10)
        assert region.status(over) == 'TERMINATING'
        # The host is cleaned for ten minutes from now on, or from later on.
        early = put_on(region, 'two', 9, 20)
        with pytest.raises(exception.NotEnoughResources):
            region.lease(end=5, **failures.on('two'))
        region.delete(early)
        late = put_on(region, 'two', 11, 20)
        lease = region.lease(end=5, **failures.on('two'))
        assert region.hosts_of(lease) == {'two'}
        assert region.hosts_of(late) == {'one'}

    def test_a_lease_that_a_worker_holds_stays(self, region, crossed):
        for lease in crossed:
            claim(region, lease, 'a worker')
        with pytest.raises(exception.NotEnoughResources):
            region.lease(end=240)

    def test_a_lease_that_only_one_host_can_have_stays_there(
        self, make_region
    ):
        region = make_region('one')
        region.add_host('two', enrol=False)
        region.enrol('two', gpu='yes')
        gpu = region.lease(start=30, end=60, **GPU)
        plain = put_on(region, 'one', 90, 120)
        region.lease(start=0, end=240)
        assert region.hosts_of(gpu) == region.hosts_of(plain) == {'two'}

    def test_a_promise_leaves_the_host_that_only_another_can_use(
        self, make_region
    ):
        region = make_region('one')
        region.add_host('two', enrol=False)
        region.enrol('two', gpu='yes')
        plain = put_on(region, 'two', 30, 60)
        gpu = region.lease(end=60, **GPU)
        assert region.hosts_of(gpu) == {'two'}
        assert region.hosts_of(plain) == {'one'}

    def test_a_promise_that_its_host_no_longer_suits_is_left_to_healing(
        self, region
    ):
        large = {'resource_properties': '[">=", "$vcpus", "8"]'}
        promise = put_on(region, 'one', 30, 60, **large)
        region.lease(start=90, end=120, **failures.on('two'))
        region.cloud.known['one'] = fake_cloud.facts('one', vcpus=4)
        # A change of a host reads the facts of it.
        (one,) = region.hosts.find(objects.HostQuery(name='one'))
        region.hosts.update(one.id, {'rack': 'b'}, region.now)
        with pytest.raises(exception.NotEnoughResources):
            region.lease(end=240)
        assert region.hosts_of(promise) == {'one'}

    def test_promises_move_for_a_lease_for_ever(self, region):
        put_on(region, 'one', 60, 90)
        put_on(region, 'two', 150, 180)
        ever = (interval.LAST - region.now) // minutes(1)
        lease = region.lease(end=ever)
        assert len(region.hosts_of(lease)) == 1

    def test_replanning_can_be_switched_off(self, make_region):
        region = make_region('one', 'two', replan_limit=0)
        put_on(region, 'one', 60, 90)
        put_on(region, 'two', 150, 180)
        with pytest.raises(exception.NotEnoughResources):
            region.lease(end=240)

    def test_a_dry_run_moves_nothing(self, region, crossed):
        before = region.picture()
        lease = region.leases.create(
            asked(region, 0, 240), region.now, dry_run=True
        )
        assert lease.status == 'PENDING'
        assert region.picture() == before

    def test_the_record_is_of_the_host_on_which_a_moved_lease_starts(
        self, make_region
    ):
        region = make_region('one')
        region.add_host('two', enrol=False)
        region.cloud.known['two'] = fake_cloud.facts('two', vcpus=32)
        region.enrol('two')
        moved = put_on(region, 'one', 60, 90)
        put_on(region, 'two', 150, 180)
        oracle = recorded.Oracle(region)
        lease = region.lease(end=240, **failures.on('one'))
        assert region.hosts_of(moved) == {'two'}
        for until in 0, 60, 75, 90, 150, 180, 240:
            region.forward(until=until)
            oracle.look()
        assert region.status(lease) == 'TERMINATED'
        totals = recorded.totals(region)
        assert totals == oracle.totals()
        assert totals['lessee', 'VCPU'] == (240 * 16 + 60 * 32) * 60

    def test_a_hopeless_lease_waits_for_nobody(self, region, crossed):
        """A member whose requests are refused again and again holds up
        nobody."""
        with region.database.writer() as session:
            counter = sa.select(models.Counter.value).where(
                models.Counter.name == 'booking'
            )
            before = session.scalar(counter)
        with pytest.raises(exception.NotEnoughResources):
            region.lease(end=240, minimum=2)
        with region.database.reader() as session:
            assert session.scalar(counter) == before


class TestPrepared:
    @pytest.fixture
    def region(self, make_region):
        return make_region('one', 'two', prepare_ahead=minutes(100))

    def test_a_prepared_lease_moves_and_is_prepared_anew(self, region):
        soon = put_on(region, 'one', 60, 90)
        region.work()
        assert region.see(soon).prepared
        assert region.aggregate_of(soon) == {'one'}
        later = put_on(region, 'two', 150, 180)
        lease = region.lease(end=240)
        region.work()
        assert region.hosts_of(soon) == region.hosts_of(later)
        assert region.aggregate_of(soon) == region.hosts_of(soon)
        assert region.aggregate_of(lease) == region.hosts_of(lease)
        region.forward(until=60)
        assert region.status(soon) == 'ACTIVE'


class TestChange:
    def test_a_lease_is_prolonged_into_the_time_of_a_promise(self, region):
        active = put_on(region, 'one', 0, 30)
        region.work()
        promised = put_on(region, 'one', 30, 60)
        region.change(active, end=60)
        assert region.hosts_of(active) == {'one'}
        assert region.hosts_of(promised) == {'two'}

    def test_a_lease_gets_more_hosts(self, region):
        lease = put_on(region, 'one', 0, 240)
        region.add_host('three')
        put_on(region, 'two', 60, 90)
        put_on(region, 'three', 150, 180)
        region.change(lease, min=2, max=2)
        assert len(region.hosts_of(lease)) == 2


class TestHealing:
    def test_a_lease_is_healed_by_a_host_that_a_promise_leaves(
        self, make_region
    ):
        region = make_region('one', 'two', 'three')
        active = put_on(region, 'one', 0, 240)
        region.work()
        put_on(region, 'two', 60, 90)
        put_on(region, 'three', 150, 180)
        failures.fail(region, 'one')
        failures.check(region)
        its = failures.used(region, active)
        assert its in ({'two'}, {'three'})


class TestWaiting:
    def wait(self, make_region, **changes):
        """Return a region, a waiting lease, and the leases in its way. The
        last of these takes the second host while the first is taken, too."""
        region = make_region('one', 'two', **changes)
        others = [
            put_on(region, 'one', 60, 90),
            put_on(region, 'two', 150, 180),
            put_on(region, 'two', 80, 130),
        ]
        waits = region.retry(end=240)
        assert region.status(waits) == 'CREATING'
        return region, waits, others

    def test_promises_move_for_a_lease_that_waits(self, make_region):
        region, waits, others = self.wait(make_region)
        region.delete(others.pop())
        region.work()
        assert region.status(waits) == 'ACTIVE'
        assert moved(region, *others) == 1
        assert region.hosts_of(waits).isdisjoint(region.hosts_of(others[0]))

    def test_no_promise_moves_for_a_lease_behind_another_that_waits(
        self, make_region
    ):
        region = make_region('one', 'two')
        put_on(region, 'one', 60, 90)
        gone = put_on(region, 'one', 100, 200)
        put_on(region, 'two', 150, 180)
        first = region.retry(minimum=2, end=240)
        second = region.retry(end=240)
        region.delete(gone)
        region.work()
        assert region.status(first) == 'CREATING'
        assert region.status(second) == 'CREATING'

    def test_no_promise_moves_where_replanning_is_switched_off(
        self, make_region
    ):
        region, waits, others = self.wait(make_region, replan_limit=0)
        region.delete(others.pop())
        region.work()
        assert region.status(waits) == 'CREATING'


def test_leases_that_wait_get_what_a_promise_leaves(make_region):
    region = make_region('one')
    region.add_host('two', enrol=False)
    region.enrol('two', gpu='yes')
    plain = put_on(region, 'two', 30, 60)
    claim(region, plain, 'a worker')
    waits = region.retry(start=45, end=60, **GPU)
    region.work()
    assert region.status(waits) == 'CREATING'
    claim(region, plain, None)
    lease = region.lease(start=30, end=40, **GPU)
    region.work()
    assert region.hosts_of(plain) == {'one'}
    assert region.hosts_of(lease) == region.hosts_of(waits) == {'two'}
    assert region.status(waits) == 'PENDING'


@pytest.fixture
def overtaken(region, crossed):
    """The transactions of a booking; another writer changes all resources
    before the second of them."""
    real, tries = region.database.writer, []

    @contextlib.contextmanager
    def overtaken():
        with real() as session:
            tries.append(session)
            if len(tries) == 2:
                session.execute(
                    sa.update(models.Resource).values(
                        generation=models.Resource.generation + 1
                    )
                )
            yield session

    region.database.writer = overtaken
    return tries


def test_another_writer_on_a_resource_that_changes_is_seen(
    region, crossed, overtaken
):
    """The booking starts again."""
    lease = region.lease(end=240)
    assert moved(region, *crossed) == 1
    assert 2 < len(overtaken) < transactions.ATTEMPTS
    assert region.hosts_of(lease).isdisjoint(region.hosts_of(crossed[0]))


def test_another_writer_on_a_resource_is_seen_by_a_series(
    region, crossed, overtaken
):
    """The booking starts again."""
    region.services.series.create(
        asked(region, 0, 240),
        series.Repeat(datetime.timedelta(days=1), 2),
        region.now,
    )
    assert moved(region, *crossed) == 1
    assert 2 < len(overtaken) < transactions.ATTEMPTS


def test_a_series_does_not_overtake_a_lease_that_is_tried(region, crossed):
    """A worker begins to try it when room was found for the series."""
    waits = region.retry(minimum=2, end=240)
    assert region.status(waits) == 'CREATING'
    real, tries = region.database.writer, []

    @contextlib.contextmanager
    def begun():
        tries.append(waits)
        if len(tries) == 2:
            claim(region, waits, 'a worker')
        with real() as session:
            yield session

    region.database.writer = begun
    with pytest.raises(exception.Contended):
        region.services.series.create(
            asked(region, 0, 240),
            series.Repeat(datetime.timedelta(days=1), 2),
            region.now,
        )
    assert moved(region, *crossed) == 2


ASKS = st.lists(
    st.tuples(st.integers(1, 8), st.integers(1, 6), st.integers(1, 2)),
    max_size=8,
)


@profile.guard()
@given(ASKS, st.sampled_from([minutes(0), replanning.NEAR]))
def test_of_equal_hosts_all_is_accepted_that_the_peak_allows(asks, near):
    """This also holds if leases that begin much later must be read, too."""
    hosts, busy = 3, Counter()
    with (
        tempfile.TemporaryDirectory() as directory,
        mock.patch.object(replanning, 'NEAR', near),
    ):
        factory = regions.Factory(pathlib.Path(directory))
        region = factory('one', 'two', 'three')
        for start, length, count in asks:
            hours = range(start, start + length)
            if all(busy[hour] + count <= hosts for hour in hours):
                busy.update(dict.fromkeys(hours, count))
                region.lease(
                    start=60 * start, end=60 * (start + length), minimum=count
                )
            else:
                with pytest.raises(exception.NotEnoughResources):
                    region.lease(
                        start=60 * start,
                        end=60 * (start + length),
                        minimum=count,
                    )
        factory.close()
