# SPDX-License-Identifier: Apache-2.0
"""A whole Nova, with which the tests check the contract."""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import datetime
import threading
import uuid

import fixtures
from nova import exception as nova_exception
from nova.conductor import manager
from nova.tests.functional.api import client as api_client
from nova.virt import fake

from nova_reservations import objects
from nova_reservations.tests.contract import worlds
from nova_reservations.tests.functional.nova import test_instances


class Started(test_instances.InstancesTestCase):
    """A Nova that is started once, and reset for each test."""

    NUMBER_OF_CELLS = 2
    hosts = worlds.HOSTS
    far_hosts = hosts[-1:]

    def setUp(self) -> None:
        super().setUp()
        # The product sends most requests in the name of a project.
        self.trust()

    def runTest(self) -> None:
        """Do nothing: the class has no test of its own."""


class Nova(worlds.World):
    def __init__(self, nova: Started) -> None:
        self.nova = nova
        self.cloud = nova.services.hosts.cloud
        self.now = nova.now
        super().__init__()

    def eventually(self, holds: Callable[[], bool]) -> None:
        # On a busy machine this takes longer than Nova's tests wait.
        self.nova._wait_for_assert(
            lambda: self.nova.assertTrue(holds()), max_retries=600, sleep=0.1
        )

    def boot(self, host: objects.Resource) -> str:
        return self.nova.boot(az=f'nova:{host.name}')['id']

    def begin_to_build(self, reservation_id: str | None = None) -> str:
        with fixtures.MonkeyPatch(
            'nova.conductor.api.ComputeTaskAPI.schedule_and_build_instances',
            lambda *args, **kwargs: None,
        ):
            return self.nova.post(hint=reservation_id)['id']

    def fail_to_build(self) -> str:
        huge = self.nova._create_flavor(memory_mb=40_000)
        server = self.nova.post(flavor_id=huge)
        return self.nova._wait_for_state_change(server, 'ERROR')['id']

    @contextlib.contextmanager
    def being_deleted(
        self, server: str, migrates: bool = False
    ) -> Iterator[None]:
        casts = 'nova.compute.rpcapi.ComputeAPI'
        chosen = threading.Event()
        with (
            fixtures.MonkeyPatch(
                f'{casts}.prep_resize', lambda *args, **kwargs: chosen.set()
            ),
            fixtures.MonkeyPatch(
                f'{casts}.terminate_instance', lambda *args, **kwargs: None
            ),
            # On a busy machine nova-compute reports late, and seems down.
            fixtures.MonkeyPatch(
                'nova.servicegroup.API.service_is_up', lambda *args: True
            ),
        ):
            if migrates:
                self.nova.admin_api.post_server_action(
                    server, {'migrate': None}
                )
                assert chosen.wait(30)
            self.nova.api.delete_server(server)
            yield

    def start(self, server: str) -> None:
        self.nova.api.post_server_action(server, {'os-start': None})
        self.nova._wait_for_state_change({'id': server}, 'ACTIVE')

    def stop(self, server: str) -> None:
        self.nova._stop_server({'id': server})

    def shelve(self, server: str) -> None:
        self.nova.api.post_server_action(server, {'shelve': None})
        # Nova clears the host a moment after it sets the status.
        self.nova._wait_for_server_parameter(
            {'id': server},
            {'status': 'SHELVED_OFFLOADED', 'OS-EXT-SRV-ATTR:host': None},
        )

    def enrol(self, host: objects.Resource) -> None:
        self.nova.enrol(host.name)

    def lease(self) -> str:
        self.enrol(self.hosts[0])
        [reservation] = self.nova.lease().reservations
        return reservation.id

    def boot_in(self, reservation_id: str) -> str:
        return self.nova.boot(hint=reservation_id)['id']

    def lease_slots(self) -> str:
        self.enrol(self.hosts[0])
        [reservation] = self.nova.slots(2).reservations
        return reservation.id

    def boot_in_slot(self, reservation_id: str) -> str:
        return self.nova.boot(flavor_id=reservation_id)['id']

    def resize_away(self, server: str) -> str:
        self.make_flavor('plain')
        self.nova._resize_server({'id': server}, 'plain')
        return self.host(self.known(server).host).uuid

    def disable(self, host: objects.Resource, by_nova: bool = False) -> None:
        reason = {'disabled_reason': 'AUTO: broken'} if by_nova else {}
        self._set_service(host, {'status': 'disabled', **reason})

    def force_down(self, host: objects.Resource) -> None:
        self._set_service(host, {'forced_down': True})

    def _set_service(
        self, host: objects.Resource, change: dict[str, object]
    ) -> None:
        service = self.nova.computes[host.name].service_ref
        self.nova.admin_api.put_service(service.uuid, change)

    def silent_at(self) -> datetime.datetime:
        return self.now + datetime.timedelta(days=100)

    def gather(self, name: str, host: objects.Resource) -> None:
        aggregate = self.nova.admin_api.post_aggregate(
            {'aggregate': {'name': name}}
        )
        self.nova.admin_api.add_host_to_aggregate(aggregate['id'], host.name)

    def move_to_zone(self, host: objects.Resource, name: str) -> None:
        aggregate = self.nova._create_aggregate(name, availability_zone=name)
        self.nova.admin_api.add_host_to_aggregate(aggregate, host.name)

    def tag(self, host: objects.Resource, key: str, value: str) -> None:
        api = self.nova.admin_api
        aggregate = self.nova._create_aggregate(f'{host.name} {key}')
        api.add_host_to_aggregate(aggregate, host.name)
        api.api_post(
            f'/os-aggregates/{aggregate}/action',
            {'set_metadata': {'metadata': {key: value}}},
        )

    def make_flavor(self, flavor_id: str, *projects: str) -> None:
        self.nova._create_flavor(
            id=flavor_id,
            vcpu=1,
            memory_mb=512,
            disk=1,
            ephemeral=0,
            is_public=not projects,
        )
        for project in projects:
            self.nova.admin_api.api_post(
                f'/flavors/{flavor_id}/action',
                {'addTenantAccess': {'tenant': project}},
            )

    def reset_to_error(self, server: str) -> None:
        self.nova.admin_api.post_server_action(
            server, {'os-resetState': {'state': 'error'}}
        )

    def have_no_room(self, server: str) -> None:
        for host in self.hosts:
            if host.name != self.known(server).host:
                self.disable(host)

    def have_room(self, server: str) -> None:
        for host in self.hosts:
            self._set_service(host, {'status': 'enabled'})

    def distrust(self) -> None:
        self.nova.useFixture(
            fixtures.MonkeyPatch(
                'nova_reservations.cloud.credentials.plugin', lambda: None
            )
        )

    def claim(self, host: objects.Resource) -> str:
        return self._claim(str(uuid.uuid4()), host.uuid, 'VCPU')

    def claim_slot(self, reservation_id: str, host: objects.Resource) -> str:
        [ours] = [
            provider['uuid']
            for provider in self.nova._get_all_providers()
            if provider['name'] == f'reservations_{host.name}'
        ]
        name = objects.slot_class(reservation_id)
        return self._claim(str(uuid.uuid4()), ours, name)

    def claim_unbuilt(self, host: objects.Resource) -> str:
        # nova-conductor checks the quota again after a host is claimed.
        with fixtures.MockPatchObject(
            manager.ComputeTaskManager,
            '_recheck_quota',
            side_effect=nova_exception.TooManyInstances(
                overs='instances', req=1, used=1, allowed=1
            ),
        ):
            server = self.nova.post(az=f'nova:{host.name}')
            return self.nova._wait_for_state_change(server, 'ERROR')['id']

    def _claim(self, consumer: str, provider: str, name: str) -> str:
        self.nova.placement.put(
            f'/allocations/{consumer}',
            {
                'allocations': {provider: {'resources': {name: 1}}},
                'project_id': worlds.PROJECT,
                'user_id': 'user',
                'consumer_generation': None,
                'consumer_type': 'UNKNOWN',
            },
            version='1.38',
        )
        return consumer

    def make_foreign_slots(self, reservation_id: str) -> None:
        self.nova._create_resource_class(objects.slot_class(reservation_id))
        self.nova._create_flavor(
            id=reservation_id, name=f'reservation:{reservation_id}'
        )

    @contextlib.contextmanager
    def failing(self, server: str) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            for name, error in (
                (
                    'check_can_live_migrate_destination',
                    nova_exception.MigrationPreCheckError(reason='no'),
                ),
                ('snapshot', OSError('disk full')),
                ('destroy', OSError('no answer')),
            ):
                stack.enter_context(
                    fixtures.MockPatchObject(
                        fake.FakeDriver, name, side_effect=error
                    )
                )
            yield

    def images(self, server: str) -> Sequence[str]:
        return [
            image.get('owner')
            for image in self.nova.glance.detail(None)
            if image['properties'].get('instance_uuid') == server
        ]

    def may_use(self, project_id: str, flavor_id: str) -> bool:
        # The client of Nova's tests is an administrator, who may use all
        # flavors.
        member = api_client.TestOpenStackClient(
            'fake',
            self.nova.api_fixture.base_url,
            project_id=project_id,
            roles=['reader', 'member'],
        )
        found = member.api_get(
            f'/flavors/{flavor_id}', check_response_status=[200, 404]
        )
        return bool(found.status == 200)

    def group_policy(self, reservation_id: str) -> str | None:
        found = self.nova.api.api_get(
            f'/os-server-groups/{objects.group_id(reservation_id)}',
            check_response_status=[200, 404],
        )
        return found.body.get('server_group', {}).get('policy')
