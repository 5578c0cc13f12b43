# SPDX-License-Identifier: Apache-2.0
"""Hosts as rows, on every database."""

import dataclasses

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import counters
from nova_reservations.db.holdings import allocations
from nova_reservations.db.holdings import withdrawals
from nova_reservations.db.resources import hosts
from nova_reservations.db.resources import properties
from nova_reservations.db.resources import resources
from nova_reservations.testing import fake_cloud
from nova_reservations.tests import booking
from nova_reservations.tests.booking import NOW


@pytest.fixture
def session(any_database):
    with any_database.writer() as session:
        yield session


def names(session, **query):
    return [
        host.facts.service_host
        for host in hosts.find(session, objects.HostQuery(**query))
    ]


def test_a_host_is_read_as_it_was_written(session):
    facts = fake_cloud.facts('one', cpu_info='{"名": "🧊"}')
    host_id = hosts.insert(session, facts, {'gpu': '4', 'Rack': 'x y'}, NOW)
    host = hosts.get(session, host_id)
    assert host.facts == facts
    assert host.properties == {'gpu': '4', 'Rack': 'x y'}
    assert not host.reservable
    assert hosts.by_uuid(session, facts.uuid) == host


def test_a_node_is_enrolled_once(any_database):
    with any_database.writer() as session:
        booking.enrol(session, 'one')
    with pytest.raises(exception.Conflict):
        with any_database.writer() as session:
            booking.enrol(session, 'one')


def test_two_hosts_never_have_one_name(any_database):
    with any_database.writer() as session:
        booking.enrol(session, 'one')
        booking.enrol(session, 'two')
        [two] = hosts.find(session, objects.HostQuery(name='two'))
    other = dataclasses.replace(
        fake_cloud.facts('one'), uuid='6f0c1a52-8f0e-4f0e-9a63-5d4b7c1e2f30'
    )
    with pytest.raises(exception.Conflict):
        with any_database.writer() as session:
            hosts.insert(session, other, {}, NOW)
    with pytest.raises(exception.Conflict):
        with any_database.writer() as session:
            hosts.set_facts(
                session,
                two.id,
                dataclasses.replace(two.facts, service_host='one'),
                NOW,
            )


def test_another_machine_takes_the_place_of_a_host_once(session):
    facts = fake_cloud.facts('one')
    host_id = hosts.insert(session, facts, {'gpu': '4'}, NOW)
    hosts.set_reservable(session, host_id, True, NOW)
    host = hosts.get(session, host_id)
    other = dataclasses.replace(
        facts, uuid='6f0c1a52-8f0e-4f0e-9a63-5d4b7c1e2f30', vcpus=7
    )
    assert hosts.replace(session, host.resource, other, NOW)
    after = hosts.get(session, host_id)
    assert (after.facts, after.properties) == (other, {'gpu': '4'})
    assert not after.reservable
    assert hosts.lost(session) == [host_id]
    assert not hosts.replace(session, host.resource, other, NOW)


def test_a_list_has_what_its_filters_say(session):
    for name, zone in (('a', 'x'), ('b', 'y'), ('c', 'y')):
        booking.enrol(session, name, availability_zone=zone)
    assert names(session) == ['a', 'b', 'c']
    assert names(session, name='b') == ['b']
    assert names(session, name='b.example.org') == ['b']
    assert names(session, availability_zone='y') == ['b', 'c']
    first, second = resources.ids(session, objects.HOST, 0, limit=2)
    [_] = resources.ids(session, objects.HOST, second, limit=2)
    assert names(session, marker=first, limit=1) == ['b']


def test_generations_that_we_moved_are_known_where_the_rest_is(session):
    ids = {
        name: booking.enrol(session, name, provider_generation=7)
        for name in ('one', 'two', 'three', 'four')
    }
    uuid = {name: fake_cloud.facts(name).uuid for name in ids}
    hosts.move_provider_generations(
        session,
        {
            uuid['one']: (7, 8),
            uuid['two']: (7, 9),
            # Somebody else has changed the provider before, from 7 to 8.
            uuid['three']: (8, 9),
            'of nobody that is enrolled': (7, 8),
        },
    )
    assert {
        name: hosts.get(session, number).facts.provider_generation
        for name, number in ids.items()
    } == {'one': 8, 'two': 9, 'three': 7, 'four': 7}


def test_facts_are_replaced_and_disturb_plans(session):
    host_id = booking.enrol(session, 'one')
    facts = fake_cloud.facts(
        'one', vcpus=1, traits=frozenset({'CUSTOM_X'}), inventories=()
    )
    hosts.set_facts(session, host_id, facts, NOW)
    assert hosts.get(session, host_id).facts == facts
    with pytest.raises(exception.Conflict):
        allocations.advance(session, {host_id: 0})


def test_a_new_generation_of_the_provider_disturbs_none(session):
    host_id = booking.enrol(session, 'one')
    hosts.set_provider_generations(session, {host_id: (7, 'tree')})
    allocations.advance(session, {host_id: 0})
    uuid = fake_cloud.facts('one').uuid
    assert hosts.marks(session) == {
        uuid: hosts.Mark(host_id, 7, 'nova', 'a cell', 'tree', '')
    }


def test_a_host_that_is_not_reservable_is_not_booked(session):
    host_id = booking.enrol(session, 'one', reservable=False)
    with pytest.raises(exception.Conflict):
        allocations.advance(session, {host_id: 0})


def test_a_deleted_host_leaves_nothing_behind(session):
    host_id = booking.enrol(session, 'one', properties={'gpu': '4'})
    booking.book(session, host_id, 1, 2, released=True)
    session.flush()
    withdrawals.remove_host(session, host_id)
    assert hosts.by_uuid(session, fake_cloud.facts('one').uuid) is None
    assert properties.find(session, include_private=True) == []
    booking.enrol(session, 'one')


def test_a_host_that_is_held_is_not_deleted(session):
    host_id = booking.enrol(session, 'one')
    booking.book(session, host_id, 1, 2)
    session.flush()
    with pytest.raises(exception.HostInUse):
        withdrawals.remove_host(session, host_id)


def test_the_pool_is_all_that_are_enrolled_and_its_counter_tells(session):
    before = counters.value(session, hosts.POOL)
    booking.enrol(session, 'one')
    two = booking.enrol(session, 'two', reservable=False)
    assert hosts.pool(session) == {'one', 'two'}
    assert counters.value(session, hosts.POOL) == before + 2
    withdrawals.remove_host(session, two)
    assert hosts.pool(session) == {'one'}
    assert counters.value(session, hosts.POOL) == before + 3
    assert hosts.is_enrolled(session, 'one.example.org')
    assert not hosts.is_enrolled(session, 'two')


def test_properties_are_listed_with_their_values(session):
    booking.enrol(session, 'one', properties={'gpu': '4', 'rack': 'a'})
    booking.enrol(session, 'two', properties={'gpu': '8'})
    properties.set_private(session, 'rack', True, NOW)
    listed = properties.find(session, include_private=False)
    assert [(one.name, one.values) for one in listed] == [('gpu', ('4', '8'))]
    names = [one.name for one in properties.find(session, True)]
    assert names == ['gpu', 'rack']


def test_a_property_that_nothing_has_is_not_found(session):
    with pytest.raises(exception.NotFound):
        properties.set_private(session, 'rack', True, NOW)


def test_a_host_is_a_resource(session):
    host = hosts.get(session, booking.enrol(session, 'one'))
    facts = host.facts
    assert dataclasses.astuple(host.resource) == (
        host.id,
        objects.HOST,
        'one',
        facts.uuid,
    )
