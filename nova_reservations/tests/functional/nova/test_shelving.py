# SPDX-License-Identifier: Apache-2.0
"""Servers that carry a lease, from their shelf to their end, on a Nova."""

import datetime

import fixtures

from nova_reservations.engine import lease_requests
from nova_reservations.objects import states
from nova_reservations.tests.functional.nova import base
from nova_reservations.tests.functional.nova import lifespan


class LaterTest(lifespan.LifespanTestCase):
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

    def test_so_is_one_on_a_volume(self):
        self._is_there_from_its_time_on(self.volume_backed())

    def test_it_does_not_wait_for_nova_to_offload_it(self):
        self.flags(shelved_offload_time=3600)
        self._is_there_from_its_time_on()

    def test_not_even_where_nova_never_does(self):
        self.flags(shelved_offload_time=-1)
        self._is_there_from_its_time_on()

    def test_it_is_no_users_business_that_a_server_is_locked(self):
        server = self.ask(starts_in=20)
        self._wait_for_state_change(server, 'ACTIVE')
        self.api.post_server_action(server['id'], {'lock': {}})
        self.until_shelved(server)

    def test_where_there_is_no_room_it_stays_on_its_shelf(self):
        server = self.ask(starts_in=20)
        self.until_shelved(server)
        self.set_hosts('disabled')
        self.until_the_start()
        self.until('STARTING')
        self.pass_time(minutes=11)
        lease = self.until('ERROR')
        self.assertIn('no host has room for it', lease.status_reason)
        self.assertEqual('SHELVED_OFFLOADED', self.status_of(server))
        # Its owner has it still.
        self.set_hosts('enabled')
        self.until('ERROR')
        self.api.post_server_action(server['id'], {'unshelve': None})
        self._wait_for_state_change(server, 'ACTIVE')

    def test_it_starts_as_soon_as_there_is_room(self):
        server = self.ask(starts_in=20)
        self.until_shelved(server)
        self.set_hosts('disabled')
        self.until_the_start()

        def is_told():
            self.pass_time(seconds=1)
            self.work()
            self.assertIn(
                'no host has room for it', self.only_lease().status_reason
            )

        self._wait_for_assert(is_told)
        self.set_hosts('enabled')
        self.pass_time(minutes=1)
        self.until('ACTIVE')
        self.assertEqual('ACTIVE', self.status_of(server))

    def test_one_that_can_not_be_built_now_has_no_lease_for_later(self):
        self.set_hosts('disabled')
        self.ask(starts_in=20)
        lease = self.until('ERROR')
        self.assertIn('No valid host', lease.status_reason)

    def test_what_its_user_has_brought_back_before_runs_on(self):
        server = self.ask(starts_in=20)
        self.until_shelved(server)
        self.api.post_server_action(server['id'], {'unshelve': None})
        self._wait_for_state_change(server, 'ACTIVE')
        self.until_the_start()
        self.until('ACTIVE')
        self.assertEqual('ACTIVE', self.status_of(server))

    def test_it_is_refused_without_a_service_user(self):
        self.useFixture(
            fixtures.MonkeyPatch(
                'nova_reservations.cloud.credentials.plugin', lambda: None
            )
        )
        status = self.status_of_refusal(lambda: self.ask(starts_in=20))
        self.assertEqual(400, status)
        self.assertEqual([], self.leases())
        self.assertEqual([], self.api.get_servers())

    def test_deleted_with_its_lease_it_leaves_no_image(self):
        server = self.ask(starts_in=20)
        self.until_shelved(server)
        name = f'{server_name(self, server)}-shelved'
        self.assertEqual(1, len(self.images_named(name)))
        self.services.leases.delete(self.only_lease().id, self.now)
        self.work()
        self._wait_until_deleted(server)
        self.assertEqual([], self.images_named(name))


class EndTest(lifespan.LifespanTestCase):
    def _ends(self, *, server=None, **params):
        server = self.ask(server=server, **params)
        self.until('ACTIVE')
        self.name = server_name(self, server)
        self.until_the_end()
        return server

    def test_an_image_is_left_of_a_server_that_is_deleted(self):
        server = self._ends(on_end=['create_image', 'delete'])
        self.until('TERMINATED')
        self._wait_until_deleted(server)
        [image] = self.images_named(f'reserved_{self.name}')
        self.assertEqual(base.MINE, image['owner'])
        self.assertEqual('active', image['status'])

    def test_a_server_is_suspended(self):
        server = self._ends(on_end=['suspend'])
        self.until('TERMINATED')
        self.assertEqual('SUSPENDED', self.status_of(server))

    def test_a_server_lives_on_of_which_only_an_image_was_wanted(self):
        server = self._ends(on_end='create_image')
        self.until('TERMINATED')
        self.assertEqual('ACTIVE', self.status_of(server))
        self.assertEqual(1, len(self.images_named(f'reserved_{self.name}')))

    def test_the_operator_says_what_is_done_otherwise(self):
        self.flags(instance_on_end=['suspend'], group='reservations')
        server = self._ends()
        self.until('TERMINATED')
        self.assertEqual('SUSPENDED', self.status_of(server))

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

    def test_what_was_shelved_by_its_user_is_kept_as_an_image(self):
        server = self.ask(on_end=['create_image', 'delete'])
        self.until('ACTIVE')
        name = server_name(self, server)
        self.api.post_server_action(server['id'], {'shelve': None})
        self._wait_for_state_change(server, 'SHELVED_OFFLOADED')
        self.until_the_end()
        self.until('TERMINATED')
        self._wait_until_deleted(server)
        self.assertEqual(1, len(self.images_named(f'{name}-shelved')))

    def test_a_locked_server_is_no_exception(self):
        server = self.ask(on_end=['suspend'])
        self.until('ACTIVE')
        self.api.post_server_action(server['id'], {'lock': {}})
        self.until_the_end()
        self.until('TERMINATED')
        self.assertEqual('SUSPENDED', self.status_of(server))

    def test_a_server_in_error_is_told_of_and_not_lost(self):
        server = self._ends(on_end=['create_image', 'delete'])
        self.admin_api.post_server_action(
            server['id'], {'os-resetState': {'state': 'error'}}
        )
        self.until('TERMINATING')
        self.pass_time(seconds=2)
        self.work()
        lease = self.only_lease()
        self.assertIn(
            f'server {server["id"]} (error) can not be saved',
            lease.status_reason,
        )
        self.pass_time(minutes=11)
        self.until('ERROR')
        self.admin_api.post_server_action(
            server['id'], {'os-resetState': {'state': 'active'}}
        )

        def is_over():
            # It goes on once a minute.
            self.pass_time(minutes=1)
            self.work()
            self.assertEqual('TERMINATED', self.only_lease().status)

        self._wait_for_assert(is_over)
        self._wait_until_deleted(server)

    def test_nothing_is_begun_without_a_token(self):
        server = self._ends(on_end=['create_image', 'delete'])
        self.distrust()
        self.work()
        self.work()
        self.assertIn(
            'Keystone can not be reached', self.only_lease().status_reason
        )
        self.assertEqual('ACTIVE', self.status_of(server))
        self.trust()
        self.until('TERMINATED')

    def test_the_end_can_be_moved_and_what_is_done_then(self):
        server = self.ask()
        lease = self.until('ACTIVE')
        later = lease.end_date + datetime.timedelta(hours=1)
        self.services.leases.update(
            lease.id,
            lease_requests.LeaseChanges(
                end=later,
                reservations={
                    lease.reservations[0].id: {'on_end': ['suspend']}
                },
            ),
            self.now,
        )
        self.now = lease.end_date
        self.work()
        self.assertEqual('ACTIVE', self.status_of(server))
        self.until_the_end()
        self.until('TERMINATED')
        self.assertEqual('SUSPENDED', self.status_of(server))


class DesertionTest(lifespan.LifespanTestCase):
    def test_who_deletes_the_server_ends_the_lease(self):
        server = self.ask()
        self.until('ACTIVE')
        self.look_for_the_deserted()
        self.assertEqual('ACTIVE', self.only_lease().status)
        self._delete_server(server)
        self.look_for_the_deserted()
        self.until('TERMINATED')

    def test_also_on_its_shelf(self):
        server = self.ask(starts_in=20)
        self.until_shelved(server)
        self._delete_server(server)
        self.look_for_the_deserted()
        self.until('TERMINATED')

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
