# SPDX-License-Identifier: Apache-2.0
"""Servers on hosts that have failed stay there, or are evacuated."""

import dataclasses

import pytest

from nova_reservations import exception
from nova_reservations.testing.region import minutes
from nova_reservations.tests.functional.engine.failures import check
from nova_reservations.tests.functional.engine.failures import fail
from nova_reservations.tests.functional.engine.failures import flags
from nova_reservations.tests.functional.engine.failures import HOUR
from nova_reservations.tests.functional.engine.failures import MISSING
from nova_reservations.tests.functional.engine.failures import on
from nova_reservations.tests.functional.engine.failures import recover
from nova_reservations.tests.functional.engine.failures import used
from nova_reservations.tests.functional.engine.failures import WHOLE


@pytest.fixture
def region(make_region):
    """Two hosts; leases are checked every hour."""
    return make_region('one', 'two', healing_interval=HOUR)


class TestServersThatStay:
    """Servers on a host that has failed, and that the lease has replaced."""

    @pytest.fixture
    def lease(self, region):
        lease = region.active_lease(end=300, **on('one'))
        with region.database.writer() as session:
            session.connection().exec_driver_sql(
                'UPDATE nr_reservations SET params = replace(params, '
                "'$service_name', '$hypervisor_type') "
            )
            session.connection().exec_driver_sql(
                "UPDATE nr_hosts SET hypervisor_type = 'one'"
            )
        # The cloud tells the same whenever the hosts are looked at again.
        for name, facts in region.cloud.known.items():
            region.cloud.known[name] = dataclasses.replace(
                facts, hypervisor_type='one'
            )
        region.cloud.boot('one', 'lessee', 'stays')
        fail(region, 'one')
        assert region.aggregate_of(lease) == {'two'}
        # The replacement is used, and so stays when the old host is back.
        region.cloud.boot('two', 'lessee', 'new')
        return lease

    def test_other_leases_get_the_host_when_it_is_empty(self, region, lease):
        region.now += minutes(1)
        recover(region, 'one')
        with pytest.raises(exception.NotEnoughResources):
            region.lease()
        later = region.lease(start=5, end=30)
        region.now += minutes(5)
        region.work()
        # The lease is active, and can not use its host yet.
        assert region.status(later) == 'ACTIVE'
        assert used(region, later) == region.aggregate_of(later) == set()
        check(region)
        assert flags(region, later) == MISSING
        del region.cloud.instances['stays']
        region.look()
        assert used(region, later) == region.aggregate_of(later) == {'one'}
        assert flags(region, later) == WHOLE

    def test_other_leases_wait_for_a_server_that_may_still_come(
        self, region, lease
    ):
        region.cloud.build('coming', 'lessee', 'building')
        region.cloud.hints['coming'] = lease.reservations[0].id
        del region.cloud.instances['stays']
        recover(region, 'one')
        region.look()
        with pytest.raises(exception.NotEnoughResources):
            region.lease()
        region.cloud.unbuilt.clear()
        region.look()
        assert region.hosts_of(region.active_lease()) == {'one'}

    def test_servers_that_stay_go_with_the_lease(self, region, lease):
        recover(region, 'one')
        later = region.lease(start=300, end=400)
        region.forward(until=301)
        assert region.status(lease) == 'TERMINATED'
        assert region.cloud.instances == {}
        assert region.status(later) == 'ACTIVE'

    def test_servers_that_stay_do_not_go_with_another_lease_of_the_project(
        self, region, lease
    ):
        recover(region, 'one')
        later = region.lease(start=5, end=30)
        assert region.hosts_of(later) == {'one'}
        region.forward(until=40)
        assert region.status(later) == 'TERMINATED'
        assert 'stays' in region.cloud.instances

    def test_the_host_is_given_back_if_the_other_fails_too(
        self, region, lease
    ):
        recover(region, 'one')
        fail(region, 'two')
        assert used(region, lease) == region.aggregate_of(lease) == {'one'}
        assert flags(region, lease) == WHOLE
        assert region.told(lease)[-2:] == ['degraded', 'healed']


class TestEvacuation:
    @pytest.fixture
    def region(self, region):
        region.opts.set_override('heal_evacuate', True, group='reservations')
        return region

    @pytest.fixture
    def lease(self, region):
        lease = region.active_lease(end=300)
        [host] = region.hosts_of(lease)
        region.cloud.boot(host, 'lessee', 'moved')
        return lease

    def test_servers_leave_a_host_that_is_forced_down(self, region, lease):
        [host] = region.hosts_of(lease)
        fail(region, host, forced_down=True)
        [other] = region.aggregate_of(lease)
        assert other != host
        assert region.cloud.instances['moved'].host == other

    def test_a_server_that_may_still_run_is_not_evacuated(self, region, lease):
        [host] = region.hosts_of(lease)
        fail(region, host)
        assert region.cloud.instances['moved'].host == host
        # The server is evacuated when an administrator forces the host down.
        region.now += minutes(1)
        region.cloud.fail(host, forced_down=True)
        region.look()
        assert region.cloud.instances['moved'].host != host

    def test_servers_are_not_evacuated_where_there_is_no_other_host(
        self, region, lease
    ):
        for host in ('one', 'two'):
            region.cloud.fail(host, forced_down=True)
        region.look()
        assert 'evacuate' not in region.cloud.writes
