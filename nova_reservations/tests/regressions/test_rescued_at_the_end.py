# SPDX-License-Identifier: Apache-2.0
"""A server in rescue kept the host of its lease for ever.

Nova does not shelve, migrate or suspend a server in that state, and any member
can rescue a server. A member whose end action keeps servers could therefore
keep the host for ever, and the next lease on the host did not start.

Issue 13, seen from a member.
"""

from nova_reservations.tests.functional.nova import shared


class RescuedTest(shared.SharedNova):
    def setUp(self):
        super().setUp()
        self.trust()

    def _rescued(self, lease):
        server = self.boot(lease)
        self.admin_api.post_server_action(server['id'], {'rescue': None})
        return self._wait_for_state_change(server, 'RESCUE')

    def _assert_empty(self, host):
        provider = self._get_provider_uuid_by_host(host)
        self.assertEqual({}, self._get_allocations_by_provider_uuid(provider))

    def test_a_rescued_server_is_shelved(self):
        self.enrol('host1')
        lease = self.lease(end_action='shelve')
        server = self._rescued(lease)
        self.end_completely(lease)
        self._assert_empty('host1')
        self._wait_for_state_change(server, 'SHELVED_OFFLOADED')

    def test_a_rescued_server_is_migrated(self):
        self.enrol('host1')
        lease = self.lease(end_action='migrate')
        server = self._rescued(lease)
        self.end_completely(lease)
        self._assert_empty('host1')
        server = self._wait_for_state_change(server, 'ACTIVE')
        self.assertNotEqual('host1', self.host_of(server))
