# SPDX-License-Identifier: Apache-2.0
"""Servers that are created with a lease, and followed to its end, on a
Nova.
"""

import datetime

from nova.tests import fixtures as nova_fixtures

from nova_reservations.db import tasks
from nova_reservations.engine.worker import deleted_servers
from nova_reservations.tests.functional.nova import test_server_leases

HINTS = test_server_leases.HINTS


class ShelvingTestCase(test_server_leases.ServerLeaseTestCase):
    def setUp(self):
        super().setUp()
        self.trust()

    def ask(self, starts_in=0, server=None, **params):
        """Ask for a server with a lease that starts in so many minutes and
        ends an hour from now.

        :param server: the body's server, instead of an ordinary one
        """
        start = self.now + datetime.timedelta(minutes=starts_in)
        if server is None:
            server = self._build_server(networks='none', flavor_id='1')
        text = self.params(
            start=start.isoformat() if starts_in else 'now', **params
        )
        return self.api.post_server(
            {'server': server, HINTS: {'lease_params': text}}
        )

    def volume_backed(self, **mapping):
        self.useFixture(nova_fixtures.CinderFixture(self))
        server = self._build_server(
            image_uuid='', networks='none', flavor_id='1'
        )
        server['block_device_mapping_v2'] = [
            {
                'boot_index': 0,
                'source_type': 'volume',
                'destination_type': 'volume',
                'uuid': nova_fixtures.CinderFixture.IMAGE_BACKED_VOL,
                **mapping,
            }
        ]
        return server

    def until(self, status):
        """Work until the only lease is in this state; what waits for long
        is looked at every 15 seconds."""

        def is_so():
            self.pass_time(seconds=15)
            self.work()
            self.assertEqual(status, self.only_lease().status)

        self._wait_for_assert(is_so)
        return self.only_lease()

    def until_shelved(self, server):
        def is_shelved():
            self.pass_time(seconds=1)
            self.work()
            self.assertTrue(self.only_lease().prepared)

        self._wait_for_assert(is_shelved)
        self.assertEqual('SHELVED_OFFLOADED', self.status_of(server))

    def until_the_start(self):
        self.now = max(self.now, self.only_lease().start_date)

    def until_the_end(self):
        self.now = max(self.now, self.only_lease().end_date)

    def status_of(self, server):
        return self.api.get_server(server['id'])['status']

    def images_named(self, name):
        return [
            image
            for image in self.glance.detail(None)
            if image['name'] == name
        ]

    def allocations(self, server):
        return self._get_allocations_by_server_uuid(server['id'])

    def look_for_the_deserted(self):
        with self.services.database.writer() as session:
            tasks.hurry(session, deleted_servers.TASK, self.now)
        self.work()
