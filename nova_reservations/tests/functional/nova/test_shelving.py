# SPDX-License-Identifier: Apache-2.0
"""Servers that carry a lease, from their shelf to their end, on a Nova."""

import fixtures

from nova_reservations.objects import states
from nova_reservations.tests.functional.nova import shelving


class LaterTest(shelving.ShelvingTestCase):
    def _is_there_from_its_time_on(self, server=None):
        server = self.ask(starts_in=20, server=server)
        self.until_shelved(server)
        self.assertEqual(states.Lease.PENDING, self.only_lease().status)
        self.assertEqual({}, self.allocations(server))
        self.until_the_start()
        self.until('ACTIVE')
        self.assertEqual('ACTIVE', self.status_of(server))
        return server

    def test_a_server_is_there_from_its_time_on(self):
        self._is_there_from_its_time_on()

    def test_a_server_on_a_volume_is_there_from_its_time_on(self):
        self._is_there_from_its_time_on(self.volume_backed())

    def test_a_server_is_there_from_its_time_on_where_nova_never_offloads(
        self,
    ):
        self.flags(shelved_offload_time=-1)
        self._is_there_from_its_time_on()

    def test_a_server_that_is_deleted_with_its_lease_leaves_no_image(self):
        server = self.ask(starts_in=20)
        self.until_shelved(server)
        name = f'{server_name(self, server)}-shelved'
        self.assertEqual(1, len(self.images_named(name)))
        self.services.leases.delete(self.only_lease().id, self.now)
        self.work()
        self._wait_until_deleted(server)
        self.assertEqual([], self.images_named(name))


class EndTest(shelving.ShelvingTestCase):
    def _ends(self, *, server=None, **params):
        server = self.ask(server=server, **params)
        self.until('ACTIVE')
        self.name = server_name(self, server)
        self.until_the_end()
        return server

    def test_all_of_it_is_done_in_order(self):
        server = self._ends(on_end=['delete', 'suspend', 'create_image'])
        actions = []

        def is_over():
            self.pass_time(seconds=2)
            self.work()
            actions.append(
                [
                    one['action']
                    for one in self.admin_api.get_instance_actions(
                        server['id']
                    )
                ]
            )
            self.assertEqual('TERMINATED', self.only_lease().status)

        self.api.microversion = '2.90'
        self.admin_api.microversion = '2.90'
        self._wait_for_assert(is_over)
        self.assertEqual(
            ['delete', 'suspend', 'createImage', 'create'],
            max(actions, key=len),
        )

    def test_the_volume_of_a_server_outlives_it(self):
        server = self._ends(
            server=self.volume_backed(delete_on_termination=True),
            on_end=['create_image', 'delete'],
        )
        deleted = []
        self.useFixture(
            fixtures.MonkeyPatch(
                'nova.volume.cinder.API.delete',
                lambda api, context, volume: deleted.append(volume),
            )
        )
        self.until('TERMINATED')
        self._wait_until_deleted(server)
        self.assertEqual([], deleted)

    def test_a_server_that_its_user_shelved_is_kept_as_an_image(self):
        server = self.ask(on_end=['create_image', 'delete'])
        self.until('ACTIVE')
        name = server_name(self, server)
        self.api.post_server_action(server['id'], {'shelve': None})
        self._wait_for_state_change(server, 'SHELVED_OFFLOADED')
        self.until_the_end()
        self.until('TERMINATED')
        self._wait_until_deleted(server)
        self.assertEqual(1, len(self.images_named(f'{name}-shelved')))


class DeletedServersTest(shelving.ShelvingTestCase):
    def test_a_soft_deleted_server_may_come_back(self):
        self.flags(reclaim_instance_interval=3600)
        server = self.ask()
        self.until('ACTIVE')
        self.api.delete_server(server['id'])
        self._wait_for_state_change(server, 'SOFT_DELETED')
        self.look_for_the_deserted()
        self.assertEqual('ACTIVE', self.only_lease().status)
        self.until_the_end()
        self.until('TERMINATED')
        self._wait_until_deleted(server)


def server_name(case, server):
    return case.api.get_server(server['id'])['name']
