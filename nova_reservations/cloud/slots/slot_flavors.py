# SPDX-License-Identifier: Apache-2.0
"""The flavors and server groups of reservations of slots.

They have the id of their reservation, or one that is computed from it.
"""

# Nova's objects get their names only when the process registers them.
from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
import contextlib

from nova import context as nova_context
from nova import exception as nova_exception
from nova import objects as nova_objects

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.cloud.servers import find as servers
from nova_reservations.cloud.slots import known_flavors

RESERVATION_SPEC = 'reservations:reservation'

NAMED = 'reservation:'
"""The names of flavors and server groups are this, and the reservation's
id."""

BLAZAR_SPEC = 'aggregate_instance_extra_specs:reservation'
"""Clients of Blazar find the flavor of a reservation by it. No aggregate has
it: nova-scheduler takes it off its copy of a request, and an end off the
flavors that are stored with servers."""

_POLICIES = {True: 'affinity', False: 'anti-affinity', None: None}


def find_named(name: str) -> nova_objects.Flavor | None:
    try:
        return nova_objects.Flavor.get_by_name(
            nova_context.get_admin_context(), name
        )
    except nova_exception.FlavorNotFoundByName:
        return None


def find(flavor_id: str) -> nova_objects.Flavor | None:
    try:
        return nova_objects.Flavor.get_by_flavor_id(
            nova_context.get_admin_context(), flavor_id
        )
    except nova_exception.FlavorNotFound:
        return None


def projects(flavor: nova_objects.Flavor) -> list[str]:
    """Return the projects that may use the flavor.

    Nova reads them lazily: there are none if the flavor was deleted since it
    was found."""
    try:
        return list(flavor.projects)
    except nova_exception.FlavorNotFound:
        return []


def give_access(slots: ports.ReservedSlots, check: ports.Check) -> None:
    """Let the projects of a reservation use its flavor, and no longer those
    that it was shared with before.

    :raises: CloudRefused if there is no flavor
    """
    flavor = find(slots.reservation_id)
    if flavor is None:
        raise exception.CloudRefused(
            what=f'Flavor {slots.reservation_id}',
            reason='somebody has deleted it',
        )
    known = frozenset(projects(flavor))
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
        BLAZAR_SPEC: reservation_id,
    }


def is_as_wanted(
    known: nova_objects.Flavor, reservation_id: str, flavor: ports.Flavor
) -> bool:
    return _has_sizes(known, flavor) and (
        known.extra_specs == _extra_specs(reservation_id, flavor)
    )


def _has_sizes(known: nova_objects.Flavor, flavor: ports.Flavor) -> bool:
    return not known.is_public and all(
        known[nova] == getattr(flavor, ours)
        for nova, ours in known_flavors.SIZES.items()
        if nova != 'extra_specs'
    )


def ensure(
    reservation_id: str, flavor: ports.Flavor, check: ports.Check
) -> None:
    known = find(reservation_id)
    check()
    if known is not None:
        if is_as_wanted(known, reservation_id, flavor):
            return
        wanted = _extra_specs(reservation_id, flavor)
        if _has_sizes(known, flavor):
            # Somebody has changed them. The servers of the flavor are found by
            # Nova's own id of it, so it stays.
            known.save_extra_specs(wanted, known.extra_specs.keys() - wanted)
            return
        # Only leases that have not started change the sizes of their flavor,
        # so no server has used it yet; nobody else can change them in Nova.
        destroy(known)
    sizes = {
        nova: getattr(flavor, ours)
        for nova, ours in known_flavors.SIZES.items()
    }
    try:
        nova_objects.Flavor(
            nova_context.get_admin_context(),
            flavorid=reservation_id,
            name=f'{NAMED}{reservation_id}',
            is_public=False,
            disabled=False,
            **{**sizes, 'extra_specs': _extra_specs(reservation_id, flavor)},
        ).create()
    except nova_exception.FlavorIdExists:
        # Another process has created the same flavor.
        return
    except nova_exception.FlavorExists as error:
        if find(reservation_id) is not None:
            # So it has, and the database names the other unique column.
            return
        raise exception.CloudRefused(
            what=f'Flavor {reservation_id}',
            reason='another one has its name',
        ) from error


def find_group(group_id: str) -> nova_objects.InstanceGroup | None:
    try:
        return nova_objects.InstanceGroup.get_by_uuid(
            nova_context.get_admin_context(), group_id
        )
    except nova_exception.InstanceGroupNotFound:
        return None


def ensure_group(
    slots: ports.ReservedSlots,
    consumers: Callable[[], Collection[str]],
    check: ports.Check,
) -> None:
    """:param consumers: returns what holds slots already: those that are
    servers are the members of a group that is created only now"""
    group_id = objects.group_id(slots.reservation_id)
    policy = _POLICIES[slots.affinity]
    known = find_group(group_id)
    check()
    if known is not None:
        if known.policy == policy:
            return
        destroy(known)
    if policy is None:
        return
    try:
        nova_objects.InstanceGroup(
            nova_context.get_admin_context(),
            uuid=group_id,
            name=f'{NAMED}{slots.reservation_id}',
            project_id=slots.project_id,
            user_id=slots.user_id,
            policy=policy,
        ).create()
    except nova_exception.InstanceGroupIdExists:
        return
    members = servers.find_servers(consumers())
    if members:
        check()
        nova_objects.InstanceGroup.add_members(
            nova_context.get_admin_context(), group_id, sorted(members)
        )


def lacking(slots: ports.ReservedSlots) -> Iterator[str]:
    """Yield what is not as it was made."""
    key = slots.reservation_id
    if slots.flavor is not None:
        flavor = find(key)
        if flavor is None:
            yield 'its flavor is gone'
        else:
            if not is_as_wanted(flavor, key, slots.flavor):
                yield 'its flavor was changed'
            wanted = slots.sharers.present | {slots.project_id}
            for project_id in sorted(wanted.difference(projects(flavor))):
                yield f'project {project_id} has no access to its flavor'
    group = find_group(objects.group_id(key))
    if group is None and slots.affinity is not None:
        yield 'its server group is gone'
    elif group is not None and group.policy != _POLICIES[slots.affinity]:
        yield 'its server group was changed'


def destroy(item: nova_objects.Flavor | nova_objects.InstanceGroup) -> None:
    try:
        item.destroy()
    except (
        nova_exception.FlavorNotFound,
        nova_exception.InstanceGroupNotFound,
    ):
        return
