# SPDX-License-Identifier: Apache-2.0
"""Conversion of the groups of a placement request into amounts by shape.

Decision 0052: doc/source/decisions/0052-whoever-comes-first
"""

# Nova's objects get their names only when the process registers them.
from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses

from nova import context as nova_context
from nova import objects as nova_objects
import nova.conf
from nova.pci import request as pci_request
from nova.scheduler import utils

from nova_reservations import objects
from nova_reservations.objects import shapes

ALIAS = 'pci_passthrough:alias'
DEVICE_PROFILE = 'accel:device_profile'


@dataclasses.dataclass(frozen=True, slots=True)
class HostDemand:
    """The demand of a server on its host.

    :ivar amounts: name of a shape -> units.
    :ivar required: traits that the host itself must have.
    :ivar forbidden: traits that the host itself must not have.
    :ivar uncountable: why the demand can't be reserved, and what to do about
        it; None: it can be reserved.
    """

    amounts: dict[str, int]
    required: frozenset[str]
    forbidden: frozenset[str]
    uncountable: str | None


def of_flavor(flavor: nova_objects.Flavor) -> HostDemand:
    """Return what Nova would request for a server of the flavor.

    :raises: NovaException
    """
    spec = _plain_spec(flavor)
    groups = _groups(spec)
    return dataclasses.replace(
        _asked(groups), uncountable=_uncountable(flavor, groups)
    )


def of_request(spec: nova_objects.RequestSpec) -> HostDemand:
    """Return the demand of the server of a request, without its ports and
    accelerators, which no slot has.

    Traits that the image requires are left out: they only narrow the choice
    of a slot.
    """
    by_flavor = {
        group.requester_id: group
        for group in _groups(_plain_spec(spec.flavor, devices=False))
    }
    groups = _groups(spec)
    return _asked(
        [
            nova_objects.RequestGroup(
                requester_id=group.requester_id,
                resources=group.resources,
                required_traits=by_flavor.get(
                    group.requester_id, group
                ).required_traits,
                forbidden_traits=by_flavor.get(
                    group.requester_id, group
                ).forbidden_traits,
            )
            for group in groups
        ]
    )


def _plain_spec(
    flavor: nova_objects.Flavor, devices: bool = True
) -> nova_objects.RequestSpec:
    spec = nova_objects.RequestSpec(
        context=nova_context.get_admin_context(), flavor=flavor
    )
    if devices and ALIAS in flavor.extra_specs:
        spec.requested_resources = []
        spec.pci_requests = pci_request.get_pci_requests_from_flavor(flavor)
        spec.generate_request_groups_from_pci_requests()
    return spec


def _groups(
    spec: nova_objects.RequestSpec,
) -> list[nova_objects.RequestGroup]:
    """Return the groups of a request that come from its flavor; the
    unsuffixed group is the first."""
    request = utils.ResourceRequest.from_request_spec(spec)
    asked = (
        {group.requester_id for group in spec.requested_resources or ()}
        if 'requested_resources' in spec
        else set()
    )
    return [
        request.get_request_group(ident)
        for ident in (
            None,
            *_suffixes(spec.flavor),
            *(name for name in _devices(spec) if name in asked),
        )
    ]


def _devices(spec: nova_objects.RequestSpec) -> Iterator[str]:
    """Yield the names of the groups of PCI devices; each device has its own
    group."""
    if 'pci_requests' not in spec or spec.pci_requests is None:
        return
    for each in spec.pci_requests.requests:
        # PCI requests of ports have no alias.
        if each.alias_name is not None:
            for number in range(each.count):
                yield f'{each.request_id}-{number}'


def _suffixes(flavor: nova_objects.Flavor) -> list[str]:
    if 'extra_specs' not in flavor:
        return []
    keys = (
        utils.ResourceRequest.XS_KEYPAT.match(key)
        for key in flavor.extra_specs
    )
    return sorted({match[2] for match in keys if match and match[2]})


def _asked(groups: Sequence[nova_objects.RequestGroup]) -> HostDemand:
    amounts: dict[str, int] = {}
    required: set[str] = set()
    forbidden: set[str] = set()
    for group in groups:
        wanted = frozenset(group.required_traits)
        unwanted = frozenset(group.forbidden_traits)
        below = _below(group)
        # Any provider that an unsuffixed group uses may have its trait. So
        # if it uses several child providers, the trait can't be assigned to
        # one of them.
        anywhere = not group.requester_id
        is_theirs = len(below) == 1 or (below and not anywhere)
        if not is_theirs:
            required |= wanted
        if anywhere or not below:
            forbidden |= unwanted
        for name, units in group.resources.items():
            if not int(units):
                continue
            shape = name
            if name in below:
                shape = shapes.Shape(
                    name,
                    int(units),
                    wanted if is_theirs else frozenset(),
                    unwanted,
                    anywhere,
                ).name
            amounts[shape] = amounts.get(shape, 0) + int(units)
    return HostDemand(amounts, frozenset(required), frozenset(forbidden), None)


def _below(group: nova_objects.RequestGroup) -> list[str]:
    """Return the classes of a group that a host's child providers may have."""
    return [
        name
        for name, units in group.resources.items()
        if int(units)
        and name not in shapes.OF_HOSTS
        and not objects.slots_of(name)
    ]


def _uncountable(
    flavor: nova_objects.Flavor, groups: Sequence[nova_objects.RequestGroup]
) -> str | None:
    names = list(_asked(groups).amounts)
    classes = [shapes.class_of(name) for name in names]
    twice = sorted({name for name in classes if classes.count(name) > 1})
    mixed = [
        group.requester_id
        for group in groups[1:]
        if _below(group) and len(group.resources) > 1
    ]
    if any(objects.slots_of(name) for name in classes):
        return 'it is of a reservation itself'
    if not names:
        return 'it asks placement for nothing'
    if twice:
        return (
            f'it asks for {", ".join(twice)} in several groups that are not '
            'alike; give them the same amounts and traits, or ask by one'
        )
    if mixed:
        return (
            f'its group {mixed[0]} asks one provider for several resource '
            'classes; ask for each of them in a group of its own'
        )
    if len(groups) > 2 and flavor.extra_specs.get('group_policy') == 'isolate':
        return (
            'its groups must be on different providers of a host; take '
            'group_policy none'
        )
    if any(len(name) > shapes.LONGEST for name in names):
        return 'it asks for too many traits; ask for fewer in one group'
    return _uncounted(flavor.extra_specs)


def _uncounted(extra_specs: Collection[str]) -> str | None:
    """Return the reason if the flavor has devices that placement does not
    count."""
    if DEVICE_PROFILE in extra_specs:
        return 'only Cyborg knows what its device profile asks for'
    if (
        ALIAS in extra_specs
        and not nova.conf.CONF.filter_scheduler.pci_in_placement
    ):
        return (
            'placement does not count its PCI devices; an operator has to set '
            '[filter_scheduler] pci_in_placement'
        )
    return None
