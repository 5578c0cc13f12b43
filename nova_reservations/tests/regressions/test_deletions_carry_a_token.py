# SPDX-License-Identifier: Apache-2.0
"""Volumes stayed attached to servers that the end of a lease had deleted.
Without a token Nova asks Cinder with the credentials in [cinder], which few
clouds have. Issue 13, item 13.
"""

from nova.compute import api as compute_api

from nova_reservations.tests.functional.nova import shared


class DeletionTest(shared.SharedNova):
    hosts = ('host1',)

    def _tokens_of_deletions(self):
        """Return the tokens that Nova got for the deletions at the end of a
        lease."""
        given = []
        delete = compute_api.API.delete

        def deleted(api, context, instance):
            given.append(context.auth_token)
            return delete(api, context, instance)

        self.stub_out('nova.compute.api.API.delete', deleted)
        self.enrol('host1')
        lease = self.lease()
        server = self.boot(lease)
        self.end_completely(lease)
        self._wait_until_deleted(server)
        return given

    def test_deletions_carry_a_token_that_may_delete_ports(self):
        self.trust('admin', 'service')
        given = self._tokens_of_deletions()
        self.assertTrue(given)
        self.assertTrue(all(given))

    def test_deletions_carry_no_token_where_ports_would_stay(self):
        """Nova deletes ports with the credentials in [neutron], and could not
        with this token."""
        self.trust('service')
        self.assertEqual({None}, set(self._tokens_of_deletions()))
