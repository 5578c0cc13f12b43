# SPDX-License-Identifier: Apache-2.0
"""Parts of a stack: reservations of what its template needs.

Decision 0058: doc/source/decisions/0058-stacks
"""

from collections import Counter
from collections import defaultdict
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
import hashlib
from typing import Any

from nova_reservations import exception
from nova_reservations import ports
from nova_reservations.objects import address as addresses
from nova_reservations.objects import pool as pools
from nova_reservations.types import complex as complex_types
from nova_reservations.types.heat import stack_templates

SLOTS = 'flavor:instance'

_LETTERS = 64
"""The maximum length of the name of a part."""

Sizes = list[Mapping[str, Any]]


def check(
    resources: Collection[ports.StackResource], switched_on: Collection[str]
) -> None:
    """Refuse stacks with resources that a lease can not have.

    :param resources: those of the preview, because operators can map a type
        of the template to another one
    :raises: InvalidInput
    """
    for each in resources:
        # A preview has the members of a group in place of the group. If it
        # has the group itself, the members are not known.
        if each.kind not in stack_templates.TYPES - {stack_templates.GROUP}:
            raise exception.InvalidInput(
                f'Heat makes a {each.kind} of resource {each.name}, which a '
                'lease can not have'
            )
        if each.parent is not None and each.kind in _leased(switched_on):
            raise exception.InvalidInput(
                f'Group {each.parent} has a {each.kind}, which leases have '
                'here one by one: write each as a resource of its own'
            )
        if each.kind == stack_templates.SERVER and pools.VOLUME in switched_on:
            _refuse_new_volumes(each)


def _leased(switched_on: Collection[str]) -> set[str]:
    """Return the Heat types, other than servers, that have a resource type of
    their own here."""
    return {
        kind
        for kind, leased in (
            (stack_templates.VOLUME, pools.VOLUME),
            (stack_templates.ADDRESS, addresses.FLOATING_IP),
        )
        if leased in switched_on
    }


def _refuse_new_volumes(server: ports.StackResource) -> None:
    """:raises: InvalidInput"""
    for disk in server.properties.get('block_device_mapping_v2') or ():
        if any(disk.get(key) for key in ('image', 'image_id', 'snapshot_id')):
            raise exception.InvalidInput(
                f'Nova would make a volume for {server.name}, which nothing '
                'promises: have block_device_mapping_v2 name a volume of the '
                'template by volume_id'
            )


def flavors(resources: Collection[ports.StackResource]) -> dict[str, int]:
    """Return name or id of a flavor -> the number of servers of that flavor.

    :raises: InvalidInput if a flavor is not known, or there is no server
    """
    servers = [
        each for each in resources if each.kind == stack_templates.SERVER
    ]
    if not servers:
        raise exception.InvalidInput(
            f'The template makes no {stack_templates.SERVER}: there is '
            'nothing to reserve'
        )
    for each in servers:
        if not each.properties.get('flavor'):
            raise exception.InvalidInput(
                f'The flavor of {each.name} is not known before the stack is '
                'made: name it, or give it by a parameter'
            )
    return dict(Counter(str(each.properties['flavor']) for each in servers))


def volumes(
    template: Mapping[str, Any], resources: Collection[ports.StackResource]
) -> Sizes:
    """Return name, size and volume type of the volumes in a template, which
    the lease is to create.

    :raises: InvalidInput
    """
    found: Sizes = []
    for each in resources:
        if each.kind != stack_templates.VOLUME:
            continue
        stack_templates.check_adoptable(
            template,
            each.name,
            ('size', 'volume_type'),
            ('name', 'description'),
        )
        size = each.properties.get('size')
        if not size:
            raise exception.InvalidInput(
                f'Resource {each.name} has no size: give it one'
            )
        found.append(
            {
                'name': each.name,
                'size_gb': int(size),
                'volume_type': each.properties.get('volume_type') or None,
            }
        )
    return found


def floating_ips(
    template: Mapping[str, Any], resources: Collection[ports.StackResource]
) -> Sizes:
    """Return name and network of the addresses in a template, which the lease
    is to create.

    :raises: InvalidInput
    """
    found: Sizes = []
    for each in resources:
        if each.kind != stack_templates.ADDRESS:
            continue
        stack_templates.check_adoptable(
            template,
            each.name,
            ('floating_network',),
            ('port_id', 'fixed_ip_address'),
        )
        found.append(
            {
                'name': each.name,
                'network_id': str(each.properties.get('floating_network')),
            }
        )
    return found


def of_servers(
    wanted: Mapping[str, int], end_action: str
) -> list[complex_types.Part]:
    """Return a part for each flavor."""
    return [
        complex_types.Part(
            _fitting(f'servers of {flavor_id}'),
            SLOTS,
            {
                'flavor_id': flavor_id,
                'amount': count,
                'affinity': None,
                'consume': 'open',
                'end_action': end_action,
            },
        )
        for flavor_id, count in sorted(wanted.items())
    ]


def of_volumes(wanted: Sizes) -> list[complex_types.Part]:
    """Return a part for each size and type of volumes."""
    return [
        complex_types.Part(
            name,
            pools.VOLUME,
            {
                'size_gb': alike[0]['size_gb'],
                'volume_type': alike[0]['volume_type'],
                'amount': len(alike),
            },
        )
        for name, alike in alike_volumes(wanted).items()
    ]


def of_floating_ips(wanted: Sizes) -> list[complex_types.Part]:
    """Return a part for each network of addresses."""
    return [
        complex_types.Part(
            name,
            addresses.FLOATING_IP,
            {'network_id': alike[0]['network_id'], 'amount': len(alike)},
        )
        for name, alike in alike_floating_ips(wanted).items()
    ]


def alike_volumes(wanted: Sizes) -> dict[str, Sizes]:
    """Return name of a part -> the volumes that it has."""
    return _alike(
        wanted,
        lambda each: ' '.join(
            [
                f'volumes of {each["size_gb"]} GiB',
                *([each['volume_type']] if each['volume_type'] else []),
            ]
        ),
    )


def alike_floating_ips(wanted: Sizes) -> dict[str, Sizes]:
    """Return name of a part -> the addresses that it has."""
    return _alike(wanted, lambda each: f'addresses of {each["network_id"]}')


def _alike(
    wanted: Sizes, name: Callable[[Mapping[str, Any]], str]
) -> dict[str, Sizes]:
    found: dict[str, Sizes] = defaultdict(list)
    for each in sorted(wanted, key=lambda each: str(each['name'])):
        found[name(each)].append(each)
    return {_fitting(key): alike for key, alike in found.items()}


def _fitting(name: str) -> str:
    """Return a name for a part that is short enough; a digest keeps shortened
    names unique."""
    if len(name) <= _LETTERS:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f'{name[: _LETTERS - 9]} {digest}'
