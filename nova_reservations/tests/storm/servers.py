# SPDX-License-Identifier: Apache-2.0
"""Servers come, leave, and take their time."""

from nova_reservations import objects
from nova_reservations.objects import states
from nova_reservations.tests.storm.verbs import LEASES
from nova_reservations.tests.storm.verbs import verb


@verb(4, number=LEASES, slow=(False, True))
def servers_come(world, number, slow):
    """Let servers in as nova-scheduler does: only while the lease is active,
    and into slots that are free."""
    region, lease = world.region, world.lease(number)
    if lease is None:
        return
    for item in lease.reservations:
        access = region.access.find(item.id)
        if access is None or access.status != states.Lease.ACTIVE:
            continue
        cloud = region.cloud
        if item.id in cloud.classes:
            places = cloud.free_slots(item.id)
        elif item.resource_type == objects.HOST:
            places = sorted(cloud.aggregate_hosts.get(item.id, ()))
        else:
            continue
        for host in places:
            if host in access.hosts:
                server = _boot(world, lease, item, host)
                if slow:
                    cloud.slow_servers.add(server)


def _boot(world, lease, item, host):
    region = world.region
    if item.resource_type == objects.HOST:
        return region.cloud.boot(host, lease.project_id)
    server = region.cloud.intrude(host, lease.project_id)
    region.cloud.hints[server] = item.id
    region.cloud.reservation_of[server] = item.id
    region.access.record_server(server, item.id, region.now)
    return server


@verb(2, always=True)
def servers_leave(world):
    """Finish what servers are busy with."""
    world.region.cloud.finish_tasks()
    world.region.cloud.finish_moves()


@verb(1)
def users_delete_servers(world):
    cloud = world.region.cloud
    for server in list(cloud.instances.values()):
        if server.project_id in ('ours', 'theirs'):
            cloud.delete(server, world.region.now)


@verb(1, host=('green', 'red'))
def others_use_a_drainable_host(world, host):
    """A server that can not be moved at once is on a host that may be
    emptied."""
    region = world.region
    if host in region.cloud.known and host not in region.fenced():
        server = region.cloud.intrude(host, 'somebody')
        region.cloud.slow_servers.add(server)


@verb(1, broken=(True, False))
def moves_fail(world, broken):
    cloud = world.region.cloud
    cloud.broken = (
        {
            server.uuid
            for server in cloud.instances.values()
            if server.project_id == 'somebody'
        }
        if broken
        else set()
    )
