# SPDX-License-Identifier: Apache-2.0
"""Servers of a lease at its end: they are deleted, shelved or migrated."""

import pytest

from nova_reservations import exception
from nova_reservations.testing.region import minutes
from nova_reservations.testing.region import NOON

pytestmark = pytest.mark.usefixtures('long_waits')


def with_servers(region, count=1, **asked):
    """Return an active lease, and the servers on its host."""
    lease = region.active_lease(**asked)
    (host,) = region.hosts_of(lease)
    return lease, [region.cloud.boot(host, 'lessee') for _ in range(count)]


def state_of(region, server):
    return region.cloud.instances[server].condition


class TestShelve:
    def test_servers_are_shelved_and_the_host_is_free(self, region):
        lease, servers = with_servers(region, 2, end_action='shelve')
        region.forward(until=60.1)
        assert region.status(lease) == 'TERMINATED'
        assert region.cloud.shelved == set(servers)
        assert region.cloud.instances == {}

    def test_a_server_that_can_not_be_shelved_does_not_hold_up_the_others(
        self, region
    ):
        lease, (failed, sound) = with_servers(region, 2, end_action='shelve')
        region.cloud.refusals[failed] = 'it is in state error'
        region.forward(until=61)
        assert region.cloud.shelved == {sound}
        assert failed in region.cloud.instances
        (host,) = region.hosts_of(lease)
        lease = region.see(lease)
        assert lease.status == 'TERMINATING'
        assert lease.status_reason == (
            f'server {failed} (active) on host {host} can not be shelved: '
            'it is in state error'
        )
        del region.cloud.refusals[failed]
        region.forward(until=62)
        assert region.status(lease) == 'TERMINATED'
        assert region.cloud.shelved == {failed, sound}

    def test_shelving_that_nova_fails_at_is_tried_again_after_a_minute(
        self, region
    ):
        lease, (server,) = with_servers(region, end_action='shelve')
        region.cloud.broken.add(server)
        region.forward(until=60.5)
        assert region.cloud.writes.count('shelve server') == 1
        assert 'Nova has failed at it' in region.see(lease).status_reason
        region.cloud.broken.clear()
        region.forward(until=60.9)
        assert server in region.cloud.instances
        region.forward(until=61.2)
        assert region.cloud.shelved == {server}
        assert region.status(lease) == 'TERMINATED'

    def test_a_deleted_lease_shelves_too(self, region):
        lease, servers = with_servers(region, end_action='shelve')
        region.delete(lease)
        region.forward(until=1)
        assert region.cloud.shelved == set(servers)
        assert list(region.picture()['leases']) == []

    def test_shelving_can_be_chosen_while_the_lease_is_active(self, region):
        lease, servers = with_servers(region)
        region.change(lease, end_action='shelve')
        region.forward(until=60.1)
        assert region.cloud.shelved == set(servers)

    def test_shelving_is_refused_where_images_can_not_be_made(self, region):
        region.cloud.trusted = False
        with pytest.raises(exception.InvalidInput, match='service_user'):
            region.lease(end_action='shelve')
        region.lease(end_action='delete')


class TestWhatIsOffered:
    @pytest.fixture
    def only_shelving(self, region):
        region.opts.set_override(
            'allowed_end_actions', ['shelve'], 'reservations'
        )

    def test_another_action_is_refused_with_those_there_are(self, region):
        with pytest.raises(exception.InvalidInput, match='delete, shelve'):
            region.lease(end_action='compress')

    @pytest.mark.usefixtures('only_shelving')
    def test_the_operator_decides(self, region):
        with pytest.raises(exception.InvalidInput, match='one of: shelve'):
            region.lease(end_action='delete')
        (reservation,) = region.lease().reservations
        assert reservation.params['end_action'] == 'shelve'

    def test_a_longer_grace_than_the_operator_gives_is_refused(self, region):
        with pytest.raises(exception.InvalidInput, match='60 minutes'):
            region.lease(end_grace=61)


class TestGrace:
    @pytest.mark.parametrize('action', ['delete', 'shelve'])
    def test_servers_are_asked_to_stop_and_then_are_acted_on(
        self, region, action
    ):
        lease, (server,) = with_servers(region, end_action=action, end_grace=2)
        region.cloud.slow_servers.add(server)
        region.forward(until=61)
        (host,) = region.hosts_of(lease)
        assert state_of(region, server) == 'active, powering-off'
        assert region.see(lease).status_reason == (
            f'server {server} (active, powering-off) on host {host} is to stop'
        )
        region.forward(until=61.9)
        assert state_of(region, server) == 'active, powering-off'
        # The server does not stop within its grace time. Nova can then delete
        # it, but shelves it only after Nova's own timeout for the guest.
        region.forward(until=62)
        if action == 'shelve':
            assert 'it is still powering-off' in (
                region.see(lease).status_reason
            )
        region.cloud.finish_tasks()
        region.forward(until=62.2)
        assert server not in region.cloud.instances

    def test_no_more_time_passes_than_it_takes_to_stop(self, region):
        lease, (server,) = with_servers(region, end_grace=30)
        region.cloud.slow_servers.add(server)
        region.forward(until=61)
        region.cloud.finish_tasks()
        assert state_of(region, server) == 'stopped'
        region.forward(until=61.1)
        assert region.status(lease) == 'TERMINATED'

    def test_a_server_that_is_started_again_is_not_asked_to_stop_twice(
        self, region
    ):
        lease, (server,) = with_servers(region, end_grace=1)
        region.cloud.slow_servers.add(server)
        region.forward(until=60.1)
        region.cloud.slow_servers.clear()
        stopped = region.cloud.instances[server]
        region.cloud.instances[server] = type(stopped)(
            server, 'lessee', stopped.host, 'active'
        )
        region.forward(until=60.9)
        assert state_of(region, server) == 'active'
        assert 'does not stop' in region.see(lease).status_reason
        region.forward(until=61.1)
        assert region.status(lease) == 'TERMINATED'

    def test_grace_is_the_lessees_time_and_no_one_elses(self, make_region):
        """The host is promised to the next lease only after the grace time."""
        region = make_region('one')
        lease, (server,) = with_servers(region, end=60, end_grace=2)
        with pytest.raises(exception.NotEnoughResources):
            region.lease(start=60, end=90, project='next')
        following = region.lease(start=62, end=90, project='next')
        region.cloud.slow_servers.add(server)
        region.forward(until=61.9)
        assert region.status(lease) == 'TERMINATING'
        region.cloud.slow_servers.clear()
        region.cloud.instances.clear()
        region.forward(until=62)
        assert region.status(following) == 'ACTIVE'

    def test_the_grace_time_has_to_be_free_after_the_lease(self, make_region):
        region = make_region('one')
        region.lease(start=60, end=90, project='next')
        with pytest.raises(exception.NotEnoughResources):
            region.lease(end=60, end_grace=10)
        lease = region.lease(end=50, end_grace=10)
        with pytest.raises(exception.NotEnoughResources):
            region.change(lease, end_grace=11)
        with pytest.raises(exception.NotEnoughResources):
            region.change(lease, end=51)

    def test_an_end_is_late_only_when_it_is_over(self, make_region):
        region = make_region('one', end_timeout=minutes(1))
        lease, (server,) = with_servers(region, end_grace=2)
        region.cloud.slow_servers.add(server)
        region.forward(until=61.9)
        assert region.status(lease) == 'TERMINATING'
        region.now = NOON + minutes(64)
        region.work()
        assert region.status(lease) == 'ERROR'


class TestMigrate:
    def test_servers_are_elsewhere_and_the_host_is_free(self, region):
        lease, servers = with_servers(region, 2, end_action='migrate')
        region.forward(until=60.1)
        assert region.status(lease) == 'TERMINATED'
        assert region.cloud.migrated == set(servers)

    def test_a_server_that_finds_no_place_is_shelved(self, region):
        lease, (lucky, homeless) = with_servers(
            region, 2, end_action='migrate'
        )
        region.cloud.homeless.add(homeless)
        region.forward(until=60.1)
        assert region.status(lease) == 'TERMINATED'
        assert region.cloud.migrated == {lucky}
        assert region.cloud.shelved == {homeless}
