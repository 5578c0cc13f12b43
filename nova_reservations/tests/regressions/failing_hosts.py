# SPDX-License-Identifier: Apache-2.0
"""Hosts that are disabled, silent or forced down, as the monitor sees them,
and what their leases show.
"""

import datetime

from nova_reservations import ports

HOUR = datetime.timedelta(hours=1)
TWO_MINUTES = datetime.timedelta(minutes=2)

WHOLE, MISSING, CHANGED = (False, False), (True, False), (False, True)

SILENT = ports.ComputeService(False, False, False)
DISABLED = ports.ComputeService(True, True, False)
REBOOTING = ports.ComputeService(False, True, False)
FORCED_DOWN = ports.ComputeService(False, False, True)


def see(region, service, *names):
    """Have the monitor see the service in this state on each host; None: it
    works."""
    for name in names:
        region.cloud.recover(name)
        if service is not None:
            region.cloud.services[name] = service
    region.look()


def flags(region, lease):
    [reservation] = region.see(lease).reservations
    return reservation.missing_resources, reservation.resources_changed


def used(region, lease):
    access = region.access.find(lease.reservations[0].id)
    assert region.aggregate_of(lease) == access.hosts
    return access.hosts


def holds_of(region, lease):
    [name] = region.hosts_of(lease)
    return name


def healed_by(region):
    """Run the periodic check, and all work that follows from it."""
    region.healing.heal(region.now)
    region.work()


SLOT = (
    'virtual:instance',
    {
        'vcpus': 8,
        'memory_mb': 1024,
        'disk_gb': 10,
        'amount': 2,
        'affinity': None,
        'resource_properties': '',
    },
)


def on(name):
    return {'resource_properties': f'["==", "$service_name", "{name}"]'}
