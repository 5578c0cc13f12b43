# SPDX-License-Identifier: Apache-2.0
"""Requests and other workers that act between two steps of a worker."""

import contextlib
import threading

import pytest

from nova_reservations import exception
from nova_reservations.db.leases import leases
from nova_reservations.engine.worker import leftovers
from nova_reservations.testing.region import minutes
from nova_reservations.testing.steps import Steps
from nova_reservations.tests import profile
from nova_reservations.tests.functional.engine import stories

pytestmark = pytest.mark.fuzz

SECONDS = 30


@pytest.mark.parametrize('story', stories.ALL)
def test_a_lease_deleted_between_two_steps_is_gone(make_region, story):
    for number in profile.steps():
        region, lease = stories.told(make_region, story)

        def delete(step, region=region, lease=lease):
            with contextlib.suppress(exception.NotFound):
                region.delete(lease)

        with Steps(region, number, delete) as steps:
            region.work()
        if not steps.reached:
            break
        stories.fence(region)
        region.forward(until=stories.THE_END)
        assert_nothing_is_left(region, lease)


def assert_nothing_is_left(region, lease):
    picture = region.picture()
    assert lease.id not in picture['leases']
    assert picture['held'] == []
    assert picture['aggregates'] == {}
    assert picture['servers'] == []
    assert region.told(lease).count('delete') == 1


@pytest.mark.parametrize(
    'changes', [{'end': 70}, {'name': 'new'}, {'start': 5, 'end': 70}]
)
@pytest.mark.parametrize('story', [stories.prepare, stories.start])
def test_a_lease_changed_between_two_steps_is_what_was_answered(
    make_region, story, changes
):
    for number in profile.steps():
        region, lease = stories.told(make_region, story)
        answers = []

        def change(step, region=region, lease=lease, answers=answers):
            with contextlib.suppress(
                exception.InvalidInput, exception.InvalidState
            ):
                answers.append(region.change(lease, **changes))

        with Steps(region, number, change) as steps:
            region.work()
        if not steps.reached:
            break
        for answer in answers:
            seen = region.see(lease)
            assert (seen.name, seen.start_date, seen.end_date) == (
                answer.name,
                answer.start_date,
                answer.end_date,
            )
        region.forward(until=25)
        assert region.status(lease) == 'ACTIVE'
        assert region.aggregate_of(lease) == {'one', 'two', 'three'}
        region.forward(until=stories.THE_END)
        assert region.status(lease) == 'TERMINATED'
        assert region.told(lease).count('event.start_lease') == 1
    assert number >= 3


def test_a_host_swapped_between_two_steps_is_not_in_the_aggregate(make_region):
    for number in profile.steps():
        region = make_region('one', 'two')
        lease = region.lease(
            start=5, hypervisor_properties='["==","$service_name","one"]'
        )

        def swap(step, region=region, lease=lease):
            region.change(
                lease, hypervisor_properties='["==","$service_name","two"]'
            )

        with Steps(region, number, swap) as steps:
            region.work()
        if not steps.reached:
            break
        assert region.aggregate_of(lease) == {'two'}
        region.forward(until=5)
        assert region.aggregate_of(lease) == region.hosts_of(lease) == {'two'}
    assert number >= 3


def test_an_active_lease_ended_while_hosts_are_added_ends(make_region):
    for number in profile.steps():
        region, lease = stories.told(make_region, stories.update)
        region.now += minutes(1)

        def end(step, region=region, lease=lease):
            region.change(lease, end=0)

        with Steps(region, number, end) as steps:
            region.work()
        if not steps.reached:
            break
        region.forward(until=3)
        assert region.status(lease) == 'TERMINATED'
        assert region.cloud.aggregate_hosts == {}
    assert number >= 3


class Sleeper:
    """A worker that is stopped before a step, and woken later."""

    def __init__(self, region, number):
        self.stopped = threading.Event()
        self.woken = threading.Event()
        self.steps = Steps(region, number, self._sleep)
        self.worker = region.worker('sleeper')
        with self.steps:
            self.thread = threading.Thread(target=self._work, args=[region])
            self.thread.start()
            assert self.stopped.wait(SECONDS)

    def _work(self, region):
        self.worker.tick(region.now)
        self.worker.drain()
        self.stopped.set()

    def _sleep(self, step):
        self.stopped.set()
        assert self.woken.wait(SECONDS)

    def wake(self):
        self.woken.set()
        self.thread.join(SECONDS)
        assert not self.thread.is_alive()


@pytest.mark.parametrize('until', [0, stories.THE_END])
@pytest.mark.parametrize(
    'story',
    # A worker that wakes during Nova's snapshot makes one image more.
    [story for story in stories.ALL if story is not stories.snapshots],
)
def test_a_worker_that_wakes_after_its_successor_changes_nothing(
    make_region, story, until
):
    for number in profile.steps():
        region, _ = stories.told(make_region, story)
        sleeper = Sleeper(region, number)
        if not sleeper.steps.reached:
            sleeper.wake()
            break
        region.now += minutes(0.6)
        other = region.worker('other')
        region.work(other)
        if until:
            stories.fence(region)
            region.forward(until=until, by=other)
            up = {'one', 'two', 'three'} - {*region.cloud.services}
            region.lease(end=60, minimum=len(up), project='next')
            region.work(other)
            for host in sorted(up):
                region.cloud.boot(host, 'next')
        before = region.picture()
        sleeper.wake()
        leftovers.Sweep(region.database, region.cloud).run()
        assert region.picture() == before, sleeper.steps.taken
    assert number >= 3


def test_a_lease_whose_worker_hangs_for_minutes_is_taken_over(make_region):
    region = make_region('one')
    lease = region.lease()
    sleeper = Sleeper(region, 3)
    other = region.worker('other')
    for _ in range(31):
        region.now += minutes(1 / 6)
        # The sleeper's loop goes on, and renews the claim as long as there is
        # hope.
        sleeper.worker.tick(region.now)
        region.work(other)
    assert region.status(lease) == 'STARTING'
    region.now += minutes(1 / 2)
    region.work(other)
    assert region.status(lease) == 'ACTIVE'
    before = region.picture()
    sleeper.wake()
    assert region.picture() == before


def test_a_late_start_takes_no_host_away_that_was_added_since(make_region):
    one = '["==","$service_name","one"]'
    for number in profile.steps():
        region = make_region('one', 'two', 'three')
        lease = region.lease(resource_properties=one)
        sleeper = Sleeper(region, number)
        if not sleeper.steps.reached:
            sleeper.wake()
            break
        region.now += minutes(0.6)
        region.work(region.worker('other'))
        region.change(lease, min=3, max=3, resource_properties='')
        region.work(region.worker('other'))
        sleeper.wake()
        assert region.aggregate_of(lease) == {'one', 'two', 'three'}
    assert number >= 3


@pytest.mark.parametrize(
    'story',
    [story for story in stories.ALL if story not in stories.BY_MONITOR],
)
def test_a_worker_records_nothing_once_another_has_the_claim(
    make_region, story
):
    """This holds even if the other worker has recorded nothing yet."""
    for number in profile.steps():
        region, lease = stories.told(make_region, story)
        sleeper = Sleeper(region, number)
        if not sleeper.steps.reached:
            sleeper.wake()
            break
        region.now += minutes(0.6)
        claimed = claim(region, lease)
        written = len(region.cloud.writes)
        sleeper.wake()
        # The sleeper makes the one write before which it fell asleep, and no
        # other.
        assert len(region.cloud.writes) <= written + 1
        assert known(region, lease) == claimed
    assert number >= 3


def claim(region, lease):
    """Claim the lease as another worker would, and return it."""
    seen = known(region, lease)
    if seen is not None and seen.due_at is not None:
        with region.database.writer() as session:
            leases.claim(
                session,
                seen.id,
                seen.attempt,
                'other',
                region.now,
                until=region.now + minutes(1),
            )
    return known(region, lease)


def known(region, lease):
    with contextlib.suppress(exception.NotFound):
        return region.see(lease)
