# SPDX-License-Identifier: Apache-2.0
"""Servers that are created with a lease of their own, by a whole Nova."""

import datetime
import json
from typing import Any
from unittest import mock

import fixtures
from nova import context as nova_context
from nova import objects as nova_objects
from nova.compute import api as compute_api
from nova.conductor import api as conductor_api
from nova.tests.functional.api import client as api_client
from oslo_messaging import exceptions as messaging_exc

from nova_reservations import objects
from nova_reservations.db import api as db_api
from nova_reservations.engine.leases import server_leases
from nova_reservations.objects import states
from nova_reservations.tests.functional.nova import base
from nova_reservations.tests.functional.nova import shared

HINTS = 'os:scheduler_hints'
UNKNOWN = 'f0f0f0f0-0000-4000-8000-0000000000f0'


class Killed(BaseException):
    """nova-api is killed: no handler catches this."""


class ServerLeaseTestCase(shared.SharedNova):
    def _install(self, directory) -> None:
        super()._install(directory)
        self.flags(
            resource_types=[objects.HOST, objects.SERVER],
            group='reservations',
        )

    def params(self, hours: float = 1, **changes: Any) -> str:
        end = self.now + datetime.timedelta(hours=hours)
        return json.dumps(
            {
                'name': 'mine',
                'start': 'now',
                'end': end.isoformat(),
                **changes,
            }
        )

    def body(self, key: str = HINTS, **server: Any) -> dict[str, Any]:
        built = self._build_server(networks='none', flavor_id='1')
        return {
            'server': {**built, **server},
            key: {'lease_params': self.params()},
        }

    def carry(self, key: str = HINTS, **server: Any) -> dict[str, Any]:
        """Ask Nova for a server with an hour's lease of its own."""
        return self.api.post_server(self.body(key, **server))

    def only_lease(self) -> objects.Lease:
        [lease] = self.leases()
        return lease

    def leases(self) -> list[objects.Lease]:
        return list(self.services.lease_lists.find(objects.LeaseQuery()))

    def servers_of(self, lease: objects.Lease) -> list[str]:
        reservation = self.services.leases.get(lease.id).server_reservation
        assert reservation is not None
        return [one.uuid for one in reservation.servers]

    def until(self, status: str) -> objects.Lease:
        """Work until the only lease is in this state."""

        def is_so() -> None:
            self.pass_time(seconds=2)
            self.work()
            self.assertEqual(status, self.only_lease().status)

        self._wait_for_assert(is_so)
        return self.only_lease()


class ServerLeaseTest(ServerLeaseTestCase):
    def test_a_server_runs_until_its_lease_is_over(self):
        server = self.carry()
        self.assertEqual([server['id']], self.servers_of(self.only_lease()))
        self._wait_for_state_change(server, 'ACTIVE')
        lease = self.until('ACTIVE')
        self.end_completely(lease)
        self._wait_until_deleted(server)

    def test_a_server_with_a_lease_lands_beside_the_pool(self):
        self.enrol('host1', 'host2')
        server = self._wait_for_state_change(self.carry(), 'ACTIVE')
        self.assertEqual('host3', self.host_of(server))

    def test_nova_keeps_by_which_lease_it_was_asked(self):
        server = self._wait_for_state_change(self.carry(), 'ACTIVE')
        spec = nova_objects.RequestSpec.get_by_instance_uuid(
            nova_context.get_admin_context(), server['id']
        )
        reservation = self.only_lease().server_reservation
        self.assertEqual(
            reservation.id, spec.get_scheduler_hint('lease_params')
        )

    def test_several_servers_share_one(self):
        answer = self.carry(
            min_count=2, max_count=3, return_reservation_id=True
        )
        self.assertEqual(['reservation_id'], list(answer))
        shown = self.api.get_servers()
        self.assertEqual(
            {server['id'] for server in shown},
            set(self.servers_of(self.only_lease())),
        )
        self.assertEqual(3, len(shown))
        for server in shown:
            self._wait_for_state_change(server, 'ACTIVE')
        lease = self.until('ACTIVE')
        self.end_completely(lease)
        self.assertEqual([], self.api.get_servers())

    def test_fewer_servers_than_wanted_share_a_lease_too(self):
        self.flags(instances=2, group='quota')
        self.carry(min_count=1, max_count=3)
        self.assertEqual(2, len(self.servers_of(self.only_lease())))

    def test_the_hint_works_in_all_microversions(self):
        for version in ('2.1', '2.37', '2.52', '2.74', '2.94', 'latest'):
            with self._microversion(version):
                body = self.body()
                if version == '2.1':
                    # This microversion does not know "none" yet.
                    del body['server']['networks']
                server = self.api.post_server(body)
            self._wait_for_state_change(server, 'ACTIVE')
        self.assertEqual(6, len(self.leases()))

    def _microversion(self, version: str):
        return fixtures.MockPatchObject(self.api, 'microversion', version)

    def test_the_hint_works_by_the_old_key_and_the_old_mount(self):
        self.carry(key='OS-SCH-HNT:scheduler_hints')
        old = api_client.TestOpenStackClient(
            'fake',
            self.api_fixture.base_url.replace('/v2.1', '/v2'),
            project_id=base.MINE,
            roles=['reader', 'member'],
        )
        body = self.body()
        del body['server']['networks']
        server = old.post_server(body)
        self.assertEqual(2, len(self.leases()))
        self._wait_for_state_change(server, 'ACTIVE')

    def test_a_server_with_a_lease_can_be_moved_as_any_server(self):
        server = self._wait_for_state_change(self.carry(), 'ACTIVE')
        before = self.host_of(server)
        self._live_migrate(server)
        self.assertNotEqual(before, self.host_of(server))
        self._migrate_server(server)
        self._confirm_resize(server)
        self.api.post_server_action(server['id'], {'shelve': None})
        self._wait_for_state_change(server, 'SHELVED_OFFLOADED')
        self.api.post_server_action(server['id'], {'unshelve': None})
        self._wait_for_state_change(server, 'ACTIVE')

    def test_a_server_that_finds_no_host_has_a_lease_in_error(self):
        self.enrol(*self.hosts)
        server = self._wait_for_state_change(self.carry(), 'ERROR')
        lease = self.until('ERROR')
        self.assertIn('No valid host', lease.status_reason)
        self.api.delete_server(server['id'])

    def test_a_request_for_no_lease_asks_our_database_nothing(self):
        def fail(_: Any) -> None:
            raise AssertionError

        with (
            fixtures.MockPatchObject(db_api.Database, 'reader', fail),
            fixtures.MockPatchObject(db_api.Database, 'writer', fail),
            mock.patch.object(
                conductor_api.ComputeTaskAPI, 'schedule_and_build_instances'
            ),
        ):
            body = self.body()
            body[HINTS] = {'same_host': UNKNOWN}
            self.api.post_server(body)
        self.assertEqual([], self.leases())


class RefusedTest(ServerLeaseTestCase):
    """Nova refuses the request, or does not answer it."""

    def _assert_nothing_is_left(self) -> None:
        self.assertEqual([], self.leases())
        self.assertEqual([], self.api.get_servers())

    def test_a_request_that_nova_refuses_has_no_lease(self):
        for wrong in (
            {'imageRef': UNKNOWN},
            {'flavorRef': 'none'},
            {'unknown': 'property'},
        ):
            body = self.body(**wrong)
            self.assertEqual(
                400, self.status_of_refusal(self.api.post_server, body)
            )
        self.flags(instances=0, group='quota')
        self.assertEqual(403, self.status_of_refusal(self.carry))
        self._assert_nothing_is_left()

    def test_servers_that_nova_takes_back_leave_nothing(self):
        self.flags(server_group_members=1, group='quota')
        group = self.api.post_server_groups(
            {'name': 'a', 'policy': 'anti-affinity'}
        )
        body = self.body(min_count=2, max_count=2)
        body[HINTS]['group'] = group['id']
        self.assertEqual(
            403, self.status_of_refusal(self.api.post_server, body)
        )
        self._assert_nothing_is_left()

    def test_servers_that_nova_forgets_are_deleted(self):
        with fixtures.MockPatchObject(
            conductor_api.ComputeTaskAPI,
            'schedule_and_build_instances',
            side_effect=messaging_exc.MessageDeliveryFailure('no broker'),
        ):
            self.assertEqual(500, self.status_of_refusal(self.carry))
        self.assertEqual(1, len(self.api.get_servers()))

        def is_gone() -> None:
            self.pass_time(seconds=2)
            self.work()
            self._assert_nothing_is_left()

        self._wait_for_assert(is_gone)

    def test_a_killed_api_leaves_a_lease_of_what_it_made(self):
        with fixtures.MockPatchObject(
            server_leases.ServerLeases, 'accept', side_effect=Killed
        ):
            self.assertRaises(Killed, self.carry)
        [server] = self.api.get_servers()
        self._wait_for_state_change(server, 'ACTIVE')
        self.assertEqual(states.Lease.CREATING, self.only_lease().status)
        self.pass_time(minutes=5)
        lease = self.until('ACTIVE')
        self.assertEqual([server['id']], self.servers_of(lease))
        self.end_completely(lease)

    def test_a_killed_api_that_made_nothing_leaves_none_behind(self):
        with (
            fixtures.MockPatchObject(
                compute_api.API, '_provision_instances', side_effect=Killed
            ),
            fixtures.MockPatchObject(
                server_leases.ServerLeases, 'refuse', side_effect=Killed
            ),
        ):
            self.assertRaises(Killed, self.carry)
        self.assertEqual([], self.api.get_servers())
        self.pass_time(minutes=5)
        self.until('ERROR')

    def test_a_request_that_comes_too_late_gets_no_server(self):
        """The request is stopped for longer than its lease waits."""
        original = compute_api.API._provision_instances

        def slow(api: Any, *args: Any, **kwargs: Any) -> Any:
            self.pass_time(minutes=6)
            self.work()
            return original(api, *args, **kwargs)

        with fixtures.MonkeyPatch(
            'nova.compute.api.API._provision_instances', slow
        ):
            self.assertEqual(409, self.status_of_refusal(self.carry))
        self.assertEqual([], self.api.get_servers())
        self.assertEqual(states.Lease.ERROR, self.only_lease().status)


class SchedulerAloneTest(ServerLeaseTestCase):
    """Requests that nova-api would have refused reach the scheduler."""

    api_is_ours = False

    def why_not_with(self, hint: str) -> str:
        body = self.body()
        body[HINTS] = {'lease_params': hint}
        return self.fault_of(self.api.post_server(body))

    def test_a_lease_that_does_not_stand_lets_nobody_in(self):
        self.assertIn('is of no lease', self.why_not_with(self.params()))
        self.assertIn('is of no lease', self.why_not_with(UNKNOWN))
        self.enrol('host1')
        theirs = self.lease(project_id=base.OTHERS)
        self.assertIn(
            'is of no lease', self.why_not_with(theirs.reservations[0].id)
        )
