# SPDX-License-Identifier: Apache-2.0
"""A claim stayed in placement when our check of it failed.

Only an expected exception undid the claim. After any other exception the
server went to ERROR, and its claim belonged to nobody and kept a host
occupied. A server that was being evacuated also lost its allocation on the old
host. Issue 13, item 3.
"""

from nova_reservations.scheduler import request_filter
from nova_reservations.tests.functional.nova import shared


class Bug(Exception):
    pass


class ClaimUndoneTest(shared.SharedNova):
    hosts = ('host1', 'host2')

    def _break(self):
        """Have our check of each claim fail by an unexpected exception."""

        self.raised = []

        def confirm(reserved_hosts, request_spec, server):
            self.raised.append(server)
            raise Bug

        self.stub_out(
            f'{request_filter.__name__}.ReservedHosts.confirm', confirm
        )

    def _held(self, server):
        """Return the providers on which the server has an allocation."""
        return set(self._get_allocations_by_server_uuid(server['id']))

    def test_the_claim_of_a_new_server_goes(self):
        self.enrol('host1')
        lease = self.lease()
        self._break()
        server = self._wait_for_state_change(self.post(lease), 'ERROR')
        self.assertEqual(set(), self._held(server))

    def test_the_claim_of_a_server_that_is_unshelved_goes(self):
        self.enrol('host1')
        server = self.boot(self.lease())
        self.flags(shelved_offload_time=0)
        self._shelve_server(server, expected_state='SHELVED_OFFLOADED')
        self._break()
        self.api.post_server_action(server['id'], {'unshelve': None})
        self._wait_for_action_fail_completion(
            server, 'unshelve', 'schedule_instances'
        )
        self.assertEqual(set(), self._held(server))

    def test_a_server_that_is_evacuated_holds_what_it_had(self):
        self.enrol('host1', 'host2')
        server = self.boot(self.lease(2))
        before = self._held(server)
        self.stop_host(self.host_of(server))
        self._break()
        self.admin_api.post_server_action(server['id'], {'evacuate': {}})
        # Nova does not reset the task state, as after any exception there.
        self._wait_for_assert(lambda: self.assertTrue(self.raised))
        self._wait_for_assert(
            lambda: self.assertEqual(before, self._held(server))
        )

    def test_a_server_that_is_resized_holds_what_it_had(self):
        self.enrol('host1', 'host2')
        server = self.boot(self.lease(2))
        before = self._held(server)
        self._break()
        self.api.post_server_action(
            server['id'],
            {'resize': {'flavorRef': self.api.get_flavors()[1]['id']}},
        )
        self._wait_for_action_fail_completion(server, 'resize', 'cold_migrate')
        self.assertEqual(before, self._held(server))
