# SPDX-License-Identifier: Apache-2.0
"""``nova-reservations-manage host list``."""

from collections.abc import Mapping
import json
from typing import Any

import prettytable

from nova_reservations import objects
from nova_reservations.engine import assembly
from nova_reservations.objects import holds

COLUMNS = (
    'ID',
    'Host',
    'Hypervisor hostname',
    'Availability zone',
    'VCPUs',
    'Memory MiB',
    'Disk GiB',
    'Reservable',
    'Properties',
)


def show(services: assembly.Services, arguments: Any) -> int:
    found = services.hosts.find(objects.HostQuery())
    if arguments.format == 'json':
        print(json.dumps([_as_json(host) for host in found]))
        return 0
    table = prettytable.PrettyTable(COLUMNS)
    table.align = 'l'
    for host in found:
        facts = host.facts
        table.add_row(
            [
                host.id,
                facts.service_host,
                facts.hypervisor_hostname,
                facts.availability_zone,
                facts.vcpus,
                facts.memory_mb,
                facts.local_gb,
                reservable(host),
                pairs(host.properties),
            ]
        )
    print(table)
    for host in found:
        # Too long for the table: why it is lost, or what it waits for.
        if host.status_reason is not None:
            print(f'Host {host.facts.service_host}: {host.status_reason}')
    return 0


def _as_json(host: objects.Host) -> dict[str, Any]:
    facts = host.facts
    return {
        'id': host.id,
        'host': facts.service_host,
        'hypervisor_hostname': facts.hypervisor_hostname,
        'availability_zone': facts.availability_zone,
        'vcpus': facts.vcpus,
        'memory_mb': facts.memory_mb,
        'local_gb': facts.local_gb,
        'reservable': host.bookable,
        'status_reason': host.status_reason,
        'holds': [hold.reason for hold in holds.of(host)],
        'properties': dict(host.properties),
    }


def pairs(values: Mapping[str, Any]) -> str:
    return ', '.join(f'{name}={value}' for name, value in values.items())


def reservable(known: objects.Host | objects.Inventoried) -> str:
    """Return whether a new lease may get it, and if not, why."""
    held = holds.forbidding(known, holds.Use.PROMISE)
    if not held:
        return 'True'
    return f'False ({", ".join(hold.reason for hold in held)})'
