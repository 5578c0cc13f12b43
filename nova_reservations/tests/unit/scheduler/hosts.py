# SPDX-License-Identifier: Apache-2.0
"""Host states and requests of nova-scheduler, made without its services."""

from typing import Any
import uuid

from nova import objects
from nova.scheduler import host_manager

from nova_reservations.tracking import stats

objects.register_all()

CELL = 'c0c0c0c0-0000-4000-8000-0000000000c0'


def host(name: str = 'host1', **attributes: Any) -> host_manager.HostState:
    state = host_manager.HostState(name, name, CELL)
    state.uuid = str(uuid.uuid5(uuid.NAMESPACE_DNS, name))
    for key, value in attributes.items():
        setattr(state, key, value)
    return state


def reports(version: int = 1, **figures: dict[str, Any]) -> dict[str, str]:
    """Return the stats that a host with these figures of plugins reports."""
    return stats.encode(
        {name: stats.Report(version, each) for name, each in figures.items()},
        stats.Plugins({name: version for name in figures}, {}),
    )


def request(
    vcpus: int = 1,
    memory_mb: int = 512,
    hints: dict[str, list[str]] | None = None,
    **extra_specs: str,
) -> objects.RequestSpec:
    """Return a request; ``cu='4'`` is an extra spec of ours."""
    return objects.RequestSpec(
        flavor=objects.Flavor(
            flavorid='flavor',
            vcpus=vcpus,
            memory_mb=memory_mb,
            extra_specs={
                key if ':' in key else f'reservations:{key}': value
                for key, value in extra_specs.items()
            },
        ),
        instance_uuid=str(uuid.uuid4()),
        scheduler_hints=hints or {},
    )


def new_server(
    project_id: str, hints: dict[str, list[str]] | None = None
) -> objects.RequestSpec:
    """Return the request of a new server, as nova-conductor sends it."""
    spec = request(hints=hints)
    spec.project_id = project_id
    spec.num_instances = 1
    for attribute in ('root_gb', 'ephemeral_gb', 'swap'):
        setattr(spec.flavor, attribute, 0)
    spec.flavor.name = 'small'
    spec.requested_resources = []
    spec.requested_destination = None
    spec.is_bfv = False
    spec.pci_requests = None
    return spec
