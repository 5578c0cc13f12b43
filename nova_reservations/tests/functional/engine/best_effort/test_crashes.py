# SPDX-License-Identifier: Apache-2.0
"""A worker is killed, or wakes late, while hosts are emptied for a lease."""

import contextlib
import datetime
import itertools

import pytest

from nova_reservations.testing.region import minutes
from nova_reservations.testing.region import NOON
from nova_reservations.testing.steps import Killed
from nova_reservations.testing.steps import Steps
from nova_reservations.tests import profile
from nova_reservations.tests.functional.engine.best_effort import draining


def killed(region, number):
    """Kill a worker before its step of this number; return whether it came so
    far."""

    def kill(step):
        raise Killed(step)

    with Steps(region, number, kill) as steps:
        victim = region.worker('victim')
        for _ in range(4):
            with contextlib.suppress(Killed):
                victim.tick(region.now)
            victim.drain()
            region.now += datetime.timedelta(seconds=1)
    return steps.reached


PARTS = 8
"""Each part takes every PARTS-th step, so that no test takes long on a busy
machine.
"""

in_parts = pytest.mark.parametrize('part', range(1, PARTS + 1))


def in_all_places(make_clouds, part, act, check):
    """Kill the worker of a best effort lease before each step, act, and let
    another worker go on."""
    for number in itertools.count(part, PARTS):
        region = make_clouds(
            'green', 'red', 'blue', best_effort_timeout=minutes(5)
        )
        region.cloud.broken.add('0 of blue')
        lease = region.best_effort(minimum=3)
        if not killed(region, number):
            break
        act(region, lease)
        region.forward(until=5, by=region.worker('other'))
        check(region, lease)
    assert number > 2 * PARTS


@pytest.mark.fuzz
@in_parts
def test_another_worker_goes_on_to_empty_hosts(make_clouds, part):
    def check(region, lease):
        assert region.status(lease) == 'ACTIVE'
        assert region.hosts_of(lease) == {'one', 'green', 'red'}
        assert region.fenced() == {'green', 'red'}
        assert len(region.cloud.instances) == 3
        assert region.cloud.instances['0 of blue'].host == 'blue'
        assert draining.findings(region) == []
        assert region.told(lease).count('event.start_lease') == 1
        region.forward(until=62)
        draining.assert_given_back(region, 'green', 'red', 'blue')

    in_all_places(make_clouds, part, lambda region, lease: None, check)


@pytest.mark.fuzz
@in_parts
def test_another_worker_gives_back_what_a_deleted_hunt_took(make_clouds, part):
    def check(region, lease):
        draining.assert_given_back(region, 'green', 'red', 'blue')
        assert len(region.cloud.instances) == 3
        assert region.cloud.pool == {'one'}

    in_all_places(
        make_clouds, part, lambda region, lease: region.delete(lease), check
    )


@pytest.mark.fuzz
def test_another_worker_undoes_a_hunt_that_is_timed_out(make_clouds):
    for number in profile.steps():
        region = make_clouds('green', 'red')
        lease = draining.begun(region)
        region.now = NOON + minutes(0.5)
        if not killed(region, number):
            break
        region.cloud.finish_moves()
        region.forward(until=1.5, by=region.worker('other'))
        assert region.status(lease) == 'TIMEDOUT'
        draining.assert_given_back(region, 'green', 'red')
        assert set(region.cloud.instances) == {'0 of green', '0 of red'}
    assert number > 2


def test_a_worker_that_wakes_late_takes_nothing(region):
    """The worker was about to take a host when the lease was deleted."""
    lease = region.best_effort(minimum=2)
    taking = region.database.writer

    @contextlib.contextmanager
    def writer():
        region.database.writer = taking
        region.delete(lease)
        with taking() as session:
            yield session

    servers_on = region.cloud.servers.servers_on

    def look(hosts):
        found = servers_on(hosts)
        region.database.writer = writer
        return found

    region.cloud.servers.servers_on = look
    region.forward(until=1)
    draining.assert_given_back(region, 'green', 'red')
    assert region.cloud.moved == []
