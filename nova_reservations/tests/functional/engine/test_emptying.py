# SPDX-License-Identifier: Apache-2.0
"""Servers of leases leave a host that is drained."""

import pytest

from nova_reservations import objects
from nova_reservations.db.holdings import cordons as cordon_rows


@pytest.fixture
def drained(region):
    """A leased host, its lease, and a server of the lease that runs there."""
    lease = region.active_lease()
    [name] = region.hosts_of(lease)
    return name, lease, region.cloud.boot(name, 'lessee')


def drain(region, name, moves_servers=True):
    [host] = region.hosts.find(objects.HostQuery(name=name))
    return region.services.maintenance.drain(
        host.id, region.now, moves_servers
    )


def look(region):
    region.work()
    region.healing.check_replaced(region.now)


def host_of(region, server):
    return region.cloud.instances[server].host


def test_servers_go_to_the_other_host_of_the_lease(region, drained):
    name, lease, server = drained
    held = drain(region, name)
    assert (list(held.servers), held.occupants[0].is_leaving) == (
        [server],
        True,
    )
    look(region)
    [other] = region.aggregate_of(lease)
    assert host_of(region, server) == other != name
    region.look()
    assert region.hosts_of(lease) == {other}
    held = drain(region, name)
    assert (held.servers, held.occupants) == ([], [])


def test_servers_that_are_only_listed_stay(region, drained):
    name, _, server = drained
    drain(region, name)
    assert list(drain(region, name, moves_servers=False).servers) == [server]
    look(region)
    assert host_of(region, server) == name


def test_servers_stay_until_the_lease_has_the_other_host_in_nova(
    region, drained
):
    name, _, server = drained
    drain(region, name)
    region.healing.check_replaced(region.now)
    assert host_of(region, server) == name


def test_a_server_of_somebody_else_stays(region, drained):
    name, _, _ = drained
    stranger = region.cloud.intrude(name, 'lessee')
    drain(region, name)
    look(region)
    assert host_of(region, stranger) == name


def test_a_server_that_can_not_be_moved_is_told_and_not_tried_without_end(
    region, drained
):
    name, lease, server = drained
    region.cloud.broken.add(server)
    drain(region, name)
    for _ in range(3):
        look(region)
    assert region.cloud.writes.count('drain server') == 1
    [host] = region.hosts.find(objects.HostQuery(name=name))
    with region.database.reader() as session:
        [held] = cordon_rows.find(session, host.id)
    assert held.stays_because == (
        f'server {server}: Nova has failed to move it'
    )
    assert lease.id == held.lease_id


def test_a_failed_move_is_tried_again_when_an_operator_asks_again(
    region, drained
):
    name, _, server = drained
    region.cloud.broken.add(server)
    drain(region, name)
    for _ in range(2):
        look(region)
    region.cloud.broken.clear()
    region.forward(until=1)
    [held] = drain(region, name).occupants
    assert held.stays_because
    look(region)
    assert host_of(region, server) != name


def test_a_move_that_takes_long_is_followed_by_whoever_looks(region, drained):
    name, lease, server = drained
    region.cloud.slow_servers.add(server)
    drain(region, name)
    look(region)
    assert region.cloud.instances[server].task == 'migrating'
    look(region)
    assert name in region.hosts_of(lease)
    region.cloud.finish_moves()
    region.look()
    assert region.cloud.writes.count('drain server') == 1
    assert name not in region.hosts_of(lease)


def test_an_uncordoned_host_keeps_what_it_has(region, drained):
    name, _, server = drained
    drain(region, name)
    region.work()
    [host] = region.hosts.find(objects.HostQuery(name=name))
    region.services.maintenance.uncordon(host.id, region.now)
    region.healing.check_replaced(region.now)
    assert host_of(region, server) == name


def test_a_lease_that_ends_has_nothing_moved(region, drained):
    name, lease, _ = drained
    drain(region, name)
    region.work()
    region.delete(lease)
    assert region.cloud.writes.count('drain server') == 0
