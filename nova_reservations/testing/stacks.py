# SPDX-License-Identifier: Apache-2.0
"""Helpers for tests that lease stacks in a region."""

from collections.abc import Mapping
import json
from typing import Any

from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.objects import address as addresses
from nova_reservations.objects import pool as pools
from nova_reservations.testing import region as regions
from nova_reservations.types.cinder import volume
from nova_reservations.types.heat import stack
from nova_reservations.types.heat import stack_parts
from nova_reservations.types.heat import stack_templates
from nova_reservations.types.neutron import fake_networks
from nova_reservations.types.neutron import floatingip
from nova_reservations.types.servers import flavor
from nova_reservations.types.servers import host

STACK = 'virtual:stack'
TYPES = {
    objects.HOST: host.PhysicalHost,
    stack_parts.SLOTS: flavor.FlavorInstance,
    pools.VOLUME: volume.Volume,
    addresses.FLOATING_IP: floatingip.FloatingIP,
    STACK: stack.Stack,
}

Resources = Mapping[str, Mapping[str, Any]]


def switch_on(region: regions.Region, *types: str) -> None:
    """Set the resource types in the options, and add flavors small and
    big."""
    region.opts.set_override('resource_types', [*types], 'reservations')
    for name, vcpus in ('small', 1), ('big', 8):
        region.cloud.known_flavors[f'id-{name}'] = ports.KnownFlavor(
            id=f'id-{name}',
            name=name,
            is_public=True,
            flavor=ports.Flavor(vcpus, 1024, 10),
            amounts={'VCPU': vcpus, 'MEMORY_MB': 1024},
            required=frozenset(),
            forbidden=frozenset(),
        )


def server(flavor: object = 'small', **more: Any) -> dict[str, Any]:
    return {
        'type': stack_templates.SERVER,
        'properties': {'flavor': flavor, **more},
    }


def disk(size: object, **more: Any) -> dict[str, Any]:
    return {
        'type': stack_templates.VOLUME,
        'properties': {'size': size, **more},
    }


def address(**more: Any) -> dict[str, Any]:
    return {
        'type': stack_templates.ADDRESS,
        'properties': {'floating_network': fake_networks.EXTERNAL, **more},
    }


def group(count: object, within: Mapping[str, Any]) -> dict[str, Any]:
    return {
        'type': stack_templates.GROUP,
        'properties': {'count': count, 'resource_def': within},
    }


def template(resources: Resources, **sections: Any) -> str:
    return json.dumps(
        {
            'heat_template_version': '2018-08-31',
            'resources': resources,
            **sections,
        }
    )


def asked(resources: Resources, **more: Any) -> tuple[str, dict[str, Any]]:
    """Return the type and params of a reservation of a stack."""
    return STACK, {'template': template(resources), **more}
