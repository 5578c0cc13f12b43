# SPDX-License-Identifier: Apache-2.0
"""``status_reason`` named servers, projects and hosts of others to the owner
of a lease: servers that an end waits for, servers on hosts that are emptied,
and servers on hosts that an earlier lease still has. Issue 13, item 9.
"""

import json
import logging

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.api.views import leases as view
from nova_reservations.testing.region import minutes
from nova_reservations.types.servers import host
from nova_reservations.types.servers import instance

SECRET = 'secret'
"""Each name that belongs to others contains this."""

VIRTUAL = 'virtual:instance'
TYPES = {objects.HOST: host.PhysicalHost, VIRTUAL: instance.VirtualInstance}
SLOT = {
    'vcpus': 1,
    'memory_mb': 1024,
    'disk_gb': 10,
    'amount': 1,
    'affinity': None,
    'resource_properties': '',
}


def end_beside_a_server_of_others(region):
    lease = region.active_lease()
    region.cloud.boot('one', 'secret-project', 'secret-server')
    return lease


def end_beside_an_allocation_of_others(region):
    lease = region.active_lease()
    region.cloud.leftovers['one'].add('secret-consumer')
    return lease


def end_beside_slots_of_others(region):
    lease = region.lease_of((VIRTUAL, SLOT))
    region.work()
    [reservation] = lease.reservations
    region.cloud.stuck[reservation.id] = {'secret-consumer'}
    return lease


def end_beside_a_server_of_others_in_a_slot(region):
    lease = region.lease_of((VIRTUAL, SLOT))
    region.work()
    server = region.cloud.boot('one', 'secret-project', 'secret-server')
    region.cloud.reservation_of[server] = lease.reservations[0].id
    region.cloud.slow_servers.add(server)
    return lease


def end_while_a_service_fails(region):
    lease = region.lease(end_action='shelve')
    region.work()
    [host] = region.hosts_of(lease)
    server = region.cloud.boot(host, 'lessee', 'a server')
    region.cloud.refusals[server] = objects.Reason(
        'Nova has failed at it', 'Nova has failed at it (secret-host: 501)'
    )
    return lease


def start_after_others(region):
    region.add_host('secret-host')
    first = region.lease(minimum=2, end=10, project='secret-project')
    region.work()
    server = region.cloud.boot(
        'secret-host', 'secret-project', 'secret-server'
    )
    region.cloud.slow_servers.add(server)
    region.cloud.refusals[server] = 'no'
    assert region.status(first) == 'ACTIVE'
    return region.lease(start=10, end=11, minimum=2)


def empty_hosts_of_others(region):
    region.add_drainable('secret-drainable')
    region.lease(end=200, project='secret-project')
    region.cloud.slow_servers.add('0 of secret-drainable')
    return region.best_effort()


def empty_hosts_that_stay_full(region):
    lease = empty_hosts_of_others(region)
    region.cloud.slow_servers.clear()
    region.cloud.broken.add('0 of secret-drainable')
    return lease


def empty_hosts_that_are_refused(region):
    lease = empty_hosts_of_others(region)
    region.fails(
        'mark',
        exception.CloudRefused(what='Host secret-drainable', reason='gone'),
        99,
    )
    return lease


STORIES = [
    (end_beside_a_server_of_others, [60.1]),
    (end_beside_an_allocation_of_others, [60.1]),
    (end_beside_slots_of_others, [60.1]),
    (end_beside_a_server_of_others_in_a_slot, [60.1]),
    (end_while_a_service_fails, [60.1]),
    (start_after_others, [10.1, 11.1]),
    (empty_hosts_of_others, [0.2, 1.1]),
    (empty_hosts_that_stay_full, [0.2, 1.1]),
    (empty_hosts_that_are_refused, [0.2, 1.1]),
]
"""Each story, and the minutes after noon at which the owner looks."""


@pytest.mark.parametrize(('story', 'looks'), STORIES)
def test_an_owner_reads_no_name_of_others(make_region, story, looks, caplog):
    caplog.set_level(logging.INFO)
    region = make_region(
        'one',
        types=TYPES,
        best_effort_aggregate='drainable',
        best_effort_timeout=minutes(1),
    )
    region.add_host('away', enrol=False)
    lease = story(region)
    whole = []
    for until in looks:
        region.forward(until=until)
        seen = region.see(lease)
        assert SECRET not in json.dumps(shown(region, seen, in_full=False))
        whole.append(json.dumps(shown(region, seen, in_full=True)))
    assert SECRET not in json.dumps(
        [
            payload
            for _, payload in region.notes
            if payload['lease_id'] == lease.id
        ]
    )
    assert any(SECRET in each for each in whole)
    assert any(
        SECRET in record.getMessage() and lease.id in record.getMessage()
        for record in caplog.records
    )


def shown(region, lease, in_full):
    return view.show(
        lease,
        lambda item: region.types[item.resource_type].show(item),
        in_full,
    )
