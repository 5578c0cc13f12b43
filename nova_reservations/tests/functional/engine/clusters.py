# SPDX-License-Identifier: Apache-2.0
"""A type of resource for tests that expands into hosts, slots and addresses.

The servers of a cluster are created in its slots, one after the other.
"""

from typing import ClassVar
import uuid

from nova_reservations import objects
from nova_reservations.objects import address
from nova_reservations.testing import addresses
from nova_reservations.testing import copies
from nova_reservations.types import base
from nova_reservations.types import complex as complex_types
from nova_reservations.types.neutron import floatingip
from nova_reservations.types.servers import host
from nova_reservations.types.servers import instance

CLUSTER = 'test:cluster'
SLOTS = 'virtual:instance'


class Cluster(complex_types.Complex):
    """:cvar sizes: names of its params."""

    sizes: ClassVar = ('machines', 'nodes', 'addresses')
    schema: ClassVar = {
        'type': 'object',
        'properties': {
            name: {'type': 'integer', 'minimum': 0} for name in sizes
        },
        'additionalProperties': False,
    }
    update_schema: ClassVar = schema

    def validate(self, asked):
        return {name: asked.get(name, 0) for name in self.sizes}

    def expand(self, params, project_id):
        asked = {
            'machines': (objects.HOST, hosts(params['machines'])),
            'nodes': (SLOTS, slots(params['nodes'])),
            'addresses': addresses.asked(params['addresses']),
        }
        return [
            complex_types.Part(name, *asked[name])
            for name in self.sizes
            if params[name]
        ]

    def start(self, booking):
        names = servers(
            booking.reservation, booking.reservation.params['nodes']
        )
        missing = [name for name in names if name not in self.cloud.instances]
        if not missing:
            return None
        booking.check()
        self.cloud.write('create server')
        nodes = booking.parts['nodes'].reservation.id
        at = self.cloud.free_slots(nodes)[0]
        self.cloud.boot(at, booking.lease.project_id, missing[0])
        self.cloud.reservation_of[missing[0]] = nodes
        return (
            base.Waiting('its servers are being made') if missing[1:] else None
        )

    def update(self, booking):
        while self.start(booking):
            pass

    def end(self, booking):
        there = [
            name
            for name in servers(booking.reservation)
            if name in self.cloud.instances
        ]
        if not there:
            return None
        booking.check()
        self.cloud.write('delete server')
        del self.cloud.instances[there[0]]
        return (
            base.Waiting('its servers are being deleted')
            if there[1:]
            else None
        )


def servers(reservation, count=10):
    """Return the names of the first servers of a cluster."""
    return [
        str(uuid.uuid5(uuid.UUID(reservation.id), str(number)))
        for number in range(count)
    ]


def hosts(count):
    return {'min': count, 'max': count}


def slots(amount):
    """Return the params of slots; a host has room for eight of them."""
    return {
        'vcpus': 8,
        'memory_mb': 1024,
        'disk_gb': 10,
        'amount': amount,
        'affinity': None,
        'resource_properties': '',
        'consume': 'open',
    }


TYPES = {
    objects.HOST: host.PhysicalHost,
    SLOTS: instance.VirtualInstance,
    address.FLOATING_IP: floatingip.FloatingIP,
    CLUSTER: Cluster,
}
KINDS = copies.Kinds(tuple(TYPES.items()), tuple(addresses.MONITORS))


def region_of(make_region, story):
    """Return a region with two hosts and two addresses after a story, and the
    lease that the story returns."""
    return copies.after(make_region, story, 'one', 'two', kinds=KINDS)


def nothing(region):
    """Enrol addresses; nothing is leased yet."""
    addresses.enrol(region, 101, 102)


def ask(region, machines=1, nodes=2, addresses=1, **more):
    sizes = {'machines': machines, 'nodes': nodes, 'addresses': addresses}
    return region.lease_of((CLUSTER, sizes), **more)


def parts_of(lease):
    """Return name -> part of the lease's only cluster."""
    return lease.parts_of(lease.reservations[0].id)


def statuses(region, lease):
    """Return the statuses of the cluster and of its parts."""
    return [str(item.status) for item in region.see(lease).reservations]


def in_cloud(region, lease):
    """Return how many servers, aggregates and addresses the lease has in the
    cloud."""
    ids = {item.id for item in region.see(lease).reservations}
    return (
        len(region.cloud.instances),
        len(ids & region.cloud.aggregate_hosts.keys()),
        len(addresses.there(region)),
    )
