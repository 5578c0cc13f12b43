# SPDX-License-Identifier: Apache-2.0
"""Who lands where, when servers are made."""


from nova_reservations import states
from nova_reservations.tests.functional.nova import base


class BootTest(base.NovaTestCase):
    def test_an_enrolled_host_refuses_an_ordinary_server(self):
        self.enrol('host1', 'host2', 'host3')
        self.assertIn('No valid host', self.refused())

    def test_ordinary_servers_land_beside_the_pool(self):
        self.enrol('host1', 'host2')
        self.assertEqual(
            {'host3'}, {self.host_of(self.boot()) for _ in range(3)}
        )

    def test_a_leases_servers_land_on_its_hosts(self):
        self.enrol('host1', 'host2', 'host3')
        lease = self.lease(2)
        self.assertEqual(states.Lease.ACTIVE, lease.status)
        servers = [self.boot(lease) for _ in range(3)]
        self.assertLessEqual(
            {self.host_of(server) for server in servers}, self.hosts_of(lease)
        )
