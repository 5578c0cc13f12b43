# SPDX-License-Identifier: Apache-2.0
"""Servers that are made land where they may."""

import datetime

import fixtures

from nova_reservations import exception
from nova_reservations.db import api as db_api
from nova_reservations.objects import states
from nova_reservations.scheduler import request_filter
from nova_reservations.tests.functional.nova import base
from nova_reservations.tests.functional.nova import shared

UNKNOWN = 'f0f0f0f0-0000-4000-8000-0000000000f0'


class BootTest(shared.SharedNova):
    def test_a_lease_shows_its_hosts_and_the_servers_it_has_let_in(self):
        self.enrol('host1', 'host2')
        lease = self.lease(2)
        servers = [self.boot(lease)['id'] for _ in range(2)]
        [reservation] = lease.reservations
        self.assertEqual(
            {'servers': sorted(servers)},
            self.services.lease_lists.usage(lease, reservation),
        )
        hosts = self.services.lease_lists.hosts(reservation)
        self.assertCountEqual(['host1', 'host2'], hosts.values())

    def test_an_enrolled_host_refuses_an_ordinary_server(self):
        self.enrol(*self.hosts)
        self.assertIn('No valid host', self.why_not())

    def test_ordinary_servers_land_beside_the_pool(self):
        self.enrol('host1', 'host2')
        servers = [self.boot() for _ in range(3)]
        self.assertEqual({'host3'}, set(map(self.host_of, servers)))

    def test_without_a_pool_nothing_changes(self):
        self.assertIn(self.host_of(self.boot()), self.hosts)
        self.assertNotIn(
            'CUSTOM_NOVA_RESERVATIONS_POOL', self._get_all_traits()
        )

    def test_servers_of_a_lease_land_on_its_hosts_only(self):
        self.enrol(*self.hosts)
        lease = self.lease(2)
        self.assertEqual(states.Lease.ACTIVE, lease.status)
        servers = [self.boot(lease) for _ in range(3)]
        self.assertLessEqual(
            set(map(self.host_of, servers)), self.hosts_of(lease)
        )

    def test_several_servers_of_one_request_land_on_its_hosts(self):
        self.enrol('host1')
        lease = self.lease()
        self.post(lease, count=3, name='many')
        for server in self.api.get_servers(search_opts={'name': 'many'}):
            self._wait_for_state_change(server, 'ACTIVE')
            self.assertEqual('host1', self.host_of(server))

    def test_another_project_with_the_hint_is_refused(self):
        self.enrol('host1')
        lease = self.lease(project_id=base.OTHERS)
        self.assertEqual(404, self.status_of_refusal(self.post, lease))
        server = self.boot(lease, api=self.others_api)
        self.assertEqual('host1', self.host_of(server))

    def test_an_administrator_is_refused_by_az_and_host(self):
        self.enrol('host1', 'host2')
        self.why_not(az='nova:host1')
        lease = self.lease()
        [leased] = self.hosts_of(lease)
        [other] = {'host1', 'host2'} - {leased}
        self.why_not(lease, az=f'nova:{other}')
        self.why_not(lease, az='nova:host3')
        self.assertEqual(
            leased, self.host_of(self.boot(lease, az=f'nova:{leased}'))
        )

    def test_a_flavor_of_numbered_groups_only_is_refused_clearly(self):
        flavor = self._create_flavor(
            extra_spec={
                'resources:VCPU': '0',
                'resources:MEMORY_MB': '0',
                'resources:DISK_GB': '0',
                'resources1:VCPU': '1',
                'resources1:MEMORY_MB': '512',
            }
        )
        self.enrol('host1', 'host2')
        lease = self.lease()
        self.assertIn('numbered groups', self.why_not(lease, flavor_id=flavor))
        self.assertEqual('host3', self.host_of(self.boot(flavor_id=flavor)))

    def test_a_numbered_group_beside_the_rest_is_fine(self):
        flavor = self._create_flavor(
            extra_spec={
                'resources:DISK_GB': '0',
                'resources1:DISK_GB': '1',
            }
        )
        self.enrol(*self.hosts)
        lease = self.lease()
        server = self.boot(lease, flavor_id=flavor)
        self.assertIn(self.host_of(server), self.hosts_of(lease))


class SchedulerAloneTest(shared.SharedNova):
    """Requests that nova-api would have refused reach the scheduler."""

    api_is_ours = False

    def test_the_scheduler_refuses_hints_that_can_not_be_used(self):
        self.enrol('host1')
        mine = self.lease(starts_in=datetime.timedelta(days=1))
        theirs = self.lease(project_id=base.OTHERS)
        for hint, why in (
            (UNKNOWN, 'could not be found'),
            (theirs.reservations[0].id, 'could not be found'),
            (mine.reservations[0].id, 'is PENDING'),
            (mine.reservations[0].id.upper(), 'is not the id'),
            ('', 'is not the id'),
            ([UNKNOWN, UNKNOWN], 'is not the id'),
        ):
            self.assertIn(why, self.why_not(hint=hint))

    def test_the_scheduler_says_so_where_all_hosts_have_failed(self):
        self.enrol('host1')
        lease = self.lease()
        self.stop_host('host1')
        self.services.monitoring.poll(self.now)
        why = self.why_not(lease)
        self.assertIn('Not enough hosts available', why)
        self.assertIn('have failed', why)

    def test_a_scheduler_without_its_database_refuses_everybody(self):
        self.enrol('host1')
        lease = self.lease()
        down = fixtures.MockPatchObject(
            db_api.Database, 'reader', side_effect=self._unreachable
        )
        with down:
            for asked in (None, lease):
                self.assertIn('can not be reached', self.why_not(asked))
        self.assertEqual('host1', self.host_of(self.boot(lease)))

    def test_a_database_that_is_lost_after_a_claim_leaves_no_claim(self):
        """Nova gives back what the request has claimed before."""
        self.enrol(*self.hosts)
        lease = self.lease(3)
        seen = []
        judge = request_filter.ReservedHosts.confirm

        def confirm(hosts, request_spec, server):
            seen.append(server)
            if len(seen) == 2:
                self._unreachable()
            return judge(hosts, request_spec, server)

        with fixtures.MockPatchObject(
            request_filter.ReservedHosts, 'confirm', confirm
        ):
            self.assertIn('No valid host', self.why_not(lease, count=2))
        # No other host is tried.
        self.assertEqual(2, len(seen))
        for server in self.api.get_servers():
            self._wait_for_state_change(server, 'ERROR')
        for host in self.hosts:
            uuid = self._get_provider_uuid_by_host(host)
            self.assertEqual({}, self._get_allocations_by_provider_uuid(uuid))
        self.boot(lease)
        self.end_completely(lease)

    @staticmethod
    def _unreachable():
        raise exception.DatabaseUnavailable(reason='it is down')
