# SPDX-License-Identifier: Apache-2.0
"""Hosts of a real Nova are emptied for leases, and given back."""

import datetime
import threading

import fixtures
from nova.virt import fake

from nova_reservations import objects
from nova_reservations.cloud.placement import placement
from nova_reservations.cloud.servers import instance_actions
from nova_reservations.db.resources import drainable_hosts
from nova_reservations.engine.booking import lease_requests
from nova_reservations.objects import states
from nova_reservations.tests.functional.nova import base
from nova_reservations.tests.functional.nova import shared


class BestEffortTest(shared.SharedNova):
    """host1 is in the pool, host2 is drainable, host3 is an ordinary host."""

    def _install(self, directory):
        super()._install(directory)
        self.flags(
            best_effort_aggregate='drainable',
            best_effort_timeout=1200,
            group='reservations',
        )

    def setUp(self):
        super().setUp()
        self.trust()
        self.enrol('host1')
        aggregate = self.admin_api.post_aggregate(
            {'aggregate': {'name': 'drainable'}}
        )
        self.admin_api.add_host_to_aggregate(aggregate['id'], 'host2')

    def boot_on_drainable(self, **asked):
        return self.boot_beside('host3', 'host2', **asked)

    def boot_beside(self, other, host, **asked):
        """Boot somebody's server on a host, while the other host is
        disabled."""
        self.set_service(other, 'disabled')
        server = self.boot(api=self.others_api, **asked)
        self.set_service(other, 'enabled')
        self.assertEqual(host, self.host_of(server))
        return server

    def set_service(self, host, status):
        self.admin_api.put_service(
            self.computes[host].service_ref.uuid, {'status': status}
        )

    def best_effort(self, hosts=2):
        return self.services.leases.create(
            lease_requests.NewLease(
                name='lease',
                project_id=base.MINE,
                user_id='user',
                start=self.now,
                end=self.now + datetime.timedelta(hours=2),
                before_end=None,
                reservations=(
                    lease_requests.NewReservation(
                        objects.HOST, {'min': hosts, 'max': hosts}
                    ),
                ),
                lease_type=states.LeaseType.BEST_EFFORT,
            ),
            self.now,
        )

    def see(self, lease):
        return self.services.leases.get(lease.id)

    def wait_for(self, check):
        """Let time pass until the check holds."""

        def passing():
            self.pass_time(seconds=3)
            self.work()
            check()

        self._wait_for_assert(passing, max_retries=40)

    def wait_for_status(self, lease, status):
        def has_it():
            seen = self.see(lease)
            self.assertEqual(status, seen.status, seen.status_reason)

        self.wait_for(has_it)
        return self.see(lease)

    def fenced(self):
        with self.services.database.reader() as session:
            return [
                one.resource.name
                for one in drainable_hosts.find(session)
                if one.fenced_for
            ]

    def has_trait(self, host):
        traits = self._get_provider_traits(
            self._get_provider_uuid_by_host(host)
        )
        return placement.POOL_TRAIT in traits

    def wait_until_given_back(self):
        self.wait_for(lambda: self.assertEqual([], self.fenced()))
        self.assertFalse(self.has_trait('host2'))
        findings = self.services.audit.findings(self.now)
        self.assertEqual([], [each.problem for each in findings])

    def test_a_host_is_emptied_leased_and_given_back(self):
        running, stopped = self.boot_on_drainable(), self.boot_on_drainable()
        self._stop_server(stopped)
        self.admin_api.post_server_action(running['id'], {'lock': {}})
        lease = self.best_effort()
        self.assertEqual(states.Lease.IN_PROGRESS, lease.status)
        self.wait_for_status(lease, states.Lease.ACTIVE)
        self.assertEqual({'host1', 'host2'}, self.hosts_of(lease))
        for server, status in ((running, 'ACTIVE'), (stopped, 'SHUTOFF')):
            shown = self.admin_api.get_server(server['id'])
            self.assertEqual(status, shown['status'])
            self.assertEqual('host3', shown['OS-EXT-SRV-ATTR:host'])
        self.assertTrue(self.has_trait('host2'))
        mine = {self.host_of(self.boot(lease)) for _ in range(2)}
        self.assertLessEqual(mine, {'host1', 'host2'})
        self.assertEqual('host3', self.host_of(self.boot(api=self.others_api)))
        self.end_completely(lease)
        self.wait_until_given_back()
        self.boot_on_drainable()

    def test_nothing_that_its_owner_has_begun_is_ended_by_us(self):
        """A resize stays unconfirmed, and a soft-deleted server stays."""
        self.flags(reclaim_instance_interval=3600)
        resized, deleted = self.boot_on_drainable(), self.boot_on_drainable()
        self.others_api.post_server_action(
            resized['id'],
            {'resize': {'flavorRef': self.api.get_flavors()[1]['id']}},
        )
        self._wait_for_state_change(resized, 'VERIFY_RESIZE')
        self.others_api.delete_server(deleted['id'])
        self._wait_for_server_parameter(
            self.admin_api.get_server(deleted['id']),
            {'status': 'SOFT_DELETED'},
        )
        lease = self.best_effort()
        self.work()
        self.assertIn('can not be moved', self.see(lease).status_reason)
        self.pass_time(seconds=1200)
        self.wait_for_status(lease, states.Lease.TIMEDOUT)
        self.wait_until_given_back()
        for server, status in (
            (resized, 'VERIFY_RESIZE'),
            (deleted, 'SOFT_DELETED'),
        ):
            self.assertEqual(
                status, self.admin_api.get_server(server['id'])['status']
            )

    def test_a_move_under_way_is_let_finish_when_the_lease_is_deleted(self):
        server = self.boot_on_drainable()
        go_on = threading.Event()
        self.addCleanup(go_on.set)
        wait = fake.FakeDriver.live_migration

        def slow(*args, **kwargs):
            go_on.wait(60)
            return wait(*args, **kwargs)

        with fixtures.MonkeyPatch(
            'nova.virt.fake.FakeDriver.live_migration', slow
        ):
            lease = self.best_effort()
            self.wait_for(
                lambda: self.assertEqual(
                    'MIGRATING',
                    self.admin_api.get_server(server['id'])['status'],
                )
            )
            self.services.leases.delete(lease.id, self.now)
            for _ in range(3):
                self.pass_time(seconds=3)
                self.work()
            self.assertEqual(['host2'], self.fenced())
            go_on.set()
            self.wait_until_given_back()
        shown = self.admin_api.get_server(server['id'])
        self.assertEqual('ACTIVE', shown['status'])
        self.assertEqual('host3', shown['OS-EXT-SRV-ATTR:host'])

    def test_a_worker_that_died_in_the_middle_leaves_no_server_stuck(self):
        """The worker dies when Nova has set the task, and not yet sent the
        message."""
        server = self.boot_on_drainable()
        cast = 'nova.conductor.api.ComputeTaskAPI.live_migrate_instance'
        with fixtures.MonkeyPatch(cast, lambda *args, **kwargs: None):
            lease = self.best_effort()
            self.wait_for(
                lambda: self.assertEqual(
                    'migrating',
                    self.admin_api.get_server(server['id'])[
                        'OS-EXT-STS:task_state'
                    ],
                )
            )
        for _ in range(3):
            self.pass_time(seconds=3)
            self.work()
        self.assertEqual(states.Lease.IN_PROGRESS, self.see(lease).status)
        self.now += instance_actions.LOST
        self.wait_for_status(lease, states.Lease.ERROR)
        self.wait_until_given_back()
        shown = self.admin_api.get_server(server['id'])
        self.assertIsNone(shown['OS-EXT-STS:task_state'])
        self.assertEqual('host2', shown['OS-EXT-SRV-ATTR:host'])
