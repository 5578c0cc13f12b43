# SPDX-License-Identifier: Apache-2.0
"""Servers and their lease: both or neither, even if a process dies in
between.
"""

import dataclasses
import uuid

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.db.leases import due_leases
from nova_reservations.db.leases import leased_servers
from nova_reservations.engine.booking import lease_requests
from nova_reservations.testing.region import minutes
from nova_reservations.testing.steps import Killed
from nova_reservations.testing.steps import Steps
from nova_reservations.types.servers import host
from nova_reservations.types.servers import server


@pytest.fixture
def region(make_region):
    return make_region(
        'one',
        types={objects.HOST: host.PhysicalHost, objects.SERVER: server.Server},
    )


def request(region, start=0, end=60, **asked):
    return region.server_leases.request(
        lease_requests.NewLease(
            name='a lease',
            project_id='lessee',
            user_id='user',
            start=region.now + minutes(start),
            end=region.now + minutes(end),
            before_end=None,
            reservations=(
                lease_requests.NewReservation(objects.SERVER, asked),
            ),
        ),
        region.now,
    )


def record(region, lease, name=None):
    name = name or str(uuid.uuid4())
    region.server_leases.record(lease.id, name, region.now)
    return name


def boot(region, name, state='active'):
    region.cloud.instances[name] = ports.Server(name, 'lessee', 'one', state)


def build(region, name):
    region.cloud.instances[name] = dataclasses.replace(
        region.cloud.instances[name], state='active'
    )


def made(region, count=1, **asked):
    """Return a lease of servers that Nova is building."""
    lease = request(region, **asked)
    names = [record(region, lease) for _ in range(count)]
    for name in names:
        boot(region, name, 'building')
    region.server_leases.accept(lease.id, region.now)
    return lease, names


def reservation(region, lease):
    return region.see(lease).server_reservation


def test_a_lease_is_active_when_its_server_runs(region):
    lease, [name] = made(region, end=120)
    region.work()
    assert region.status(lease) == 'STARTING'
    assert name in region.see(lease).status_reason
    build(region, name)
    region.forward(until=1)
    assert region.status(lease) == 'ACTIVE'
    assert region.see(lease).status_reason is None
    assert region.told(lease) == ['create', 'event.start_lease']


def test_nothing_is_told_of_a_lease_that_nova_refuses(region):
    lease = request(region)
    region.server_leases.refuse(lease.id, region.now)
    with pytest.raises(exception.NotFound):
        region.see(lease)
    assert region.notes == []


def test_a_lease_without_an_answer_waits_for_five_minutes(region):
    lease = request(region)
    region.forward(until=4.9)
    assert region.status(lease) == 'CREATING'
    region.forward(until=5)
    assert region.status(lease) == 'ERROR'
    assert 'has made none' in region.see(lease).status_reason
    assert not region.see(lease).in_nova


def test_without_an_answer_servers_that_are_there_count(region):
    lease = request(region)
    name = record(region, lease)
    boot(region, name)
    region.forward(until=5)
    assert region.status(lease) == 'ACTIVE'
    # The request has waited, and accepts the lease only now.
    region.server_leases.accept(lease.id, region.now)
    assert region.status(lease) == 'ACTIVE'


def test_a_server_that_was_never_made_is_none(region):
    lease = request(region)
    record(region, lease)
    region.forward(until=5)
    assert region.status(lease) == 'ERROR'


def test_no_server_is_made_for_a_lease_that_was_given_up(region):
    lease = request(region)
    region.forward(until=5)
    with pytest.raises(exception.InvalidState, match='too long'):
        record(region, lease)
    assert reservation(region, lease).servers == ()


def test_a_server_made_for_a_lease_that_was_given_up_is_deleted(region):
    lease = request(region, on_end='create_image')
    name = record(region, lease)
    region.forward(until=5)
    assert region.status(lease) == 'ERROR'
    boot(region, name)
    with pytest.raises(exception.InvalidState):
        region.server_leases.accept(lease.id, region.now)
    region.server_leases.refuse(lease.id, region.now)
    region.forward(until=6)
    assert region.cloud.instances == {}
    with pytest.raises(exception.NotFound):
        region.see(lease)


def test_to_record_a_server_and_to_give_up_are_one_after_the_other(region):
    lease = request(region)
    region.now += minutes(5)
    recorded = []

    def just_before(step):
        if not recorded:
            recorded.append(name := str(uuid.uuid4()))
            boot(region, name)
            region.database.before = lambda step: None
            record(region, lease, name)

    original = region.types[objects.SERVER].exists

    def exists(booking):
        found = original(booking)
        if not recorded:
            just_before('')
        return found

    region.types[objects.SERVER].exists = exists
    region.work()
    assert region.status(lease) == 'ACTIVE'
    assert reservation(region, lease).living == tuple(recorded)


@pytest.mark.parametrize('there', [True, False])
def test_whenever_the_request_dies_its_lease_is_resolved(make_region, there):
    """Kill nova-api before each of its transactions in turn."""
    number = 0
    while True:
        number += 1
        region = make_region(
            'one',
            types={objects.SERVER: server.Server},
        )

        def die(step):
            raise Killed

        with Steps(region, number, die) as steps:
            try:
                lease = request(region)
                name = record(region, lease)
                if there:
                    boot(region, name)
                region.server_leases.accept(lease.id, region.now)
            except Killed:
                pass
        region.forward(until=6)
        statuses = {
            str(one.status)
            for one in region.lease_lists.find(objects.LeaseQuery())
        }
        if region.cloud.instances:
            assert statuses == {'ACTIVE'}
        else:
            assert statuses <= {'ERROR', 'STARTING'}
        if not steps.reached:
            break
    assert number == 4


@pytest.mark.parametrize('start', [0, 30])
def test_a_server_that_can_not_be_built_ends_it_in_error(region, start):
    lease, [name] = made(region, start=start)
    region.work()
    region.cloud.instances[name] = dataclasses.replace(
        region.cloud.instances[name], state='error', fault='No valid host'
    )
    region.forward(until=1)
    assert region.status(lease) == 'ERROR'
    assert 'No valid host' in region.see(lease).status_reason
    # The owner sees the server in Nova, and deletes it there.
    assert name in region.cloud.instances
    region.delete(lease)
    with pytest.raises(exception.NotFound):
        region.see(lease)


def test_a_lease_is_of_the_other_servers_if_one_can_not_be_built(
    region,
):
    lease, [one, two] = made(region, count=2)
    build(region, one)
    region.cloud.instances[two] = dataclasses.replace(
        region.cloud.instances[two], state='error'
    )
    region.forward(until=1)
    assert region.status(lease) == 'ACTIVE'
    region.forward(until=61)
    assert region.status(lease) == 'TERMINATED'
    assert region.cloud.instances == {}


@pytest.mark.parametrize('start', [0, 30])
def test_a_lease_ends_when_all_its_servers_are_released(region, start):
    lease, names = made(region, count=2, start=start)
    for name in names:
        build(region, name)
    region.work()
    for name in names:
        region.cloud.instances.pop(name, None)
        region.cloud.at_rest.pop(name, None)
        assert region.status(lease) in ('ACTIVE', 'PENDING')
        with region.database.writer() as session:
            leased_servers.release(session, [name], region.now)
            due_leases.hurry(session, [lease.id], region.now)
        region.work()
    assert region.status(lease) == 'TERMINATED'
    assert reservation(region, lease).living == ()


def test_servers_are_shown_in_the_order_of_their_making(region):
    lease, names = made(region, count=12)
    assert [one.uuid for one in reservation(region, lease).servers] == names


def test_leases_that_wait_do_not_wait_for_a_lease_of_servers(region):
    """A lease of servers that is CREATING holds up no waiting lease."""
    lease = request(region)
    region.lease(end=4)
    waits = region.retry(end=60)
    region.forward(until=2)
    assert region.status(waits) == 'CREATING'
    assert region.status(lease) == 'CREATING'
    region.forward(until=4)
    assert region.status(waits) == 'ACTIVE'


def test_a_server_with_a_lease_of_its_own_joins_no_other(region):
    _, [name] = made(region)
    other = region.active_lease()
    check = region.server_leases.check_resize
    with pytest.raises(exception.InvalidState, match='in one reservation'):
        check(name, other.reservations[0].id)
    check(name, 'm1.small')
