# SPDX-License-Identifier: Apache-2.0
"""Snapshots of servers before their lease ends."""

import datetime

import fixtures

from nova_reservations import ports
from nova_reservations.engine.booking import lease_requests
from nova_reservations.objects import states
from nova_reservations.tests.functional.nova import base
from nova_reservations.tests.functional.nova import shared

HOUR = datetime.timedelta(hours=1)


class BeforeEndTest(shared.SharedNova):
    hosts = ('host1',)

    def setUp(self):
        super().setUp()
        self.trust()
        self.enrol('host1')

    def warn(self, lease):
        """Wait until the event before the end is over; return its status."""
        self.now = max(self.now, lease.end_date - HOUR)

        def is_over():
            self.pass_time(seconds=10)
            self.work()
            event = self._event(lease)
            self.assertIn(
                event.status, (states.Event.DONE, states.Event.ERROR)
            )

        self._wait_for_assert(is_over)
        return self._event(lease).status

    def _event(self, lease):
        shown = self.services.leases.get(lease.id)
        return shown.event(states.EventType.BEFORE_END)

    def _snapshots(self, name):
        return [
            image
            for image in self.glance.detail(None)
            if image['name'] == f'reserved_{name}'
        ]

    def lease_for_two_hours(self, **asked):
        """Return a lease of two hours, whose event before the end is in an
        hour."""
        lease = self.lease(**asked)
        return self.services.leases.update(
            lease.id,
            lease_requests.LeaseChanges(end=lease.end_date + HOUR),
            self.now,
        )

    def test_servers_have_an_image_each_that_belongs_to_their_project(self):
        lease = self.lease_for_two_hours(before_end='snapshot')
        server = self.boot(lease, name='precious')
        self.admin_api.post_server_action(server['id'], {'lock': {}})
        self.assertEqual(states.Event.DONE, self.warn(lease))
        [image] = self._snapshots('precious')
        self.assertEqual(base.MINE, image['owner'])
        self.assertEqual(server['id'], image['properties']['instance_uuid'])
        self.assertEqual('ACTIVE', self.api.get_server(server['id'])['status'])
        self.assertEqual('private', image['visibility'])
        # A later look does not make the image again.
        self.end(lease)
        self.assertEqual(1, len(self._snapshots('precious')))

    def test_a_server_on_a_volume_is_told_of(self):
        lease = self.lease_for_two_hours(before_end='snapshot')
        server = self.boot_of_volume(lease, name='of a volume')
        self.assertEqual(states.Event.ERROR, self.warn(lease))
        self.assertIn(
            f'server {server["id"]}: its disk is a volume',
            self.services.leases.get(lease.id).status_reason,
        )
        self.assertEqual([], self._snapshots('of a volume'))

    def test_an_image_that_a_killed_worker_left_behind_is_made_anew(self):
        """The worker is killed when glance has the image, and Nova does not
        know yet."""
        lease = self.lease_for_two_hours(before_end='snapshot')
        server = self.boot(lease, name='precious')
        cloud = self.services.hosts.cloud
        [found] = cloud.servers.occupancy(self.resources_of(lease))[
            'host1'
        ].servers
        order = ports.Order(ports.RequestKey('an occasion'), go_on, self.now)
        with fixtures.MonkeyPatch('nova.objects.Instance.save', _kill):
            self.assertRaises(
                Killed,
                cloud.servers.snapshot_servers,
                [found],
                order,
            )
        [left] = self._snapshots('precious')
        cloud.servers.snapshot_servers([found], order)
        self._wait_for_server_parameter(
            server, {'OS-EXT-STS:task_state': None}
        )
        outcome = cloud.servers.snapshot_servers([found], order)
        self.assertEqual(ports.Outcome({}, {}), outcome)
        [image] = self._snapshots('precious')
        self.assertNotEqual(left['id'], image['id'])


class Killed(BaseException):
    """No handler catches it, as if the process was killed."""


def _kill(*args, **kwargs):
    raise Killed


def go_on():
    """Let the worker go on: it still has its claim of the lease."""
