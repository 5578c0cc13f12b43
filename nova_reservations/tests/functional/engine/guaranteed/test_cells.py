# SPDX-License-Identifier: Apache-2.0
"""Guaranteed places in a cloud of two cells. Servers for later are created
before their places, and Nova moves them only within a cell."""

import pytest

from nova_reservations import exception
from nova_reservations.tests.functional.engine.guaranteed import places


@pytest.fixture
def region(cloud_of):
    """A host in each of two cells; each has room for two servers."""
    region = cloud_of('one')
    region.cloud.cells['far1'] = 'far'
    region.add_host('far1')
    return region


def add_far(region, name):
    region.cloud.cells[name] = 'far'
    region.add_host(name)


def test_places_for_later_are_in_one_cell(region):
    with pytest.raises(exception.NotEnoughResources, match='in no cell'):
        places.request(region, 3, start=30)
    add_far(region, 'far2')
    lease = places.request(region, 3, start=30)
    assert region.hosts_of(lease) == {'far1', 'far2'}


def test_places_from_now_on_are_in_any_cell(region):
    lease = places.request(region, 3)
    assert region.hosts_of(lease) == {'one', 'far1'}


def test_a_place_for_later_is_planned_anew_in_its_cell(region):
    lease, (server,) = places.asked_for(region, start=30, end=60)
    [name] = region.hosts_of(lease)
    region.add_host('two')
    add_far(region, 'far2')
    region.lease(
        start=60,
        end=90,
        resource_properties=f'["==", "$service_name", "{name}"]',
    )
    region.change(lease, end=90)
    near = {'one': 'two', 'far1': 'far2'}[name]
    assert region.hosts_of(lease) == {near}
    region.forward(until=31)
    assert places.host_of(region, server) == near


def test_a_place_for_later_is_not_planned_anew_in_another_cell(region):
    lease, _ = places.asked_for(region, start=30, end=60)
    [name] = region.hosts_of(lease)
    region.lease(
        start=60,
        end=90,
        resource_properties=f'["==", "$service_name", "{name}"]',
    )
    with pytest.raises(exception.NotEnoughResources, match='in no cell'):
        region.change(lease, end=90)
    assert region.hosts_of(lease) == {name}


def test_the_scheduler_is_told_the_cell_of_a_place(region):
    lease = places.request(region, start=30)
    [name] = region.hosts_of(lease)
    access = region.access.find(lease.reservations[0].id)
    assert access.cells == {{'one': 'a cell', 'far1': 'far'}[name]}


@pytest.mark.parametrize('start', [0, 30])
def test_a_place_is_replaced_in_its_cell_only(region, start):
    lease, _ = places.asked_for(region, start=start)
    region.work()
    [failed] = region.hosts_of(lease)
    region.cloud.fail(failed, forced_down=True)
    region.look()
    region.soon('heal')
    region.work()
    [reservation] = region.see(lease).reservations
    assert reservation.missing_resources
    near = {'one': 'two', 'far1': 'far2'}[failed]
    if near == 'far2':
        region.cloud.cells[near] = 'far'
    region.add_host(near)
    region.soon('heal')
    region.work()
    assert near in region.hosts_of(lease)
    [reservation] = region.see(lease).reservations
    assert not reservation.missing_resources
