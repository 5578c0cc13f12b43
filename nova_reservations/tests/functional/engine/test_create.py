# SPDX-License-Identifier: Apache-2.0
import datetime

import pytest

from nova_reservations import exception
from nova_reservations.testing.region import minutes
from nova_reservations.testing.region import NOON


def test_a_promised_host_can_not_be_promised_again(make_region):
    region = make_region('one', 'two')
    region.lease(start=30, end=60)
    with pytest.raises(exception.NotEnoughResources) as caught:
        region.lease(start=59, end=90, minimum=2)
    assert str(caught.value) == (
        'Not enough hosts available: 2 hosts match, 1 is taken in this '
        'window, 2 wanted; 2 are free for as long from 2030-01-01 13:00'
    )
    assert len(region.picture()['leases']) == 1


def test_leases_may_follow_each_other_without_a_gap(make_region):
    region = make_region('one')
    region.lease(start=30, end=60)
    region.lease(start=60, end=90)
    region.lease(start=0, end=30)


def test_between_leases_there_is_time_for_cleaning(make_region):
    region = make_region('one', cleaning_time=minutes(10))
    region.lease(start=30, end=60)
    for start, end in ((69, 90), (0, 21)):
        with pytest.raises(exception.NotEnoughResources):
            region.lease(start=start, end=end)
    region.lease(start=70, end=90)
    region.lease(start=0, end=20)


def test_a_lease_gets_as_many_as_it_can_use(region):
    assert len(region.hosts_of(region.lease(minimum=1, maximum=2))) == 2
    assert len(region.hosts_of(region.lease(minimum=1, maximum=2))) == 1


def test_more_than_a_page_of_hosts_are_leased_at_once(make_region):
    region = make_region(*(f'host{number}' for number in range(140)))
    assert len(region.hosts_of(region.lease(minimum=140))) == 140


def test_a_host_that_is_still_being_left_is_free_only_for_later(make_region):
    region = make_region('one')
    region.active_lease(end=60)
    region.cloud.leftovers['one'].add('something')
    region.forward(until=61)
    with pytest.raises(exception.NotEnoughResources):
        region.lease()
    region.lease(start=5)


def test_a_start_before_this_minute_is_refused(region):
    region.now += datetime.timedelta(seconds=30)
    assert region.lease(start=-0.5).start_date == NOON
    with pytest.raises(exception.InvalidInput) as caught:
        region.lease(start=-1)
    assert str(caught.value) == 'Start date must be later than current date'


@pytest.mark.parametrize('end', [29, 30])
def test_an_end_that_is_not_after_the_start_is_refused(region, end):
    with pytest.raises(exception.InvalidInput) as caught:
        region.lease(start=30, end=end)
    assert str(caught.value) == 'End date must be later than start date.'


def test_an_unknown_type_of_resource_is_refused(region):
    with pytest.raises(exception.InvalidInput) as caught:
        region.lease_of(('virtual:unicorn', {}))
    assert str(caught.value) == (
        'The virtual:unicorn resource type is not supported'
    )


def test_a_property_that_no_host_has_ever_had_is_refused(region):
    with pytest.raises(exception.InvalidInput, match='gpu'):
        region.lease(resource_properties='["==","$gpu","4"]')


def test_notifications_are_as_consumers_of_blazar_know_them(region):
    lease = region.active_lease(end=120)
    created, started = region.notes
    assert [created[0], started[0]] == [
        'lease.create',
        'lease.event.start_lease',
    ]
    payload = started[1]
    (reservation,) = payload.pop('reservations')
    events = {
        event.pop('event_type'): (event['time'], event['status'])
        for event in payload.pop('events')
    }
    assert payload == {
        'lease_id': lease.id,
        'user_id': 'user',
        'project_id': 'lessee',
        'name': 'a lease',
        'start_date': '2030-01-01T12:00:00.000000',
        'end_date': '2030-01-01T14:00:00.000000',
        'status': 'ACTIVE',
        'degraded': False,
        'created_at': '2030-01-01T12:00:00.000000',
        'updated_at': '2030-01-01T12:00:00.000000',
    }
    assert events == {
        'start_lease': ('2030-01-01T12:00:00.000000', 'DONE'),
        'before_end_lease': ('2030-01-01T13:00:00.000000', 'UNDONE'),
        'end_lease': ('2030-01-01T14:00:00.000000', 'UNDONE'),
    }
    resources = reservation.pop('resources')
    assert (resources['count'], {*resources['names']}) == (
        1,
        region.hosts_of(lease),
    )
    assert reservation == {
        'id': lease.reservations[0].id,
        'lease_id': lease.id,
        'resource_type': 'physical:host',
        'status': 'active',
        'missing_resources': False,
        'resources_changed': False,
        'min': 1,
        'max': 1,
        'hypervisor_properties': '',
        'resource_properties': '',
        'consume': 'targeted',
        'before_end': 'default',
        'end_action': 'delete',
        'end_grace': 0,
    }
