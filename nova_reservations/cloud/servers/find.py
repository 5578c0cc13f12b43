# SPDX-License-Identifier: Apache-2.0
"""Servers on hosts, or on their way there."""

# Nova's objects get their names only when the process registers them.
from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
import datetime

from nova import context as nova_context
from nova import exception as nova_exception
from nova import objects as nova_objects
from nova.compute import task_states
from nova.compute import vm_states

from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.cloud import cells
from nova_reservations.cloud import errors
from nova_reservations.cloud import parallel
from nova_reservations.cloud.placement import placement
from nova_reservations.cloud.servers import request_specs

# A server in one of these task states that also has an allocation of another
# host is on its way to that host. In any other state it was evacuated from
# that host, which has not come back yet to delete the allocation.
MOVING = frozenset(
    {
        task_states.MIGRATING,
        task_states.REBUILDING,
        task_states.REBUILD_BLOCK_DEVICE_MAPPING,
        task_states.REBUILD_SPAWNING,
        task_states.RESIZE_FINISH,
        task_states.RESIZE_MIGRATED,
        task_states.RESIZE_MIGRATING,
        task_states.RESIZE_PREP,
        task_states.RESIZE_REVERTING,
    }
)


_HOSTS_AT_ONCE = 100
"""The maximum number of hosts in one query. If a whole cell fails, its servers
are too many for one answer."""


@dataclasses.dataclass(frozen=True, slots=True)
class Instance:
    """:ivar consumer: the UUID of the consumer of its allocations: its own, or
    that of a migration."""

    consumer: str
    uuid: str
    project_id: str
    host: str | None
    vm_state: str
    task_state: str | None
    written_at: datetime.datetime | None = None
    launched_at: datetime.datetime | None = None

    def on(self, host: str) -> ports.Server:
        return ports.Server(
            self.uuid,
            self.project_id,
            host,
            self.vm_state,
            self.task_state,
            written_at=self.written_at,
            unbuilt=self._is_unbuilt(),
        )

    def _is_unbuilt(self) -> bool:
        return self.vm_state == vm_states.ERROR and not (
            self.host or self.task_state or self.launched_at
        )


def occupancy(
    hosts: Collection[objects.Resource],
) -> Mapping[str, ports.Occupancy]:
    if not hosts:
        return {}
    names = sorted({host.name for host in hosts})
    # Nova first, then placement. A server that arrives on the host in between
    # had its claim before it arrived, so its claim is seen in placement.
    servers: dict[str, dict[str, ports.Server]] = {name: {} for name in names}
    for instance in cells.ask(cells.of_hosts(names), _on_hosts).all():
        # Some databases ignore the case of names.
        if instance.host in servers:
            servers[instance.host][instance.uuid] = instance.on(instance.host)
    held: dict[str, set[str]] = {name: set() for name in names}
    for host, consumers in parallel.pairs(
        lambda host: placement.consumers(host.uuid), hosts
    ):
        held[host.name] |= consumers
    leftovers = resolve(held, servers)
    found = {
        name: ports.Occupancy(
            servers=tuple(servers[name].values()),
            leftovers=tuple(leftovers[name]),
        )
        for name in names
    }
    for name in _replaced(
        [host for host in hosts if not found[host.name].empty]
    ):
        found[name] = ports.Occupancy(())
    return found


@errors.translated()
def let_in(reservation_id: str, servers: Collection[str]) -> Collection[str]:
    return request_specs.hinted(objects.HINT, reservation_id, servers)


def release_claims(
    servers: Collection[ports.Server], check: ports.Check
) -> None:
    for server in servers:
        check()
        placement.keep_allocations(server.uuid, lambda *_: False)


@errors.translated()
def find_servers(servers: Collection[str]) -> Mapping[str, ports.Server]:
    if not servers:
        return {}
    wanted = sorted(servers)
    found = _in_their_cells(wanted)
    building = _not_in_a_cell([uuid for uuid in wanted if uuid not in found])
    found |= {instance.uuid: instance.on('') for instance in building}
    # A server that got its cell between these queries was found by neither.
    unseen = [uuid for uuid in wanted if uuid not in found]
    return found | _in_their_cells(unseen)


def heard_servers(servers: Collection[str]) -> Mapping[str, ports.Server]:
    if not servers:
        return {}
    answers = cells.ask(cells.of_servers(servers), _known_with_flavors)
    return {server.uuid: server for server in answers.found}


def servers_at(hosts: Collection[str]) -> Mapping[str, ports.Server]:
    found: dict[str, ports.Server] = {}
    for some in cells.batches(hosts, _HOSTS_AT_ONCE):
        found |= {
            instance.uuid: instance.on(instance.host or '')
            for instance in cells.ask(cells.of_hosts(some), _on_hosts).found
            # Some databases compare names without regard to case.
            if instance.host in hosts
        }
    return found


def inhabited(hosts: Collection[str]) -> Collection[str]:
    found = cells.ask(cells.of_hosts(hosts), _on_hosts).all()
    # Some databases ignore the case of names.
    there = {instance.host for instance in found}
    return [name for name in hosts if name in there]


@errors.translated()
def gone_servers(servers: Collection[str]) -> Collection[str]:
    if not servers:
        return frozenset()
    mappings = nova_objects.InstanceMappingList.get_by_instance_uuids(
        nova_context.get_admin_context(), sorted(servers)
    )
    kept = {
        mapping.instance_uuid
        for mapping in mappings
        # queued_for_delete means that the deletion was requested; it may have
        # failed.
        if not mapping.queued_for_delete
    }
    doubtful = frozenset(servers) - kept
    # Servers in a cell that does not answer are not known to be gone.
    answers = cells.ask(cells.of_servers(doubtful), _known)
    doubtful -= {server.uuid for server in answers.found} | answers.unheard
    return doubtful - find_servers(doubtful).keys()


def _in_their_cells(servers: Sequence[str]) -> dict[str, ports.Server]:
    """Return UUID -> server, of the servers that have a cell; cell0, which has
    those that found no host, is queried, too."""
    if not servers:
        return {}
    found = cells.ask(cells.of_servers(servers), _known).all()
    return {server.uuid: server for server in found}


def _known(
    context: nova_context.RequestContext, servers: Sequence[str]
) -> list[ports.Server]:
    return _with_faults(context, instances(context, uuid=list(servers)))


def _known_with_flavors(
    context: nova_context.RequestContext, servers: Sequence[str]
) -> list[ports.Server]:
    found = with_flavors(context, uuid=list(servers))
    known = _with_faults(context, [instance for instance, _ in found])
    return [
        dataclasses.replace(server, flavor=flavor.name)
        for server, (_, flavor) in zip(known, found, strict=True)
    ]


def _with_faults(
    context: nova_context.RequestContext, found: Sequence[Instance]
) -> list[ports.Server]:
    broken = [
        instance.uuid
        for instance in found
        if instance.vm_state == vm_states.ERROR
    ]
    latest = nova_objects.InstanceFaultList.get_latest_by_instance_uuids(
        context, broken
    )
    faults = {fault.instance_uuid: fault.message for fault in latest}
    return [
        dataclasses.replace(
            instance.on(instance.host or ''), fault=faults.get(instance.uuid)
        )
        for instance in found
    ]


def resolve(
    held: Mapping[str, Collection[str]],
    servers: Mapping[str, dict[str, ports.Server]],
) -> Mapping[str, list[str]]:
    """Add the servers of these consumers; return the consumers without one.

    Servers that count elsewhere get their ``moved_to``.

    :param held: host -> the consumers that hold something there
    :param servers: host -> UUID -> server that Nova has there; to which others
        are added
    """
    leftovers: dict[str, list[str]] = defaultdict(list)
    unseen = {host: held[host] - servers[host].keys() for host in held}
    wanted = sorted(set().union(*unseen.values()))
    if not wanted:
        return leftovers
    known = {
        instance.consumer: instance
        for instance in (
            *_of_consumers(unseen, wanted),
            *_not_in_a_cell(wanted),
        )
    }
    sources = set()
    for host, consumers in unseen.items():
        for consumer in sorted(consumers):
            instance = known.get(consumer)
            if instance is None:
                leftovers[host].append(consumer)
            elif _left(instance, host):
                leftovers[host].append(
                    f'server {instance.uuid}, which is on {instance.host} now,'
                )
            else:
                servers[host].setdefault(instance.uuid, instance.on(host))
                if instance.uuid not in held[host]:
                    sources.add((host, instance.uuid))
    moved = sorted({server for _, server in sources})
    targets = dict(parallel.pairs(_roots, moved))
    for host, server in sources:
        servers[host][server] = dataclasses.replace(
            servers[host][server], moved_to=targets[server]
        )
    return leftovers


def _roots(server: str) -> frozenset[str]:
    """Return the root providers of a server's own allocation."""
    held = placement.request('get', f'/allocations/{server}').json()
    return frozenset(placement.roots(held['allocations']))


def _left(instance: Instance, host: str) -> bool:
    return (
        instance.consumer == instance.uuid
        and instance.host not in (None, host)
        and instance.task_state not in MOVING
    )


def _replaced(hosts: Collection[objects.Resource]) -> set[str]:
    """Return the service hosts of which Nova has another compute node now,
    and not that of the host any more: another machine has the name, and what
    is on it is not on the host."""
    if not hosts:
        return set()
    node_of = {host.name: host.uuid for host in hosts}
    of_now: dict[str, set[str]] = defaultdict(set)
    for node in cells.ask(cells.of_hosts(node_of), _nodes_at).all():
        of_now[node.host].add(node.uuid)
    others = {
        name: uuid
        for name, uuid in node_of.items()
        if of_now[name] and uuid not in of_now[name]
    }
    if not others:
        return set()
    # A service that has several nodes can leave one to another service.
    found = cells.ask(cells.everywhere(sorted(others.values())), nodes).all()
    known = {node.uuid for node in found}
    return {name for name, uuid in others.items() if uuid not in known}


def nodes(
    context: nova_context.RequestContext, uuids: Sequence[str]
) -> list[nova_objects.ComputeNode]:
    return list(
        nova_objects.ComputeNodeList.get_all_by_uuids(context, list(uuids))
    )


def _nodes_at(
    context: nova_context.RequestContext, names: Sequence[str]
) -> list[nova_objects.ComputeNode]:
    found: list[nova_objects.ComputeNode] = []
    for name in names:
        with contextlib.suppress(nova_exception.ComputeHostNotFound):
            found.extend(
                nova_objects.ComputeNodeList.get_all_by_host(context, name)
            )
    return found


def _on_hosts(
    context: nova_context.RequestContext, names: Sequence[str]
) -> list[Instance]:
    return instances(context, host=list(names))


def _of_consumers(
    hosts: Collection[str], consumers: Sequence[str]
) -> list[Instance]:
    """Return the instances that are consumers, or whose migrations are."""
    # A migration is in the cell of its hosts.
    concerned = [
        (cell, consumers)
        for cell, _ in cells.together(
            cells.of_hosts(hosts), cells.of_servers(consumers)
        )
    ]
    migrations: dict[str, str] = {}
    found: dict[str, Instance] = {}
    for known in cells.ask(concerned, _consuming).all():
        if isinstance(known, Instance):
            found[known.uuid] = known
        else:
            migrations.update([known])
    # After a resize to another cell, the migration is in both.
    away = sorted(set(migrations.values()) - found.keys())
    if away:
        more = cells.ask(
            cells.of_servers(away),
            lambda context, uuids: instances(context, uuid=list(uuids)),
        )
        found |= {instance.uuid: instance for instance in more.all()}
    return [
        *found.values(),
        *(
            dataclasses.replace(found[uuid], consumer=consumer)
            for consumer, uuid in migrations.items()
            if uuid in found
        ),
    ]


def _consuming(
    context: nova_context.RequestContext, consumers: Sequence[str]
) -> list[Instance | tuple[str, str]]:
    """Return a cell's migrations with these UUIDs, as (migration, server), and
    the instances with them, or with those migrations."""
    migrations = {
        migration.uuid: migration.instance_uuid
        for migration in nova_objects.MigrationList.get_by_filters(
            context, {'uuid': list(consumers)}
        )
    }
    found = instances(context, uuid=sorted({*consumers, *migrations.values()}))
    return [*found, *migrations.items()]


def instances(
    context: nova_context.RequestContext, **filters: Collection[str | int]
) -> list[Instance]:
    """Return instances of a cell; also soft-deleted ones, which are still on
    their hosts."""
    return list(map(_read, existing(context, [], filters)))


def with_flavors(
    context: nova_context.RequestContext, **filters: Collection[str | int]
) -> list[tuple[Instance, nova_objects.Flavor]]:
    """Return what instances() does, each with the flavor that Nova has stored
    with it."""
    return [
        (_read(instance), instance.flavor)
        for instance in existing(context, ['flavor'], filters)
    ]


def existing(
    context: nova_context.RequestContext,
    attributes: list[str],
    filters: Mapping[str, Collection[str | int]],
) -> Sequence[nova_objects.Instance]:
    found: Sequence[nova_objects.Instance] = (
        nova_objects.InstanceList.get_by_filters(
            context,
            {**filters, 'deleted': False, 'soft_deleted': True},
            expected_attrs=attributes,
        )
    )
    return found


def _read(instance: nova_objects.Instance) -> Instance:
    return Instance(
        consumer=instance.uuid,
        uuid=instance.uuid,
        project_id=instance.project_id,
        host=instance.host,
        vm_state=instance.vm_state,
        task_state=instance.task_state,
        written_at=instance.updated_at or instance.created_at,
        launched_at=instance.launched_at,
    )


@errors.translated()
def _not_in_a_cell(consumers: list[str]) -> list[Instance]:
    """Return servers that have claimed a host, and have no cell yet."""
    context = nova_context.get_admin_context()
    return [
        Instance(
            consumer=mapping.instance_uuid,
            uuid=mapping.instance_uuid,
            project_id=mapping.project_id,
            host=None,
            vm_state='building',
            task_state='scheduling',
        )
        for mapping in nova_objects.InstanceMappingList.get_by_instance_uuids(
            context, consumers
        )
        if mapping.cell_mapping is None
        and _is_being_built(context, mapping.instance_uuid)
    ]


def _is_being_built(context: nova_context.RequestContext, uuid: str) -> bool:
    try:
        nova_objects.BuildRequest.get_by_instance_uuid(context, uuid)
    except nova_exception.BuildRequestNotFound:
        return False
    return True
