# SPDX-License-Identifier: Apache-2.0
"""A server that Nova had given up kept the host of its lease for ever.

nova-conductor checks the quota again after the hosts are claimed. Two requests
at the same time can exceed the quota by then. In that case nova-conductor puts
the servers in ERROR, on no host, forgets the request with its hint, and keeps
the allocation. The end of the lease therefore took the server for one that it
had not let in: it named the server in its reason, and waited for it.

Issue 13, seen from a member.
"""

from unittest import mock

from nova import exception as nova_exception
from nova.conductor import manager

from nova_reservations.tests.functional.nova import shared


class UnbuiltTest(shared.SharedNova):
    def test_a_server_beyond_the_quota_does_not_keep_its_host(self):
        self.trust()
        self.enrol('host1')
        provider = self._get_provider_uuid_by_host('host1')
        for action in ('delete', 'shelve', 'migrate'):
            lease = self.lease(end_action=action)
            server = self._beyond_the_quota(lease)
            held = self._get_allocations_by_provider_uuid(provider)
            self.assertEqual({server['id']}, set(held))
            self.end_completely(lease)
            self.assertEqual(
                {}, self._get_allocations_by_provider_uuid(provider)
            )
            # The server stays: its user may want to know the fault.
            self.assertEqual(
                'ERROR', self.api.get_server(server['id'])['status']
            )

    def _beyond_the_quota(self, lease):
        with mock.patch.object(
            manager.ComputeTaskManager,
            '_recheck_quota',
            side_effect=nova_exception.TooManyInstances(
                overs='instances', req=1, used=1, allowed=1
            ),
        ):
            return self._wait_for_state_change(self.post(lease), 'ERROR')
