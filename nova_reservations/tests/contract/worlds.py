# SPDX-License-Identifier: Apache-2.0
"""The clouds on which tests check the contract, and the actions of users and
administrators on them."""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import dataclasses
import datetime
import uuid

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.testing import fake_cloud
from nova_reservations.testing import fake_moves
from nova_reservations.tests.functional.nova import base

HOSTS = ('host1', 'host2', 'host3', 'host4')
"""The last one is in another cell."""
PROJECT = base.MINE
OTHERS = base.OTHERS

RESERVATION = 'c0c0c0c0-0000-4000-8000-0000000000c0'
DATABASE = 'd0d0d0d0-0000-4000-8000-0000000000d0'

CPU_INFO = '{"topology": {"cores": 1}}'
SLOT = ports.Flavor(vcpus=1, memory_mb=512, root_gb=1)


def go_on() -> None:
    """Check a claim that still stands."""


def lost() -> None:
    raise exception.ClaimLost(id='lease', worker='me')


class World:
    """:ivar cloud: the ports.
    :ivar hosts: four hosts that are not enrolled, and that are empty.
    :ivar now: the time of the engine.
    """

    cloud: ports.Cloud
    now: datetime.datetime

    def __init__(self) -> None:
        self.hosts = [self.host(name) for name in HOSTS]

    def host(self, name: str) -> objects.Resource:
        [host] = self.cloud.hosts.find_hosts(name)
        return host

    def known(self, server: str) -> ports.Server:
        [found] = self.cloud.servers.find_servers([server]).values()
        return found

    def eventually(self, holds: Callable[[], bool]) -> None:
        """Wait until Nova has done what it was asked for."""
        raise NotImplementedError

    # Actions of users

    def boot(self, host: objects.Resource) -> str:
        """Return a server of PROJECT that runs on the host."""
        raise NotImplementedError

    def begin_to_build(self, reservation_id: str | None = None) -> str:
        """Return a server that no host has been chosen for yet."""
        raise NotImplementedError

    def fail_to_build(self) -> str:
        """Return a server that no host has been found for."""
        raise NotImplementedError

    def being_deleted(
        self, server: str, migrates: bool = False
    ) -> contextlib.AbstractContextManager[None]:
        """Begin to delete a server, which stays until the block is left.

        :param migrates: whether the server was about to be cold migrated
        """
        raise NotImplementedError

    def start(self, server: str) -> None:
        raise NotImplementedError

    def stop(self, server: str) -> None:
        raise NotImplementedError

    def shelve(self, server: str) -> None:
        raise NotImplementedError

    # Leases

    def enrol(self, host: objects.Resource) -> None:
        raise NotImplementedError

    def lease(self) -> str:
        """Return a reservation of the first host; its lease has begun."""
        raise NotImplementedError

    def boot_in(self, reservation_id: str) -> str:
        """Return a server that runs on the host of the reservation."""
        raise NotImplementedError

    def lease_slots(self) -> str:
        """Return a reservation of two slots on the first host; its lease has
        begun."""
        raise NotImplementedError

    def boot_in_slot(self, reservation_id: str) -> str:
        raise NotImplementedError

    def resize_away(self, server: str) -> str:
        """Resize a server to an ordinary flavor; return the UUID of the host
        that it comes to. The resize is not confirmed."""
        raise NotImplementedError

    # Actions of administrators

    def disable(self, host: objects.Resource, by_nova: bool = False) -> None:
        raise NotImplementedError

    def force_down(self, host: objects.Resource) -> None:
        raise NotImplementedError

    def silent_at(self) -> datetime.datetime:
        """Return a time at which all hosts have been silent for long."""
        raise NotImplementedError

    def gather(self, name: str, host: objects.Resource) -> None:
        """Put the host into an aggregate that is not ours."""
        raise NotImplementedError

    def move_to_zone(self, host: objects.Resource, name: str) -> None:
        raise NotImplementedError

    def tag(self, host: objects.Resource, key: str, value: str) -> None:
        """Put the host into an aggregate with this in its metadata."""
        raise NotImplementedError

    def make_flavor(self, flavor_id: str, *projects: str) -> None:
        """Make a flavor of one VCPU: for these projects, or public."""
        raise NotImplementedError

    def reset_to_error(self, server: str) -> None:
        raise NotImplementedError

    def have_no_room(self, server: str) -> None:
        """Leave no other host for the server."""
        raise NotImplementedError

    def have_room(self, server: str) -> None:
        raise NotImplementedError

    def distrust(self) -> None:
        """Take away the credentials to act for projects."""
        raise NotImplementedError

    # Actions of others

    def claim(self, host: objects.Resource) -> str:
        """Return a consumer of placement that has an allocation on the host,
        and is no server."""
        raise NotImplementedError

    def claim_slot(self, reservation_id: str, host: objects.Resource) -> str:
        """Return a consumer of placement that holds a slot on the host, and
        is no server."""
        raise NotImplementedError

    def claim_unbuilt(self, host: objects.Resource) -> str:
        """Return a server that Nova gave up before it was built, and whose
        allocation Nova has left in placement."""
        raise NotImplementedError

    def make_foreign_slots(self, reservation_id: str) -> None:
        """Make the resource class and flavor that Blazar would make."""
        raise NotImplementedError

    def failing(self, server: str) -> contextlib.AbstractContextManager[None]:
        """Let the actions of hosts on the server fail inside the block."""
        raise NotImplementedError

    # Observations

    def images(self, server: str) -> Sequence[str]:
        """Return the owners of the images that were made of the server."""
        raise NotImplementedError

    def may_use(self, project_id: str, flavor_id: str) -> bool:
        raise NotImplementedError

    def group_policy(self, reservation_id: str) -> str | None:
        raise NotImplementedError


class Fake(World):
    cloud: fake_cloud.FakeCloud

    def __init__(self) -> None:
        self.cloud = fake_cloud.FakeCloud(*HOSTS)
        self.cloud.cells[HOSTS[-1]] = 'another cell'
        self.now = datetime.datetime.now(datetime.UTC)
        super().__init__()

    def eventually(self, holds: Callable[[], bool]) -> None:
        # The caller's condition may ask for the action itself; so it is
        # called twice.
        assert holds() or holds()

    def boot(self, host: objects.Resource) -> str:
        return self.cloud.boot(host.name, PROJECT)

    def begin_to_build(self, reservation_id: str | None = None) -> str:
        return self._unbuilt('building', reservation_id)

    def fail_to_build(self) -> str:
        return self._unbuilt('error', None)

    def _unbuilt(self, state: str, reservation_id: str | None) -> str:
        server = str(uuid.uuid4())
        self.cloud.build(server, PROJECT, state)
        if reservation_id is not None:
            self.cloud.hints[server] = reservation_id
        return server

    @contextlib.contextmanager
    def being_deleted(
        self, server: str, migrates: bool = False
    ) -> Iterator[None]:
        if migrates:
            self.cloud.preparing.add(server)
        self.cloud.slow_servers.add(server)
        self.cloud.begin(self.cloud.instances[server], 'deleting')
        yield
        self.cloud.finish_tasks()

    def start(self, server: str) -> None:
        self._set_state(server, 'active')

    def stop(self, server: str) -> None:
        self._set_state(server, 'stopped')

    def _set_state(self, server: str, state: str) -> None:
        self.cloud.instances[server] = dataclasses.replace(
            self.cloud.instances[server], state=state
        )

    def shelve(self, server: str) -> None:
        self.cloud.begin(self.cloud.instances[server], 'shelving')

    def enrol(self, host: objects.Resource) -> None:
        self.cloud.aggregates.ensure_pool()
        self.cloud.aggregates.mark(host)
        self.cloud.aggregates.join_pool(host)

    def lease(self) -> str:
        self.enrol(self.hosts[0])
        self.cloud.aggregates.set_aggregate_hosts(
            RESERVATION, PROJECT, self.hosts[:1], go_on, DATABASE
        )
        return RESERVATION

    def boot_in(self, reservation_id: str) -> str:
        return self.boot(self.hosts[0])

    def lease_slots(self) -> str:
        self.lease()
        slots = ports.ReservedSlots(
            RESERVATION, PROJECT, 'user', SLOT, None, ((self.hosts[0], 2),)
        )
        self.cloud.slots.ensure_slots(slots, go_on)
        self.cloud.slots.allow_flavor(slots, go_on)
        return RESERVATION

    def boot_in_slot(self, reservation_id: str) -> str:
        server = self.boot(self.hosts[0])
        self.cloud.reservation_of[server] = reservation_id
        return server

    def resize_away(self, server: str) -> str:
        fake_moves.begin(
            self.cloud,
            server,
            fake_moves.Place(self.hosts[1].name),
            fake_moves.VERIFIED,
        )
        return self.hosts[1].uuid

    def disable(self, host: objects.Resource, by_nova: bool = False) -> None:
        self.cloud.services[host.name] = ports.ComputeService(
            up=True, disabled=True, forced_down=False, gave_up=by_nova
        )

    def force_down(self, host: objects.Resource) -> None:
        self.cloud.fail(host.name, forced_down=True)

    def silent_at(self) -> datetime.datetime:
        for host in self.hosts:
            self.cloud.fail(host.name)
        return self.now

    def gather(self, name: str, host: objects.Resource) -> None:
        self.cloud.members = {host.name}

    def move_to_zone(self, host: objects.Resource, name: str) -> None:
        self.cloud.known[host.name] = dataclasses.replace(
            self.cloud.known[host.name], availability_zone=name
        )

    def tag(self, host: objects.Resource, key: str, value: str) -> None:
        known = self.cloud.known[host.name]
        values = ','.join(sorted(map(str.strip, value.split(','))))
        specs = {**dict(known.specs), 'cpu_info': CPU_INFO}
        if not key.startswith('filter_tenant_id'):
            specs[f'aggregate_instance_extra_specs:{key}'] = values
        self.cloud.known[host.name] = dataclasses.replace(
            known,
            specs=tuple(sorted(specs.items())),
            aggregates=f'{known.aggregates}{key}={value}',
        )

    def make_flavor(self, flavor_id: str, *projects: str) -> None:
        self.cloud.known_flavors[flavor_id] = ports.KnownFlavor(
            flavor_id,
            f'name of {flavor_id}',
            not projects,
            SLOT,
            {'VCPU': 1, 'MEMORY_MB': 512, 'DISK_GB': 1},
            frozenset(),
            frozenset(),
        )
        self.cloud.flavor_projects[flavor_id] = set(projects)

    def reset_to_error(self, server: str) -> None:
        self._set_state(server, 'error')

    def have_no_room(self, server: str) -> None:
        self.cloud.homeless.add(server)
        self.cloud.rooms['elsewhere'] = 0

    def have_room(self, server: str) -> None:
        self.cloud.homeless.discard(server)
        self.cloud.rooms['elsewhere'] = 1

    def distrust(self) -> None:
        self.cloud.trusted = False

    def claim(self, host: objects.Resource) -> str:
        consumer = str(uuid.uuid4())
        self.cloud.leftovers[host.name].add(consumer)
        return consumer

    def claim_slot(self, reservation_id: str, host: objects.Resource) -> str:
        consumer = str(uuid.uuid4())
        self.cloud.stuck[reservation_id] = {consumer}
        return consumer

    def claim_unbuilt(self, host: objects.Resource) -> str:
        server = str(uuid.uuid4())
        self.cloud.instances[server] = ports.Server(
            server, PROJECT, host.name, 'error', unbuilt=True
        )
        return server

    def make_foreign_slots(self, reservation_id: str) -> None:
        self.cloud.classes[reservation_id] = {}
        self.cloud.foreign.add(reservation_id)

    @contextlib.contextmanager
    def failing(self, server: str) -> Iterator[None]:
        self.cloud.broken.add(server)
        self.cloud.undeletable.add(server)
        yield
        self.cloud.broken.discard(server)
        self.cloud.undeletable.discard(server)

    def images(self, server: str) -> Sequence[str]:
        return [PROJECT for made, _ in self.cloud.images if made == server]

    def may_use(self, project_id: str, flavor_id: str) -> bool:
        return self.cloud.admitted.get(
            flavor_id
        ) == project_id or project_id in self.cloud.flavor_sharers.get(
            flavor_id, ()
        )

    def group_policy(self, reservation_id: str) -> str | None:
        affinity = self.cloud.groups.get(reservation_id)
        return {True: 'affinity', False: 'anti-affinity', None: None}[affinity]
