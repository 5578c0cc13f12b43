# SPDX-License-Identifier: Apache-2.0
"""Leases with a guaranteed place for servers, and the place in the cloud."""

import uuid

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.engine.booking import lease_requests
from nova_reservations.testing.region import minutes

HALF = ports.KnownFlavor(
    'half',
    'm1.half',
    True,
    ports.Flavor(8, 30000, 10),
    {'VCPU': 8, 'MEMORY_MB': 30000, 'DISK_GB': 10},
    frozenset({'HW_CPU_X86_VMX'}),
    frozenset(),
)
"""A host has room for two servers of this flavor."""


def request(region, amount=1, start=0, end=60, **asked):
    return region.server_leases.request(
        lease_requests.NewLease(
            name='mine',
            project_id='lessee',
            user_id='user',
            start=region.now + minutes(start),
            end=region.now + minutes(end),
            before_end=None,
            reservations=(
                lease_requests.NewReservation(
                    objects.SERVER,
                    {
                        'guaranteed': True,
                        'flavor_id': 'half',
                        'amount': amount,
                        'availability_zone': None,
                        **asked,
                    },
                ),
            ),
        ),
        region.now,
    )


def make(region, lease):
    """Create the servers of a request, as Nova does. A server of a later lease
    runs beside the pool, on a host that this cloud does not know."""
    [reservation] = lease.reservations
    made = []
    for _ in range(reservation.params['amount']):
        server = str(uuid.uuid4())
        region.server_leases.record(lease.id, server, region.now)
        place = 'beside'
        if lease.start_date <= region.now:
            place = region.cloud.free_slots(reservation.id)[0]
        region.cloud.boot(place, 'lessee', server)
        region.cloud.reservation_of[server] = reservation.id
        made.append(server)
    return made


def asked_for(region, *args, **asked):
    """Return a lease, and the servers that Nova has created for it."""
    lease = request(region, *args, **asked)
    region.server_leases.receive(lease, region.now)
    servers = make(region, lease)
    region.server_leases.accept(lease.id, region.now)
    return lease, servers


def of(region, lease):
    """Return the slots, and the aggregate's hosts, that the lease's place has
    in the cloud."""
    [reservation] = lease.reservations
    return (
        region.cloud.classes.get(reservation.id),
        region.cloud.aggregate_hosts.get(reservation.id),
    )


NOTHING = (None, None)


def host_of(region, server):
    found = region.cloud.servers.find_servers([server])
    return found[server].host if found else 'gone'


def state_of(region, server):
    found = region.cloud.servers.find_servers([server])
    return found[server].state if found else 'gone'


def is_gone(region, lease):
    with pytest.raises(exception.NotFound):
        region.see(lease)
    return of(region, lease) == NOTHING


def findings(region):
    return region.services.audit.findings(region.now)
