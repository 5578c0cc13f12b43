# SPDX-License-Identifier: Apache-2.0
"""Servers with a lease of their own, beside the pool, on hosts that fail."""

import dataclasses

from nova.conf import notifications
import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.db.leases import server_failures
from nova_reservations.testing.region import minutes
from nova_reservations.tests.functional.engine import test_server_leases
from nova_reservations.types.servers import host
from nova_reservations.types.servers import server

HEALED = ['degraded', 'healed']

MANY = ('one', 'two', 'three', 'four')


@pytest.fixture
def make(make_region):
    def make(*ordinary, **options):
        region = make_region(
            'enrolled',
            types={
                objects.HOST: host.PhysicalHost,
                objects.SERVER: server.Server,
            },
            polling_interval=minutes(1),
            **options,
        )
        for name in ordinary:
            region.add_host(name, enrol=False)
        return region

    return make


def lease_of(region, host_name, count=1, **asked):
    """Return an active lease of servers on a host, and the servers."""
    lease, names = test_server_leases.made(region, count=count, **asked)
    for name in names:
        region.cloud.instances[name] = ports.Server(
            name, 'lessee', host_name, 'active'
        )
    region.work()
    assert region.status(lease) == 'ACTIVE'
    return lease, names


def look(region, after=0):
    region.now += minutes(after)
    region.soon(server_failures.TASK)
    region.work()


def flags(region, lease):
    seen = region.see(lease)
    reservation = seen.server_reservation
    return (
        seen.degraded,
        reservation.missing_resources,
        reservation.resources_changed,
    )


WHOLE = (False, False, False)
FAILED = (True, True, False)


def host_of(region, name):
    return region.cloud.instances[name].host


class TestFlags:
    def test_flags_say_that_the_host_is_forced_down(self, make):
        region = make('one')
        lease, _ = lease_of(region, 'one', end=300)
        region.cloud.fail('one', forced_down=True)
        look(region)
        assert flags(region, lease) == FAILED
        look(region, after=1)
        region.cloud.recover('one')
        look(region)
        assert flags(region, lease) == WHOLE
        assert region.told(lease)[-2:] == HEALED

    def test_silence_is_a_failure_when_it_lasts(self, make):
        region = make('one', down_after=minutes(2))
        lease, _ = lease_of(region, 'one', end=300)
        region.cloud.fail('one')
        look(region)
        look(region, after=1.9)
        assert flags(region, lease) == WHOLE
        look(region, after=0.1)
        assert flags(region, lease) == FAILED
        # An administrator who disables the host now does so because it has
        # failed.
        region.cloud.services['one'] = ports.ComputeService(
            up=False, disabled=True, forced_down=False
        )
        look(region, after=1)
        assert flags(region, lease) == FAILED

    def test_a_host_that_is_back_in_time_has_not_failed(self, make):
        region = make('one', down_after=minutes(2))
        lease, _ = lease_of(region, 'one', end=300)
        region.cloud.fail('one')
        look(region)
        region.cloud.recover('one')
        look(region, after=1)
        region.cloud.fail('one')
        look(region, after=1)
        look(region, after=1)
        assert flags(region, lease) == WHOLE

    def test_a_disabled_host_is_expected_to_be_silent(self, make):
        region = make('one')
        lease, _ = lease_of(region, 'one', end=300)
        region.cloud.services['one'] = ports.ComputeService(
            up=False, disabled=True, forced_down=False
        )
        look(region)
        look(region, after=10)
        assert flags(region, lease) == WHOLE

    def test_flags_are_of_leases_with_servers_on_the_host(self, make):
        region = make('one', 'two')
        first, _ = lease_of(region, 'one', end=300)
        second, _ = lease_of(region, 'two', end=300)
        region.cloud.fail('two', forced_down=True)
        look(region)
        assert flags(region, first) == WHOLE
        assert flags(region, second) == FAILED

    def test_flags_are_cleared_when_the_server_was_moved_or_shelved(
        self, make
    ):
        region = make('one', 'two')
        lease, [moved, shelved] = lease_of(region, 'one', count=2, end=300)
        region.cloud.fail('one', forced_down=True)
        look(region)
        region.cloud.instances[moved] = dataclasses.replace(
            region.cloud.instances[moved], host='two'
        )
        look(region, after=1)
        assert flags(region, lease) == FAILED
        region.cloud.at_rest[shelved] = dataclasses.replace(
            region.cloud.instances.pop(shelved), host=''
        )
        look(region, after=1)
        assert flags(region, lease) == WHOLE

    def test_flags_are_cleared_when_the_server_is_deleted(self, make):
        region = make('one', 'two')
        lease, [deleted, kept] = lease_of(region, 'one', count=2, end=300)
        region.cloud.instances[kept] = dataclasses.replace(
            region.cloud.instances[kept], host='two'
        )
        region.cloud.fail('one', forced_down=True)
        look(region)
        assert flags(region, lease) == FAILED
        del region.cloud.instances[deleted]
        region.soon('deleted_servers')
        region.work()
        look(region, after=1)
        assert flags(region, lease) == WHOLE

    def test_a_lease_that_has_ended_is_left_as_it_was(self, make):
        region = make('one')
        lease, _ = lease_of(region, 'one', end=60)
        region.cloud.fail('one', forced_down=True)
        look(region)
        region.cloud.instances.clear()
        region.forward(until=61)
        assert region.status(lease) == 'TERMINATED'
        told = region.told(lease)
        look(region, after=1)
        assert region.told(lease) == told
        with region.database.reader() as session:
            assert server_failures.suspects(session, region.now) == []

    def test_a_cell_that_does_not_answer_changes_nothing(self, make):
        region = make('one')
        lease, _ = lease_of(region, 'one', end=300)
        region.cloud.fail('one', forced_down=True)
        look(region)
        region.cloud.hosts.services_by_cell = lambda now: {}
        look(region, after=1)
        assert flags(region, lease) == FAILED

    def test_a_server_on_a_host_that_is_down_is_not_back(self, make):
        region = make('one', 'two')
        lease, [name] = lease_of(region, 'one', end=300)
        region.cloud.fail('one', forced_down=True)
        look(region)
        # Nova was asked for servers at failing hosts before the server came
        # there.
        at = region.cloud.servers.servers_at
        region.cloud.servers.servers_at = lambda hosts: {}
        look(region, after=1)
        assert flags(region, lease) == FAILED
        region.cloud.servers.servers_at = at
        region.cloud.instances[name] = dataclasses.replace(
            region.cloud.instances[name], host='two'
        )
        look(region, after=1)
        assert flags(region, lease) == WHOLE

    def test_silence_begins_anew_when_nobody_could_tell(self, make):
        region = make('one', down_after=minutes(2))
        lease, _ = lease_of(region, 'one', end=300)
        region.cloud.fail('one')
        look(region)
        region.cloud.silent.add(region.cloud.cell_of('one'))
        look(region, after=2)
        region.cloud.silent.clear()
        look(region, after=1)
        assert flags(region, lease) == WHOLE
        look(region, after=1)
        assert flags(region, lease) == FAILED

    def test_a_silent_cell_does_not_keep_those_of_others(self, make):
        region = make('one', 'two')
        first, _ = lease_of(region, 'one', end=300)
        second, _ = lease_of(region, 'two', end=300)
        for failing in ('one', 'two'):
            region.cloud.fail(failing, forced_down=True)
        look(region)
        region.cloud.cells['two'] = 'far'
        region.cloud.silent.add('far')
        region.cloud.recover('one')
        region.cloud.recover('two')
        look(region, after=1)
        assert flags(region, first) == WHOLE
        assert flags(region, second) == FAILED
        region.cloud.silent.clear()
        look(region, after=1)
        assert flags(region, second) == WHOLE

    @pytest.fixture
    def notified(self, make):
        region = make(
            'one', enable_polling_monitor=False, down_after=minutes(2)
        )
        notifications.register_opts(region.opts)
        return region

    def notify(self, region):
        region.monitoring.on_notification(
            'service.update',
            {'nova_object.data': {'binary': 'nova-compute', 'host': 'one'}},
            region.now,
        )

    def test_a_notification_makes_a_worker_look_at_once(self, notified):
        region = notified
        lease, _ = lease_of(region, 'one', end=300)
        region.cloud.fail('one', forced_down=True)
        region.now += minutes(10)
        region.work()
        assert flags(region, lease) == WHOLE
        self.notify(region)
        region.work()
        assert flags(region, lease) == FAILED

    def test_a_notification_makes_a_worker_look_until_nothing_is_down(
        self, notified
    ):
        region = notified
        lease, _ = lease_of(region, 'one', end=300)
        region.cloud.fail('one')
        self.notify(region)
        region.work()
        region.forward(until=3)
        assert flags(region, lease) == FAILED
        region.cloud.recover('one')
        region.forward(until=5)
        assert flags(region, lease) == WHOLE
        asked = []
        region.cloud.hosts.services_by_cell = asked.append
        region.forward(until=20)
        assert asked == []


class TestEvacuation:
    def test_a_server_leaves_a_host_that_is_forced_down(self, make):
        region = make('one', 'two', heal_evacuate=True)
        lease, [name] = lease_of(region, 'one', end=300)
        region.cloud.fail('one', forced_down=True)
        look(region)
        assert host_of(region, name) == 'two'
        look(region, after=1)
        assert flags(region, lease) == WHOLE
        assert region.told(lease)[-2:] == HEALED

    def test_a_server_that_may_still_run_is_not_evacuated(self, make):
        region = make('one', 'two', heal_evacuate=True, down_after=minutes(0))
        lease, [name] = lease_of(region, 'one', end=300)
        region.cloud.fail('one')
        look(region)
        assert flags(region, lease) == FAILED
        assert host_of(region, name) == 'one'
        region.cloud.fail('one', forced_down=True)
        look(region, after=1)
        assert host_of(region, name) == 'two'

    def test_a_server_stays_where_the_operator_does_not_want_it_moved(
        self, make
    ):
        region = make('one', 'two')
        _, [name] = lease_of(region, 'one', end=300)
        region.cloud.fail('one', forced_down=True)
        look(region)
        assert host_of(region, name) == 'one'

    def test_a_server_whose_lease_ends_meanwhile_is_not_evacuated(self, make):
        region = make('one', 'two', heal_evacuate=True)
        lease, [name] = lease_of(region, 'one', end=300)
        region.cloud.fail('one', forced_down=True)
        evacuate = region.cloud.servers.evacuate

        def just_before(servers, check):
            region.delete(lease)
            return evacuate(servers, check)

        region.cloud.servers.evacuate = just_before
        look(region)
        assert 'evacuate' not in region.cloud.writes
        assert name not in region.cloud.instances

    def test_a_server_that_finds_no_place_is_tried_again(self, make):
        region = make('one', heal_evacuate=True)
        lease, [name] = lease_of(region, 'one', end=300)
        region.cloud.fail('one', forced_down=True)
        look(region)
        assert flags(region, lease) == FAILED
        region.add_host('two', enrol=False)
        look(region, after=1)
        assert host_of(region, name) == 'two'

    def test_when_many_hosts_of_a_cell_fail_nothing_is_moved(self, make):
        region = make(*MANY, heal_evacuate=True, down_after=minutes(2))
        found = [
            lease_of(region, name, end=300) for name in ('one', 'two', 'three')
        ]
        for name in ('one', 'two', 'three'):
            region.cloud.fail(name, forced_down=True)
        look(region)
        assert 'evacuate' not in region.cloud.writes
        assert [flags(region, lease) for lease, _ in found] == [FAILED] * 3
        region.cloud.recover('three')
        look(region, after=1)
        assert 'evacuate' not in region.cloud.writes
        look(region, after=1)
        assert [host_of(region, name) for _, [name] in found] == [
            'four',
            'four',
            'three',
        ]

    def test_hosts_that_come_back_last_have_the_time_to(self, make):
        region = make(*MANY, heal_evacuate=True, down_after=minutes(2))
        _, [name] = lease_of(region, 'one', end=300)
        for failing in ('one', 'two', 'three'):
            region.cloud.fail(failing, forced_down=True)
        look(region)
        for back in ('three', 'two', 'one'):
            region.cloud.recover(back)
            look(region, after=0.5)
        assert 'evacuate' not in region.cloud.writes
        region.cloud.fail('one', forced_down=True)
        look(region, after=2)
        assert host_of(region, name) != 'one'

    def test_hosts_without_such_servers_count(self, make):
        region = make(*MANY, heal_evacuate=True, down_after=minutes(2))
        lease_of(region, 'one', end=300)
        region.cloud.fail('one', forced_down=True)
        region.cloud.fail('two')
        region.cloud.fail('three')
        look(region)
        look(region, after=10)
        assert 'evacuate' not in region.cloud.writes

    def test_hosts_that_an_administrator_has_disabled_do_not(self, make):
        region = make(*MANY, heal_evacuate=True, down_after=minutes(2))
        _, [name] = lease_of(region, 'one', end=300)
        region.cloud.fail('one', forced_down=True)
        for asleep in ('two', 'three'):
            region.cloud.services[asleep] = ports.ComputeService(
                up=False, disabled=True, forced_down=False
            )
        look(region)
        assert host_of(region, name) == 'four'


def test_without_such_servers_nova_is_asked_nothing(make):
    region = make('one')
    region.cloud.hosts.services_by_cell = None
    look(region)


def test_a_cloud_that_does_not_answer_is_asked_again(make):
    region = make('one')
    lease, _ = lease_of(region, 'one', end=300)
    region.cloud.fail('one', forced_down=True)
    services = region.cloud.hosts.services_by_cell

    def silent(now):
        raise exception.CloudUnavailable(service='Nova', reason='silence')

    region.cloud.hosts.services_by_cell = silent
    look(region)
    assert flags(region, lease) == WHOLE
    region.cloud.hosts.services_by_cell = services
    look(region, after=1)
    assert flags(region, lease) == FAILED
