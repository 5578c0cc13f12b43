# SPDX-License-Identifier: Apache-2.0
"""A lease counts as used once nova-scheduler has let a server in."""

import dataclasses
import datetime

from nova_reservations.engine.worker import unused_leases
from nova_reservations.objects import states
from nova_reservations.tests.functional.nova import shared

TIMEOUT = datetime.timedelta(minutes=15)


class UnusedLeasesTest(shared.SharedNova):
    def _look(self):
        leases = self.services.leases
        unused_leases.UnusedLeases(
            leases.database,
            self.services.hosts.cloud,
            leases.types,
            dataclasses.replace(
                leases.options,
                unused_lease_timeout=TIMEOUT,
                unused_lease_action=states.UnusedAction.END,
            ),
            lambda *note: None,
        ).look(self.now)
        self.work()

    def test_only_a_lease_that_never_had_a_server_ends(self):
        self.enrol('host1', 'host2', 'host3')
        used, was_used, unused = (self.lease() for _ in range(3))
        server = self.boot(used)
        deleted = self.boot(was_used)
        self.api.delete_server(deleted['id'])
        self._wait_until_deleted(deleted)
        self.now += TIMEOUT
        self._look()
        # The end waits until servers that were let in before it can be seen.
        self.pass_time(seconds=10)
        self.work()
        self.assertEqual(
            [
                states.Lease.ACTIVE,
                states.Lease.ACTIVE,
                states.Lease.TERMINATED,
            ],
            [
                self.services.leases.get(lease.id).status
                for lease in (used, was_used, unused)
            ],
        )
        self.assertEqual('ACTIVE', self.api.get_server(server['id'])['status'])
        self.assertEqual(409, self.status_of_refusal(self.post, unused))
