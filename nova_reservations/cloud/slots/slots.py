# SPDX-License-Identifier: Apache-2.0
"""Slots of reservations, in Nova and in placement.

The resource class is created first and deleted last, because the leftovers of
a crash are found by it. Its inventories are on a child provider of our own
below each host's provider. The child stays as long as the host exists:
nova-compute has it in its cache, and fails if a cached provider is gone.

Decision 0010: doc/source/decisions/0010-slots-in-placement
"""

# Nova's objects get their names only when the process registers them.
from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from nova import context as nova_context
from nova import exception as nova_exception

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.cloud import cells
from nova_reservations.cloud import errors
from nova_reservations.cloud import parallel
from nova_reservations.cloud.placement import placement
from nova_reservations.cloud.placement import provider_trees
from nova_reservations.cloud.servers import find
from nova_reservations.cloud.servers import request_specs
from nova_reservations.cloud.slots import known_flavors
from nova_reservations.cloud.slots import slot_classes
from nova_reservations.cloud.slots import slot_flavors

PREFIX = 'reservations_'
"""The prefix of our providers' names."""


class Slots:
    @errors.translated()
    def find_flavor(
        self, flavor_id: str, project_id: str
    ) -> ports.KnownFlavor:
        flavor = slot_flavors.find(flavor_id) or slot_flavors.find_named(
            flavor_id
        )
        if (
            flavor is None
            or flavor.disabled
            or not (
                flavor.is_public or project_id in slot_flavors.projects(flavor)
            )
        ):
            raise exception.CloudRefused(
                what=f'Flavor {flavor_id}', reason='it could not be found'
            )
        return known_flavors.known(flavor)

    @errors.translated()
    def ensure_class(self, slots: ports.ReservedSlots) -> None:
        slot_classes.ensure_class(objects.slot_class(slots.reservation_id))

    @errors.translated()
    def ensure_flavor(
        self, slots: ports.ReservedSlots, check: ports.Check
    ) -> None:
        check()
        self.ensure_class(slots)
        if slots.flavor is not None:
            slot_flavors.ensure(slots.reservation_id, slots.flavor, check)
        # Where no slot is offered, none is held.
        slot_flavors.ensure_group(slots, tuple, check)

    @errors.translated()
    def ensure_slots(
        self, slots: ports.ReservedSlots, check: ports.Check
    ) -> None:
        name = objects.slot_class(slots.reservation_id)
        check()
        slot_classes.ensure_class(name)
        wanted = {
            provider_trees.our_child(host.uuid): (host, n)
            for host, n in slots.hosts
        }

        def offer(provider: str) -> None:
            host, count = wanted.get(provider, (None, 0))
            if host is not None:
                slot_classes.ensure_child(
                    host.uuid, provider, f'{PREFIX}{host.name}', check
                )
            slot_classes.set_inventory(provider, name, count, check)

        parallel.each(offer, sorted({*wanted, *slot_classes.offering(name)}))
        if slots.flavor is not None:
            slot_flavors.ensure(slots.reservation_id, slots.flavor, check)
        slot_flavors.ensure_group(slots, lambda: _consumers(slots), check)

    @errors.translated()
    def has_slots(self, slots: ports.ReservedSlots) -> bool:
        if slots.flavor is None:
            offered = self.offered_slots([host for host, _ in slots.hosts])
            return offered.get(slots.reservation_id, {}) == {
                host.name: count for host, count in slots.hosts
            }
        flavor = slot_flavors.find(slots.reservation_id)
        return flavor is not None and slot_flavors.is_as_wanted(
            flavor, slots.reservation_id, slots.flavor
        )

    @errors.translated()
    def allow_flavor(
        self, slots: ports.ReservedSlots, check: ports.Check
    ) -> None:
        if slots.flavor is not None:
            slot_flavors.give_access(slots, check)

    @errors.translated()
    def lacking(self, slots: ports.ReservedSlots) -> Sequence[str]:
        return tuple(slot_flavors.lacking(slots))

    @errors.translated()
    def delete_slots(
        self,
        reservation_id: str,
        hosts: Collection[objects.Resource],
        check: ports.Check,
    ) -> Collection[str]:
        flavor = slot_flavors.find(reservation_id)
        if flavor is not None:
            check()
            slot_flavors.destroy(flavor)
        group = slot_flavors.find_group(objects.group_id(reservation_id))
        if group is not None:
            check()
            slot_flavors.destroy(group)
        name = objects.slot_class(reservation_id)
        if name not in slot_classes.classes():
            return ()
        providers = sorted(
            {
                *(provider_trees.our_child(host.uuid) for host in hosts),
                *slot_classes.offering(name),
            }
        )

        def take(provider: str) -> Collection[str]:
            if slot_classes.set_inventory(provider, name, 0, check):
                return ()
            return slot_classes.holders(provider, name)

        left = set().union(*parallel.each(take, providers))
        if not left:
            check()
            if not slot_classes.delete_class(name):
                return [f'a consumer of {name} on an unexpected host']
        return left

    @errors.translated()
    def withdraw_slots(
        self,
        reservation_id: str,
        hosts: Collection[objects.Resource],
        check: ports.Check,
    ) -> Collection[str]:
        name = objects.slot_class(reservation_id)

        def take(host: objects.Resource) -> bool:
            provider = provider_trees.our_child(host.uuid)
            return slot_classes.set_inventory(provider, name, 0, check)

        return {
            host.name
            for host, is_gone in parallel.pairs(take, hosts)
            if not is_gone
        }

    def servers_in_slots(
        self,
        reservation_id: str,
        hosts: Collection[objects.Resource],
        servers: Collection[str],
        chosen: Collection[str] = (),
    ) -> ports.Occupancy:
        # Nova first, then placement: see find.occupancy.
        found = _with_flavor(reservation_id, hosts)
        for server, named in _recorded(servers):
            is_last = named == {reservation_id} or (
                not named and server.uuid in chosen
            )
            if is_last and not (hosts and server.host):
                found.setdefault(server.uuid, server)
        held = _holders(reservation_id, hosts)
        on_hosts = {
            host: {
                server.uuid: server
                for server in found.values()
                if server.host == host
            }
            for host in held
        }
        leftovers = find.resolve(held, on_hosts)
        own = set().union(*held.values())
        for more in on_hosts.values():
            for server in more.values():
                if server.uuid in own:
                    # It is moved within the reservation.
                    server = dataclasses.replace(server, moved_to=frozenset())
                    found.setdefault(server.uuid, server)
                else:
                    found[server.uuid] = server
        return ports.Occupancy(
            servers=tuple(found.values()),
            leftovers=tuple(
                consumer
                for host in sorted(leftovers)
                for consumer in leftovers[host]
            ),
        )

    def slots_taken(self, reservation_id: str, project_id: str) -> int:
        name = objects.slot_class(reservation_id)
        return placement.usages(project_id).get(name, 0)

    def slots_held(
        self, reservation_id: str, hosts: Collection[objects.Resource]
    ) -> Mapping[str, int]:
        holders = _holders(reservation_id, hosts)
        return {host: len(consumers) for host, consumers in holders.items()}

    @errors.translated()
    def forget_slots(
        self,
        reservation_id: str,
        servers: Collection[ports.Server],
        check: ports.Check,
    ) -> None:
        name = objects.slot_class(reservation_id)
        keys = {
            f'resources:{name}',
            slot_flavors.RESERVATION_SPEC,
            slot_flavors.BLAZAR_SPEC,
        }
        for server in request_specs.naming(
            name, {server.uuid for server in servers}
        ):
            check()
            try:
                request_specs.forget(server, keys)
            except (
                nova_exception.InstanceMappingNotFound,
                nova_exception.InstanceNotFound,
                nova_exception.RequestSpecNotFound,
            ):
                # The owner has deleted the server meanwhile.
                continue

    def offered_slots(
        self, hosts: Collection[objects.Resource]
    ) -> Mapping[str, Mapping[str, int]]:
        def offered(host: objects.Resource) -> dict[str, int]:
            child = provider_trees.our_child(host.uuid)
            return slot_classes.inventories(child)

        found: dict[str, dict[str, int]] = {}
        for host, inventories in parallel.pairs(offered, hosts):
            for name, total in inventories.items():
                reservation_id = objects.slots_of(name)
                if reservation_id is not None:
                    found.setdefault(reservation_id, {})[host.name] = total
        return found

    @errors.translated()
    def owns_slots(self, reservation_id: str) -> bool:
        flavor = slot_flavors.find(reservation_id)
        if flavor is not None:
            spec = flavor.extra_specs.get(slot_flavors.RESERVATION_SPEC)
            return bool(spec == reservation_id)
        offering = slot_classes.offering(objects.slot_class(reservation_id))
        return all(name.startswith(PREFIX) for name in offering.values())

    def slot_classes(self) -> Collection[str]:
        found = (objects.slots_of(name) for name in slot_classes.classes())
        return frozenset(
            reservation_id
            for reservation_id in found
            if reservation_id is not None
        )


def _holders(
    reservation_id: str, hosts: Collection[objects.Resource]
) -> dict[str, set[str]]:
    """Return service host -> the consumers that hold a slot there."""
    name = objects.slot_class(reservation_id)

    def holders(host: objects.Resource) -> set[str]:
        child = provider_trees.our_child(host.uuid)
        return slot_classes.holders(child, name)

    return {
        host.name: consumers
        for host, consumers in parallel.pairs(holders, hosts)
    }


def _consumers(slots: ports.ReservedSlots) -> set[str]:
    """Return what holds slots of the reservation; before its start only one
    question is asked."""
    name = objects.slot_class(slots.reservation_id)
    projects = {slots.project_id} | slots.sharers.all
    if not any(name in placement.usages(each) for each in sorted(projects)):
        return set()
    hosts = [host for host, _ in slots.hosts]
    return set().union(*_holders(slots.reservation_id, hosts).values())


@errors.translated()
def _with_flavor(
    reservation_id: str, hosts: Collection[objects.Resource]
) -> dict[str, ports.Server]:
    """Return UUID -> server, of those with the reservation's flavor.

    :param hosts: the cells of these hosts are searched; if empty, the cells
        that have servers of the flavor's projects
    """
    flavor = slot_flavors.find(reservation_id)
    if flavor is None:
        return {}
    concerned = (
        cells.of_hosts([host.name for host in hosts])
        if hosts
        else cells.of_projects(slot_flavors.projects(flavor))
    )
    kinds = [flavor.id]
    found = cells.ask(
        concerned,
        lambda context, _: find.instances(context, instance_type_id=kinds),
    )
    return {
        instance.uuid: instance.on(instance.host or '')
        for instance in found.all()
    }


@errors.translated()
def _recorded(
    servers: Collection[str],
) -> list[tuple[ports.Server, set[str]]]:
    """Return those of the servers that exist, each with the reservations of
    which its flavor asks for slots."""
    found: list[tuple[ports.Server, set[str]]] = []
    for some in cells.batches(servers):
        found += cells.ask(cells.of_servers(some), _with_names).all()
    return found


def _with_names(
    context: nova_context.RequestContext, uuids: Collection[str]
) -> list[tuple[ports.Server, set[str]]]:
    return [
        (
            instance.on(instance.host or ''),
            {
                reservation_id
                for key in flavor.extra_specs
                if (reservation_id := objects.slots_of(key.partition(':')[2]))
            },
        )
        for instance, flavor in find.with_flavors(context, uuid=list(uuids))
    ]
