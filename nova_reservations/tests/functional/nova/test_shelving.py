# SPDX-License-Identifier: Apache-2.0
"""Servers that carry a lease, from their shelf to their end, on a Nova."""

import datetime

import fixtures
from nova.tests import fixtures as nova_fixtures

from nova_reservations.db import tasks
from nova_reservations.engine import deleted_servers
from nova_reservations.engine import lease_requests
from nova_reservations.objects import states
from nova_reservations.tests.functional.nova import base
from nova_reservations.tests.functional.nova import test_server_leases

HINTS = test_server_leases.HINTS


class LifespanTestCase(test_server_leases.CarriedTestCase):
    def setUp(self):
        super().setUp()
        self.trust()

    def ask(self, starts_in=0, server=None, **params):
        """Ask for a server from so many minutes on, until an hour from now.

        :param server: of the body, in place of an ordinary one
        """
        start = self.now + datetime.timedelta(minutes=starts_in)
        if server is None:
            server = self._build_server(networks='none', flavor_id='1')
        text = self.params(
            start=start.isoformat() if starts_in else 'now', **params
        )
        return self.api.post_server(
            {'server': server, HINTS: {'lease_params': text}}
        )

    def volume_backed(self, **mapping):
        self.useFixture(nova_fixtures.CinderFixture(self))
        server = self._build_server(
            image_uuid='', networks='none', flavor_id='1'
        )
        server['block_device_mapping_v2'] = [
            {
                'boot_index': 0,
                'source_type': 'volume',
                'destination_type': 'volume',
                'uuid': nova_fixtures.CinderFixture.IMAGE_BACKED_VOL,
                **mapping,
            }
        ]
        return server

    def until(self, status):
        """Work until the only lease is in this state; what waits for long
        is looked at every 15 seconds."""

        def is_so():
            self.pass_time(seconds=15)
            self.work()
            self.assertEqual(status, self.only_lease().status)

        self._wait_for_assert(is_so)
        return self.only_lease()

    def until_shelved(self, server):
        def is_shelved():
            self.pass_time(seconds=1)
            self.work()
            self.assertTrue(self.only_lease().prepared)

        self._wait_for_assert(is_shelved)
        self.assertEqual('SHELVED_OFFLOADED', self.status_of(server))

    def until_the_start(self):
        self.now = max(self.now, self.only_lease().start_date)

    def until_the_end(self):
        self.now = max(self.now, self.only_lease().end_date)

    def status_of(self, server):
        return self.api.get_server(server['id'])['status']

    def images_named(self, name):
        return [
            image
            for image in self.glance.detail(None)
            if image['name'] == name
        ]

    def allocations(self, server):
        return self._get_allocations_by_server_uuid(server['id'])

    def set_hosts(self, status):
        for compute in self.computes.values():
            self.admin_api.put_service(
                compute.service_ref.uuid, {'status': status}
            )

    def look_for_the_deserted(self):
        with self.services.database.writer() as session:
            tasks.hurry(session, deleted_servers.TASK, self.now)
        self.work()


class LaterTest(LifespanTestCase):
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


class EndTest(LifespanTestCase):
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


class DesertionTest(LifespanTestCase):
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


class DefaultTest(LifespanTestCase):
    """Every server has a lease."""

    def _install(self, directory):
        super()._install(directory)
        self.flags(default_reservation=True, group='reservations')

    def test_a_server_that_asks_for_none_has_one_for_thirty_days(self):
        server = self.boot(name='forgotten')
        lease = self.until('ACTIVE')
        self.assertEqual('forgotten', lease.name)
        self.assertEqual(base.MINE, lease.project_id)
        self.assertEqual([server['id']], self.servers_of(lease))
        self.assertIs(False, lease.reservations[0].params['guaranteed'])
        self.assertEqual(
            datetime.timedelta(days=30), lease.end_date - lease.start_date
        )
        self.until_the_end()
        self.until('TERMINATED')
        self._wait_until_deleted(server)

    def test_its_owner_extends_it_as_any_lease(self):
        server = self.boot()
        lease = self.until('ACTIVE')
        self.services.leases.update(
            lease.id,
            lease_requests.LeaseChanges(
                end=lease.end_date + datetime.timedelta(days=300)
            ),
            self.now,
        )
        self.now = lease.end_date
        self.work()
        self.assertEqual('ACTIVE', self.status_of(server))

    def test_its_length_is_the_operators(self):
        self.flags(
            reservation_length_days=1,
            reservation_length_hours=2,
            reservation_length_minutes=3,
            group='reservations',
        )
        self.boot()
        lease = self.only_lease()
        self.assertEqual(
            datetime.timedelta(days=1, hours=2, minutes=3),
            lease.end_date - lease.start_date,
        )

    def test_it_may_begin_later(self):
        start = self.now + datetime.timedelta(hours=2)
        self.flags(
            reservation_start_date=f'{start:%Y-%m-%d %H:%M:%S}',
            group='reservations',
        )
        server = self.post()
        self.until_shelved(server)
        self.assertEqual(start, self.only_lease().start_date)
        self.until_the_start()
        self.until('ACTIVE')

    def test_a_date_that_is_past_is_now(self):
        self.flags(
            reservation_start_date='2020-01-01 00:00', group='reservations'
        )
        self.boot()
        self.assertEqual(self.now, self.only_lease().start_date)

    def test_other_hints_are_kept(self):
        other = self.boot()
        for key in (HINTS, 'OS-SCH-HNT:scheduler_hints'):
            server = self.api.post_server(
                {
                    'server': self._build_server(
                        networks='none', flavor_id='1'
                    ),
                    key: {'different_host': [other['id']]},
                }
            )
            self._wait_for_state_change(server, 'ACTIVE')
            self.assertNotEqual(self.host_of(other), self.host_of(server))
        self.assertEqual(3, len(self.leases()))

    def test_who_asks_for_a_lease_has_that_one(self):
        self.ask()
        lease = self.only_lease()
        self.assertEqual(
            datetime.timedelta(hours=1), lease.end_date - lease.start_date
        )

    def test_exempt_are_projects_and_flavors(self):
        self.flags(
            default_reservation_exempt_projects=[base.OTHERS],
            default_reservation_exempt_flavors=['2'],
            group='reservations',
        )
        self.post(api=self.others_api)
        self.post(flavor_id='2')
        self.assertEqual([], self.leases())
        self.post()
        self.assertEqual(base.MINE, self.only_lease().project_id)

    def test_servers_in_a_reservation_are_in_its_lease_already(self):
        self.enrol('host1')
        lease = self.lease()
        server = self.boot(lease)
        self.assertEqual('host1', self.host_of(server))
        self.assertEqual(lease.id, self.only_lease().id)

    def test_servers_on_volumes_and_several_at_once_have_one(self):
        self.api.post_server({'server': self.volume_backed()})
        self.post(count=3)
        sizes = sorted(len(self.servers_of(one)) for one in self.leases())
        self.assertEqual([1, 3], sizes)

    def test_what_nova_refuses_has_none(self):
        for server in (
            {'name': 'no image'},
            self._build_server(networks='none', flavor_id='no such'),
            'no server',
        ):
            status = self.status_of_refusal(
                self.api.post_server, {'server': server}
            )
            self.assertEqual(400, status)
        self.assertEqual([], self.leases())

    def test_it_is_no_matter_of_who_may_make_leases(self):
        self.policy.set_rules(
            {'reservations:leases:create': '!'},
            overwrite=False,
        )
        self.boot()
        self.until('ACTIVE')


class NoDefaultTest(LifespanTestCase):
    def test_by_default_no_server_has_a_lease(self):
        self.boot()
        self.assertEqual([], self.leases())
