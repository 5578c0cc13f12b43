# SPDX-License-Identifier: Apache-2.0
"""A database clock that was set to tomorrow ended the leases of today. Their
servers were deleted within a second, and setting the clock back did not bring
them back. No second clock was compared with the database's. Issue 13, item 12.
"""

from oslo_config import cfg
import pytest

from nova_reservations import bootstrap
from nova_reservations import conf
from nova_reservations import exception
from nova_reservations.cmd import status
from nova_reservations.db.leases import leases
from nova_reservations.db.leases import looks as looks_db
from nova_reservations.engine import claimed_leases
from nova_reservations.engine import clocks
from nova_reservations.engine.worker import worker
from nova_reservations.scheduler import engine_locks
from nova_reservations.scheduler import loop
from nova_reservations.testing.region import minutes
from nova_reservations.testing.region import NOON

Code = status.Code


class Times:
    """:ivar own: returns the time by the clock of the process."""

    def __init__(self, region):
        self.region = region
        self.ahead = minutes(0)
        self.lost = minutes(0)

    def database(self):
        return self.region.now + self.ahead

    def own(self):
        self.region.now += self.lost
        return self.region.now


@pytest.fixture
def times(region):
    return Times(region)


@pytest.fixture
def clock(times):
    return clocks.Clock(times.database, times.own)


@pytest.fixture
def looks(region, times, clock, tmp_path):
    """The loop of a nova-scheduler, which looks only when the test calls
    this."""
    one = region.worker()
    one.runner.clock = clock.now

    def ask():
        with region.database.reader() as session:
            return looks_db.at(session, times.database())

    asked = looks_db.Looks(region.database)
    asked.look = ask
    running = loop.Loop(
        one, clock, asked, engine_locks.EngineLocks(tmp_path, 'host', 1)
    )

    def look():
        running._tick()
        one.drain()

    look()
    return look


def lease_with_server(region, looks):
    lease = region.lease(end=60)
    looks()
    (host,) = region.hosts_of(lease)
    return lease, region.cloud.boot(host, 'lessee')


@pytest.mark.parametrize('ahead', [61, 60 * 24 * 365])
def test_a_clock_that_jumps_ends_no_lease(region, times, looks, ahead):
    lease, server = lease_with_server(region, looks)
    times.ahead = minutes(ahead)
    looks()
    assert region.status(lease) == 'ACTIVE'
    assert server in region.cloud.instances


def test_a_clock_that_jumps_misses_no_lease(region, times, looks):
    lease = region.lease(start=30, end=60)
    times.ahead = minutes(90)
    looks()
    assert region.status(lease) == 'PENDING'


def test_all_goes_on_when_the_clocks_agree_again(region, times, looks):
    running, _ = lease_with_server(region, looks)
    coming = region.lease(start=10, end=60)
    times.ahead = minutes(45)
    looks()
    times.ahead = minutes(0)
    region.now += minutes(10)
    looks()
    assert region.status(coming) == 'ACTIVE'
    region.now += minutes(50)
    for _ in range(3):
        looks()
        region.now += minutes(0.1)
    assert region.status(running) == 'TERMINATED'


def test_a_lease_that_its_user_deleted_meanwhile_is_not_forgotten(
    region, times, looks
):
    lease, server = lease_with_server(region, looks)
    times.ahead = minutes(45)
    looks()
    region.leases.delete(lease.id, times.database())
    times.ahead = minutes(0)
    for _ in range(3):
        looks()
        region.now += minutes(0.1)
    assert server not in region.cloud.instances
    with pytest.raises(exception.NotFound):
        region.see(lease)


def test_work_that_was_begun_stops_where_the_clock_jumps(
    region, times, clock, looks
):
    lease, server = lease_with_server(region, looks)
    one = region.worker('other')
    one.runner.clock = clock.now

    def ask():
        with region.database.reader() as session:
            return looks_db.at(session, times.database())

    attempt = region.see(lease).attempt
    with region.database.writer() as session:
        end = lease.end_date
        leases.claim(session, lease.id, attempt, 'other', end, end)
    times.ahead = minutes(90)
    one.runner.run(claimed_leases.Claim(lease.id, attempt + 1, 'other'))
    assert region.status(lease) == 'ACTIVE'
    assert server in region.cloud.instances


def test_a_jump_of_the_clock_is_told_once_a_minute(
    region, times, looks, caplog, monkeypatch
):
    monotonic = [0.0]
    monkeypatch.setattr(loop.time, 'monotonic', lambda: monotonic[0])
    times.ahead = minutes(-3)
    for second in range(0, 130, 10):
        monotonic[0] = second
        looks()
    told = [
        record.getMessage()
        for record in caplog.records
        if record.levelname == 'ERROR'
    ]
    assert len(told) == 3
    assert all(
        "The database's clock is 180 seconds behind" in it for it in told
    )


@pytest.mark.parametrize('ahead', [-2, 0, 2])
def test_two_minutes_are_nothing(times, clock, ahead):
    times.ahead = minutes(ahead)
    assert clock.now() == times.database()


@pytest.mark.parametrize('ahead', [-2.1, 2.1])
def test_more_minutes_are_not_believed(times, clock, ahead):
    times.ahead = minutes(ahead)
    with pytest.raises(exception.ClocksDisagree):
        clock.now()


def test_a_database_that_is_slow_to_answer_is_believed(region, times):
    asked = region.now

    def answer():
        region.now += minutes(5)
        return asked + minutes(1)

    assert clocks.Clock(answer, times.own).now() == asked + minutes(1)


def test_the_upgrade_check_says_so(database, monkeypatch):
    settings = cfg.ConfigOpts()
    conf.register_opts(settings)
    settings([])
    settings.set_override('connection', database.url, group='reservations')
    services = bootstrap.build(settings)
    assert status.Checks(settings, services).clocks().code == Code.SUCCESS
    monkeypatch.setattr(bootstrap, 'own_time', lambda: NOON)
    services = bootstrap.build(settings)
    result = status.Checks(settings, services).clocks()
    assert result.code == Code.FAILURE
    assert 'behind that of this process' in result.details


def test_a_claim_outlives_no_clock():
    assert clocks.LIMIT < worker.PATIENCE
