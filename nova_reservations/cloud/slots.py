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
import contextlib

from nova import context as nova_context
from nova import exception as nova_exception
from nova import objects as nova_objects

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.cloud import cells
from nova_reservations.cloud import errors
from nova_reservations.cloud import known_flavors
from nova_reservations.cloud import parallel
from nova_reservations.cloud import placement
from nova_reservations.cloud import provider_trees
from nova_reservations.cloud.servers import find
from nova_reservations.cloud.servers import request_specs

PREFIX = 'reservations_'
"""The prefix of our providers' names."""

RESERVATION_SPEC = 'reservations:reservation'

_AT_ONCE = 500
"""The maximum number of servers in one query."""


class Slots:
    @errors.translated()
    def find_flavor(
        self, flavor_id: str, project_id: str
    ) -> ports.KnownFlavor:
        flavor = _find_flavor(flavor_id) or _find_named(flavor_id)
        if (
            flavor is None
            or flavor.disabled
            or not (flavor.is_public or project_id in _projects(flavor))
        ):
            raise exception.CloudRefused(
                what=f'Flavor {flavor_id}', reason='it could not be found'
            )
        return known_flavors.known(flavor)

    @errors.translated()
    def ensure_slots(
        self, slots: ports.ReservedSlots, check: ports.Check
    ) -> None:
        name = objects.slot_class(slots.reservation_id)
        check()
        placement.ensure_class(name)
        wanted = {
            provider_trees.our_child(host.uuid): (host, n)
            for host, n in slots.hosts
        }

        def offer(provider: str) -> None:
            host, count = wanted.get(provider, (None, 0))
            check()
            if host is not None:
                placement.ensure_child(
                    host.uuid, provider, f'{PREFIX}{host.name}'
                )
            placement.set_inventory(provider, name, count)

        parallel.each(offer, sorted({*wanted, *placement.offering(name)}))
        if slots.flavor is not None:
            check()
            _ensure_flavor(slots.reservation_id, slots.flavor)
        check()
        _ensure_group(slots)

    @errors.translated()
    def has_slots(self, slots: ports.ReservedSlots) -> bool:
        if slots.flavor is None:
            offered = self.offered_slots([host for host, _ in slots.hosts])
            return offered.get(slots.reservation_id, {}) == {
                host.name: count for host, count in slots.hosts
            }
        flavor = _find_flavor(slots.reservation_id)
        return flavor is not None and _is_as_wanted(
            flavor, slots.reservation_id, slots.flavor
        )

    @errors.translated()
    def allow_flavor(
        self, slots: ports.ReservedSlots, check: ports.Check
    ) -> None:
        if slots.flavor is None:
            return
        flavor = _find_flavor(slots.reservation_id)
        if flavor is None:
            raise exception.CloudRefused(
                what=f'Flavor {slots.reservation_id}',
                reason='somebody has deleted it',
            )
        known = frozenset(_projects(flavor))
        wanted = slots.sharers.present | {slots.project_id}
        for project_id in sorted(wanted - known):
            check()
            with contextlib.suppress(nova_exception.FlavorAccessExists):
                flavor.add_access(project_id)
        # Projects that an administrator has added keep their access.
        for project_id in sorted(known & (slots.sharers.former - wanted)):
            check()
            with contextlib.suppress(nova_exception.FlavorAccessNotFound):
                flavor.remove_access(project_id)

    @errors.translated()
    def delete_slots(
        self,
        reservation_id: str,
        hosts: Collection[objects.Resource],
        check: ports.Check,
    ) -> Collection[str]:
        flavor = _find_flavor(reservation_id)
        if flavor is not None:
            check()
            _destroy(flavor)
        group = _find_group(objects.group_id(reservation_id))
        if group is not None:
            check()
            _destroy(group)
        name = objects.slot_class(reservation_id)
        if name not in placement.classes():
            return ()
        providers = sorted(
            {
                *(provider_trees.our_child(host.uuid) for host in hosts),
                *placement.offering(name),
            }
        )

        def take(provider: str) -> Collection[str]:
            check()
            if placement.set_inventory(provider, name, 0):
                return ()
            return placement.holders(provider, name)

        left = set().union(*parallel.each(take, providers))
        if not left:
            check()
            if not placement.delete_class(name):
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
            check()
            provider = provider_trees.our_child(host.uuid)
            return placement.set_inventory(provider, name, 0)

        gone = parallel.each(take, hosts)
        return {
            host.name
            for host, is_gone in zip(hosts, gone, strict=True)
            if not is_gone
        }

    def servers_in_slots(
        self,
        reservation_id: str,
        hosts: Collection[objects.Resource],
        servers: Collection[str],
    ) -> ports.Occupancy:
        found = {
            instance.uuid: instance.on(instance.host or '')
            for instance in _with_flavor(reservation_id, hosts, servers)
        }
        unseen = {
            host: consumers - found.keys()
            for host, consumers in _holders(reservation_id, hosts).items()
        }
        on_hosts: dict[str, dict[str, ports.Server]] = {
            host: {} for host in unseen
        }
        leftovers = find.resolve(unseen, on_hosts)
        for more in on_hosts.values():
            found = {**more, **found}
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
        keys = {f'resources:{name}', RESERVATION_SPEC}
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
        found: dict[str, dict[str, int]] = {}
        for host, inventories in zip(
            hosts,
            parallel.each(
                placement.inventories,
                [provider_trees.our_child(host.uuid) for host in hosts],
            ),
            strict=True,
        ):
            for name, total in inventories.items():
                reservation_id = objects.slots_of(name)
                if reservation_id is not None:
                    found.setdefault(reservation_id, {})[host.name] = total
        return found

    @errors.translated()
    def owns_slots(self, reservation_id: str) -> bool:
        flavor = _find_flavor(reservation_id)
        if flavor is not None:
            spec = flavor.extra_specs.get(RESERVATION_SPEC)
            return bool(spec == reservation_id)
        offering = placement.offering(objects.slot_class(reservation_id))
        return all(name.startswith(PREFIX) for name in offering.values())

    def slot_classes(self) -> Collection[str]:
        found = (objects.slots_of(name) for name in placement.classes())
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
    found = parallel.each(
        lambda host: placement.holders(
            provider_trees.our_child(host.uuid), name
        ),
        hosts,
    )
    return {
        host.name: consumers
        for host, consumers in zip(hosts, found, strict=True)
    }


def _find_named(name: str) -> nova_objects.Flavor | None:
    try:
        return nova_objects.Flavor.get_by_name(
            nova_context.get_admin_context(), name
        )
    except nova_exception.FlavorNotFoundByName:
        return None


def _find_flavor(flavor_id: str) -> nova_objects.Flavor | None:
    try:
        return nova_objects.Flavor.get_by_flavor_id(
            nova_context.get_admin_context(), flavor_id
        )
    except nova_exception.FlavorNotFound:
        return None


def _projects(flavor: nova_objects.Flavor) -> list[str]:
    """Return the projects that may use the flavor.

    Nova reads them lazily: there are none if the flavor was deleted since it
    was found."""
    try:
        return list(flavor.projects)
    except nova_exception.FlavorNotFound:
        return []


def _extra_specs(reservation_id: str, flavor: ports.Flavor) -> dict[str, str]:
    wanted = flavor.extra_specs
    # The slot has shared CPUs: an image must not ask for dedicated ones.
    dedicated = any(
        key == 'hw:cpu_policy' or key.endswith(':PCPU') for key in wanted
    )
    return {
        **({} if dedicated else {'hw:cpu_policy': 'shared'}),
        **wanted,
        f'resources:{objects.slot_class(reservation_id)}': '1',
        RESERVATION_SPEC: reservation_id,
    }


def _is_as_wanted(
    known: nova_objects.Flavor, reservation_id: str, flavor: ports.Flavor
) -> bool:
    return all(
        known[nova] == getattr(flavor, ours)
        for nova, ours in known_flavors.SIZES.items()
        if nova != 'extra_specs'
    ) and known.extra_specs == _extra_specs(reservation_id, flavor)


def _ensure_flavor(reservation_id: str, flavor: ports.Flavor) -> None:
    known = _find_flavor(reservation_id)
    if known is not None:
        if _is_as_wanted(known, reservation_id, flavor):
            return
        # Only leases that have not started change their flavor, so no server
        # has used it yet.
        _destroy(known)
    sizes = {
        nova: getattr(flavor, ours)
        for nova, ours in known_flavors.SIZES.items()
    }
    try:
        nova_objects.Flavor(
            nova_context.get_admin_context(),
            flavorid=reservation_id,
            name=f'reservation:{reservation_id}',
            is_public=False,
            disabled=False,
            **{**sizes, 'extra_specs': _extra_specs(reservation_id, flavor)},
        ).create()
    except nova_exception.FlavorIdExists:
        # Another worker has created the same flavor.
        return
    except nova_exception.FlavorExists as error:
        raise exception.CloudRefused(
            what=f'Flavor {reservation_id}',
            reason='another one has its name',
        ) from error


def _find_group(group_id: str) -> nova_objects.InstanceGroup | None:
    try:
        return nova_objects.InstanceGroup.get_by_uuid(
            nova_context.get_admin_context(), group_id
        )
    except nova_exception.InstanceGroupNotFound:
        return None


def _ensure_group(slots: ports.ReservedSlots) -> None:
    group_id = objects.group_id(slots.reservation_id)
    policy = {True: 'affinity', False: 'anti-affinity', None: None}[
        slots.affinity
    ]
    known = _find_group(group_id)
    if known is not None:
        if known.policy == policy:
            return
        _destroy(known)
    if policy is None:
        return
    try:
        nova_objects.InstanceGroup(
            nova_context.get_admin_context(),
            uuid=group_id,
            name=f'reservation:{slots.reservation_id}',
            project_id=slots.project_id,
            user_id=slots.user_id,
            policy=policy,
        ).create()
    except nova_exception.InstanceGroupIdExists:
        return


def _destroy(item: nova_objects.Flavor | nova_objects.InstanceGroup) -> None:
    try:
        item.destroy()
    except (
        nova_exception.FlavorNotFound,
        nova_exception.InstanceGroupNotFound,
    ):
        return


@errors.translated()
def _with_flavor(
    reservation_id: str,
    hosts: Collection[objects.Resource],
    servers: Collection[str],
) -> list[find.Instance]:
    """Return the instances with the reservation's flavor, and these servers.

    :param hosts: the cells of these hosts are searched for the flavor; if
        empty, the cells that have servers of the flavor's projects
    """
    found: list[find.Instance] = []
    flavor = _find_flavor(reservation_id)
    if flavor is not None:
        concerned = (
            cells.of_hosts([host.name for host in hosts])
            if hosts
            else cells.of_projects(_projects(flavor))
        )
        found += cells.ask(concerned, _of_flavor, flavor.id).all()
    if servers:
        uuids = sorted(servers)
        for first in range(0, len(uuids), _AT_ONCE):
            some = uuids[first : first + _AT_ONCE]
            found += cells.ask(cells.of_servers(some), _of_uuids).all()
    return found


def _of_flavor(
    context: nova_context.RequestContext, _: Collection[str], flavor_id: int
) -> list[find.Instance]:
    return find.instances(context, instance_type_id=[flavor_id])


def _of_uuids(
    context: nova_context.RequestContext, uuids: Collection[str]
) -> list[find.Instance]:
    return find.instances(context, uuid=list(uuids))
