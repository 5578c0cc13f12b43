# SPDX-License-Identifier: Apache-2.0
"""Whole hosts that are open, on a whole Nova. Servers of the project use these
hosts without a hint. Decision 0048: doc/source/decisions/0048-open-hosts
"""

import datetime

from nova.scheduler import host_manager
from nova.virt import fake

from nova_reservations.db.record import server_usage
from nova_reservations.engine.booking import lease_requests
from nova_reservations.engine.worker import deleted_servers
from nova_reservations.tests.functional.nova import conductor
from nova_reservations.tests.functional.nova import test_open_reservations

OUTSIDE = test_open_reservations.OUTSIDE


class OpenHostsTestCase(test_open_reservations.OpenTestCase):
    def open_hosts(self, hosts=1, lasts=None, **asked):
        lease = self.lease(hosts, consume='open', **asked)
        if lasts is None:
            return lease
        return self.services.leases.update(
            lease.id,
            lease_requests.LeaseChanges(end=self.now + lasts),
            self.now,
        )

    def big(self) -> str:
        """Create a flavor of which a host has room for one server; return its
        id."""
        self._create_flavor(
            id='big', vcpu=1, memory_mb=5000, disk=1, ephemeral=0, swap=0
        )
        return 'big'

    def before_the_claim(self, act):
        """Call act once, when a request that is sent to a reservation has
        passed all filters."""
        passed = host_manager.HostManager.get_filtered_hosts
        done = []

        def get_filtered_hosts(this, hosts, spec_obj, index=0):
            found = list(passed(this, hosts, spec_obj, index))
            if not done and spec_obj.get_scheduler_hint('reservation'):
                done.append(None)
                done[0] = act()
            return found

        self.stub_out(
            'nova.scheduler.host_manager.HostManager.get_filtered_hosts',
            get_filtered_hosts,
        )
        return done


class TestHosts(OpenHostsTestCase):
    def test_servers_of_the_project_land_there_with_and_without_a_hint(self):
        self.enrol('host1')
        lease = self.open_hosts()
        came, asked = self.boot(), self.boot(lease)
        self.assertEqual('host1', self.host_of(came))
        self.assertEqual('host1', self.host_of(asked))
        self.assertEqual(sorted([came['id'], asked['id']]), self.used(lease))
        self.assertEqual({came['id']}, self.recorded(lease))
        self.assertEqual(set(), self.stored(came))
        others = self.boot(api=self.others_api)
        self.assertIn(self.host_of(others), OUTSIDE)
        elsewhere = self.boot(api=self.admin_api, az='nova:host3')
        self.assertEqual('host3', self.host_of(elsewhere))
        there = self.boot(api=self.admin_api, az='nova:host1')
        self.assertIn(there['id'], self.recorded(lease))
        self.end_completely(lease)
        for server in (came, asked, there):
            self._wait_until_deleted(server)
        for server in (others, elsewhere):
            self.assertEqual(
                'ACTIVE', self.admin_api.get_server(server['id'])['status']
            )

    def test_the_one_that_ends_first_is_filled_first(self):
        self.enrol('host1', 'host2')
        late = self.open_hosts(lasts=datetime.timedelta(hours=3))
        soon = self.open_hosts()
        big = self.big()
        servers = [self.boot(flavor_id=big) for _ in range(3)]
        self.assertEqual([servers[0]['id']], self.used(soon))
        self.assertEqual([servers[1]['id']], self.used(late))
        self.assertEqual('host3', self.host_of(servers[2]))
        self.end_completely(soon)
        self._wait_until_deleted(servers[0])
        self.assertEqual([servers[1]['id']], self.used(late))

    def test_all_servers_of_a_request_find_room_or_none_does(self):
        self.enrol('host1')
        lease = self.open_hosts()
        self.post(count=2, flavor_id=self.big())
        self._wait_for_assert(
            lambda: self.assertEqual(
                set(OUTSIDE),
                {
                    server['OS-EXT-SRV-ATTR:host']
                    for server in self.admin_api.get_servers()
                },
            )
        )
        self.assertEqual(set(), self.recorded(lease))

    def test_a_server_too_late_for_the_last_room_is_an_ordinary_one(self):
        self.enrol('host1')
        lease = self.open_hosts()
        big = self.big()
        done = self.before_the_claim(lambda: self.boot(flavor_id=big))
        slow = self.boot(flavor_id=big)
        self.assertIn(self.host_of(slow), OUTSIDE)
        self.assertEqual({done[0]['id']}, self.recorded(lease))
        self.assertEqual([done[0]['id']], self.used(lease))

    def test_a_server_that_claims_when_the_lease_is_over_is_an_ordinary_one(
        self,
    ):
        self.enrol('host1')
        lease = self.open_hosts()
        self.before_the_claim(lambda: self.end(lease))
        server = self.boot()
        self.assertIn(self.host_of(server), OUTSIDE)
        self.end_completely(lease)
        self.assertEqual('ACTIVE', self.api.get_server(server['id'])['status'])

    def test_where_the_hosts_have_failed_the_next_lease_is_tried(self):
        self.enrol('host1', 'host2')
        late = self.open_hosts(lasts=datetime.timedelta(hours=3))
        soon = self.open_hosts()
        [host] = self.hosts_of(soon)
        self.stop_host(host)
        self.look()
        self.assertEqual(set(), self.hosts_of(soon))
        server = self.boot()
        self.assertEqual([server['id']], self.used(late))

    def test_a_server_that_is_built_again_stays_in_its_lease(self):
        self.useFixture(conductor.Conductor(guarded=True))
        self.enrol('host1', 'host2')
        lease = self.open_hosts(2)
        failed = []
        spawn = fake.FakeDriver.spawn

        def failing(this, *args, **kwargs):
            if not failed:
                failed.append(this._host)
                raise ValueError('it fails')
            return spawn(this, *args, **kwargs)

        self.stub_out('nova.virt.fake.FakeDriver.spawn', failing)
        server = self._wait_for_server_parameter(
            self.post(), {'status': 'ACTIVE'}, max_retries=200
        )
        self.assertEqual(
            {'host1', 'host2'} - set(failed), {self.host_of(server)}
        )
        self.assertEqual([server['id']], self.used(lease))
        self.end_completely(lease)
        self._wait_until_deleted(server)


class TestMoves(OpenHostsTestCase):
    def test_a_server_stays_in_its_lease_wherever_it_is_moved(self):
        self.enrol('host1', 'host2')
        lease = self.open_hosts(2)
        server = self.boot()

        def is_there(moved=None):
            self.assertIn(self.host_of(server), {'host1', 'host2'})
            self.assertNotEqual(moved, self.host_of(server))
            self.assertEqual([server['id']], self.used(lease))
            return self.host_of(server)

        source = is_there()
        self._migrate_server(server)
        self._confirm_resize(server)
        source = is_there(moved=source)
        self._live_migrate(server)
        source = is_there(moved=source)
        self._rebuild_server(server, '155d900f-4e14-4e4c-a73d-069cbf4541e6')
        self.assertEqual(source, is_there())
        self._resize_server(server, self.big())
        self._confirm_resize(server)
        is_there()
        self._shelve_server(server)
        self._unshelve_server(server)
        source = is_there()
        self.stop_host(source)
        self._evacuate_server(server)
        is_there(moved=source)

    def test_a_server_without_room_comes_back_elsewhere_and_is_left_there(
        self,
    ):
        self.enrol('host1')
        lease = self.open_hosts()
        big = self.big()
        server = self.boot(flavor_id=big)
        self._shelve_server(server)
        other = self.boot(flavor_id=big)
        self._unshelve_server(server)
        self.assertIn(self.host_of(server), OUTSIDE)
        self.assertEqual([other['id']], self.used(lease))
        self.end_completely(lease)
        self._wait_until_deleted(other)
        self.assertEqual('ACTIVE', self.api.get_server(server['id'])['status'])

    def test_a_server_uses_the_lease_while_it_is_there(self):
        self.enrol('host1')
        lease = self.open_hosts()
        big = self.big()
        server = self.boot(flavor_id=big)
        self.assertEqual({server['id']}, self.using(lease))
        self._shelve_server(server)
        self.assertEqual(set(), self.using(lease))
        self._unshelve_server(server)
        self.assertEqual('host1', self.host_of(server))
        self.assertEqual({server['id']}, self.using(lease))
        self._shelve_server(server)
        other = self.boot(flavor_id=big)
        self._unshelve_server(server)
        self.assertIn(self.host_of(server), OUTSIDE)
        self.assertEqual({other['id']}, self.using(lease))

    def using(self, lease):
        """Look where servers are, and return those that use the lease by the
        record."""
        deleted_servers.DeletedServers(
            self.services.database, self.services.hosts.cloud
        ).look(self.services.database.now())
        with self.services.database.reader() as session:
            return {
                stay.server_uuid
                for stay in server_usage.watched(session, '', 9)
                if stay.reservation_id == self.id_of(lease)
            }

    def test_an_ordinary_server_stays_ordinary(self):
        self.enrol('host1')
        server = self.boot()
        lease = self.open_hosts()
        self._migrate_server(server)
        self._confirm_resize(server)
        self.assertIn(self.host_of(server), OUTSIDE)
        self.assertEqual(set(), self.recorded(lease))
