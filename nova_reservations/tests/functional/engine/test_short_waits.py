# SPDX-License-Identifier: Apache-2.0
"""Requests wait for a start that is due, or until something is given back: not
for long, and not many of them.

Decision 0065: doc/source/decisions/0065-usable-when-answered
"""

import pytest

from nova_reservations.engine.leases import short_waits


class Timer:
    """A clock that only passes while a request waits.

    :ivar meanwhile: called in each pause.
    """

    def __init__(self):
        self.seconds = 0.0
        self.pauses = []
        self.meanwhile = lambda: None

    def pause(self, seconds):
        self.pauses.append(seconds)
        self.seconds += seconds
        self.meanwhile()


@pytest.fixture
def timer():
    return Timer()


@pytest.fixture
def starts(region, timer):
    return short_waits.ShortWaits(
        region.database,
        lambda: region.now,
        short_waits.Timer(lambda: timer.seconds, timer.pause),
        places=1,
    )


def reservation_of(lease):
    [reservation] = lease.reservations
    return reservation.id


def test_a_wait_ends_as_soon_as_the_lease_has_started(region, starts, timer):
    lease = region.lease()
    timer.meanwhile = region.work
    assert starts.for_start(reservation_of(lease))
    assert region.leases.get(lease.id).status == 'ACTIVE'
    assert timer.pauses == [short_waits.FIRST_PAUSE]


def test_a_wait_lasts_three_seconds_at_most_and_looks_a_few_times(
    region, starts, timer
):
    assert starts.for_start(reservation_of(region.lease()))
    assert timer.seconds == pytest.approx(3)
    assert len(timer.pauses) <= 10


def test_slow_looks_count(region, starts, timer):
    def look_slowly():
        timer.seconds += 2

    timer.meanwhile = look_slowly
    assert starts.for_start(reservation_of(region.lease()))
    assert len(timer.pauses) <= 2


def test_nobody_waits_for_a_lease_that_starts_later(region, starts, timer):
    lease = region.lease(start=1, end=60)
    assert starts.for_start(reservation_of(lease))
    assert timer.pauses == []


def test_nobody_waits_for_a_lease_that_is_active_or_over_or_unknown(
    region, starts, timer
):
    lease = region.active_lease()
    assert starts.for_start(reservation_of(lease))
    region.leases.delete(lease.id, region.now)
    assert starts.for_start(reservation_of(lease))
    assert starts.for_start(lease.id)
    assert timer.pauses == []


def test_a_wait_ends_when_the_lease_is_deleted(region, starts, timer):
    lease = region.lease()
    timer.meanwhile = lambda: region.leases.delete(lease.id, region.now)
    assert starts.for_start(reservation_of(lease))
    assert timer.pauses == [short_waits.FIRST_PAUSE]


def test_while_all_places_are_taken_others_do_not_wait(region, starts, timer):
    lease, other = region.lease(), region.lease()
    refused = []
    timer.meanwhile = lambda: refused.append(
        starts.for_start(reservation_of(other))
    )
    assert starts.for_start(reservation_of(lease))
    assert refused
    assert not any(refused)
    timer.meanwhile = lambda: None
    assert starts.for_start(reservation_of(other))


def test_a_place_is_free_again_after_an_error(region, starts, timer):
    lease = region.lease()

    def fail():
        raise OSError

    timer.meanwhile = fail
    for _ in range(2):
        with pytest.raises(OSError):
            starts.for_start(reservation_of(lease))


def test_no_connection_is_held_while_it_waits(region, starts, timer):
    held = []
    timer.meanwhile = lambda: held.append(
        region.database.engine().pool.checkedout()
    )
    starts.for_start(reservation_of(region.lease()))
    assert set(held) == {0}


def test_where_nobody_may_wait_nobody_does(region, timer):
    starts = short_waits.ShortWaits(
        region.database,
        lambda: region.now,
        short_waits.Timer(lambda: timer.seconds, timer.pause),
        places=0,
    )
    assert not starts.for_start(reservation_of(region.lease()))
    assert timer.pauses == []


def test_a_change_waits_until_hosts_are_given_back(region, starts, timer):
    lease = region.active_lease(minimum=2)
    region.change(lease, min=1, max=1)
    timer.meanwhile = region.work
    assert starts.for_update(lease.id)
    assert timer.pauses == [short_waits.FIRST_PAUSE]
    assert len(region.hosts_of(lease)) == 1


def test_a_change_waits_three_seconds_at_most_for_hosts_given_back(
    region, starts, timer
):
    lease = region.active_lease(minimum=2)
    region.change(lease, min=1, max=1)
    assert starts.for_update(lease.id)
    assert timer.seconds == pytest.approx(3)


def test_no_change_waits_where_nothing_is_given_back(region, starts, timer):
    for lease in (region.lease(), region.active_lease()):
        assert starts.for_update(lease.id)
        region.leases.delete(lease.id, region.now)
        assert starts.for_update(lease.id)
    assert timer.pauses == []


def test_no_change_waits_where_nobody_may(region, timer):
    starts = short_waits.ShortWaits(
        region.database,
        lambda: region.now,
        short_waits.Timer(lambda: timer.seconds, timer.pause),
        places=0,
    )
    lease = region.active_lease(minimum=2)
    region.change(lease, min=1, max=1)
    assert not starts.for_update(lease.id)
    assert timer.pauses == []
