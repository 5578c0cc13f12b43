# SPDX-License-Identifier: Apache-2.0
"""An active lease gives hosts back; the tests look into Nova and placement."""

from nova_reservations.engine.booking import lease_requests
from nova_reservations.tests.functional.nova import shared


class ShrinkingTest(shared.SharedNova):
    def _release(self, lease, *hosts):
        self.services.leases.update(
            lease.id,
            lease_requests.LeaseChanges(
                reservations={
                    lease.reservations[0].id: {'release_hosts': [*hosts]}
                }
            ),
            self.now,
        )

    def _settle(self):
        self.work()
        self.pass_time(seconds=5)
        self.work()

    def test_an_empty_host_is_the_next_leases(self):
        self.enrol('host1', 'host2')
        lease = self.lease(2)
        server = self.boot(lease)
        used = self.host_of(server)
        [empty] = {'host1', 'host2'} - {used}
        self._release(lease, empty)
        self._settle()
        [reservation] = lease.reservations
        self.assertEqual([used], self.aggregates()[reservation.id]['hosts'])
        self.assertNotIn(
            reservation.id,
            self._get_provider_aggregates(
                self._get_provider_uuid_by_host(empty)
            ),
        )
        self.assertEqual({used}, self.hosts_of(lease))
        self.assertEqual(used, self.host_of(self.boot(lease)))
        self.assertEqual(empty, self.host_of(self.boot(self.lease(1))))

    def test_a_server_that_came_keeps_its_host(self):
        self.enrol('host1', 'host2')
        lease = self.lease(2)
        # A server is let in while Nova is asked for unused hosts.
        unused = self.services.means.types['physical:host'].unused
        came = []

        def at_last(booking):
            found = unused(booking)
            if not came:
                came.append(self.boot(lease))
            return found

        kind = self.services.means.types['physical:host']
        kind.unused = at_last
        self.addCleanup(delattr, kind, 'unused')
        self._release_one_that_gets_a_server(lease, came)
        self._settle()
        [reservation] = self.services.leases.get(lease.id).reservations
        self.assertEqual(2, reservation.params['max'])
        self.assertCountEqual(
            ['host1', 'host2'], self.aggregates()[reservation.id]['hosts']
        )
        self.assertEqual({'host1', 'host2'}, self.hosts_of(lease))
        self.assertIn(
            f'keeps {self.host_of(came[0])}',
            self.services.leases.get(lease.id).status_reason,
        )

    def _release_one_that_gets_a_server(self, lease, came):
        """Release the host on which the scheduler puts the next server."""
        first = self.boot(lease)
        host = self.host_of(first)
        self.api.delete_server(first['id'])
        self._wait_until_deleted(first)
        [other] = {'host1', 'host2'} - {host}
        # The scheduler has no other choice.
        self._disable(other)
        self._release(lease, host)
        self.assertEqual(host, self.host_of(came[0]))

    def _disable(self, host):
        [service] = self.admin_api.get_services(
            host=host, binary='nova-compute'
        )
        self.admin_api.put_service(service['id'], {'status': 'disabled'})
