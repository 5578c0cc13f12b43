# SPDX-License-Identifier: Apache-2.0
"""Computes that really stop, with servers that have a lease of their own."""

from nova_reservations.db import tasks
from nova_reservations.db.leases import server_failures
from nova_reservations.tests.functional.nova import test_server_leases


class ServerFailuresTestCase(test_server_leases.ServerLeaseTestCase):
    evacuates: bool

    def _install(self, directory) -> None:
        super()._install(directory)
        self.flags(heal_evacuate=self.evacuates, group='reservations')

    def setUp(self):
        super().setUp()
        self.trust()
        # host3 is in the pool, and therefore no place for the server.
        self.enrol('host3')
        self.server = self._wait_for_state_change(self.carry(), 'ACTIVE')
        self.mine = self.until('ACTIVE')
        self.failed = self.host_of(self.server)
        self.stop_host(self.failed)
        self.watch()

    def watch(self) -> None:
        self.pass_time(seconds=60)
        with self.services.database.writer() as session:
            tasks.hurry(session, server_failures.TASK, self.now)
        self.work()

    def assert_shown(self, missing: bool) -> None:
        self.assertEqual((missing, False), self.shown(self.mine))
        lease = self.services.leases.get(self.mine.id)
        self.assertEqual(missing, lease.degraded)


class FlagsTest(ServerFailuresTestCase):
    evacuates = False

    def test_the_lease_of_a_server_is_degraded_until_its_host_is_back(self):
        self.assert_shown(missing=True)
        self.assertEqual(self.failed, self.host_of(self.server))
        self.computes[self.failed] = self.restart_compute_service(
            self.computes[self.failed], keep_hypervisor_state=False
        )
        self.admin_api.put_service_force_down(
            self.computes[self.failed].service_ref.uuid, False
        )
        self.watch()
        self.assert_shown(missing=False)


class EvacuationTest(ServerFailuresTestCase):
    evacuates = True

    def test_a_server_is_evacuated_to_a_host_beside_the_pool(self):
        [other] = {'host1', 'host2'} - {self.failed}
        self._wait_for_server_parameter(
            self.server, {'OS-EXT-SRV-ATTR:host': other, 'status': 'ACTIVE'}
        )
        self.watch()
        self.assert_shown(missing=False)
        self.end_completely(self.mine)
        self._wait_until_deleted(self.server)
