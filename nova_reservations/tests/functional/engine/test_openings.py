# SPDX-License-Identifier: Apache-2.0
"""A refusal tells a time at which the same request is accepted."""

from hypothesis import given
from hypothesis import strategies as st
import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.testing import region as regions
from nova_reservations.testing.region import minutes
from nova_reservations.tests.functional.engine import test_instances

NAMES = ('one', 'two', 'three')


def refusal(call, *args, **asked):
    with pytest.raises(exception.NotEnoughResources) as caught:
        call(*args, **asked)
    return caught.value


def minute(region, error, key='earliest_start'):
    """Return the time that an error tells, in minutes from now; None if it
    tells none."""
    told = error.values.get(key)
    return told and (told - region.now) / minutes(1)


class TestANewLease:
    def test_is_told_when_enough_are_free_for_as_long(self, region):
        region.lease(start=0, end=60, minimum=2)
        region.lease(start=90, end=120, minimum=2)
        error = refusal(region.lease, start=30, end=70, minimum=2)
        assert str(error).endswith(
            '2 wanted; 2 are free for as long from 2030-01-01 14:00'
        )
        assert minute(region, error) == 120

    def test_is_told_of_the_time_for_cleaning_too(self, make_region):
        region = make_region('one', cleaning_time=minutes(10))
        region.lease(start=0, end=60)
        assert minute(region, refusal(region.lease, start=30, end=90)) == 70

    def test_is_told_when_a_host_that_is_not_left_yet_may_be_free(
        self, make_region
    ):
        region = make_region('one')
        region.active_lease(end=60)
        region.cloud.leftovers['one'].add('something')
        region.forward(until=61)
        error = refusal(region.lease, end=60)
        assert minute(region, error) == pytest.approx(1 / 60)
        assert str(error).endswith('from 2030-01-01 13:01:01')

    @pytest.mark.parametrize(
        'named',
        [
            '["==", "$service_name", "one"]',
            '["not", ["!=", "$hypervisor_hostname", "one.example.org"]]',
            '{"id": "<= 1"}',
        ],
    )
    def test_is_not_told_when_a_host_of_a_name_is_free(
        self, make_region, named
    ):
        region = make_region('one')
        region.lease(start=0, end=60)
        error = refusal(region.lease, end=60, hypervisor_properties=named)
        assert not error.values.get('earliest_start')
        assert 'from' not in str(error)

    def test_is_told_nothing_if_there_never_are_enough(self, region):
        error = refusal(region.lease, minimum=4)
        assert str(error).endswith('4 wanted')
        assert not minute(region, error)

    def test_is_told_when_its_hosts_are_free_and_not_others(self, make_region):
        region = make_region()
        for name in NAMES:
            region.add_host(name, enrol=False)
            region.enrol(name, rack=name)
        asked = {'resource_properties': '["==", "$rack", "two"]'}
        region.lease(end=60, **asked)
        error = refusal(region.lease, **asked)
        assert str(error).endswith(
            '1 is free for as long from 2030-01-01 13:00'
        )

    def test_is_told_when_all_of_its_reservations_find_room(self, region):
        region.lease(end=60, minimum=2)
        region.lease(end=90)
        item = (objects.HOST, {'min': 1, 'max': 1})
        error = refusal(region.lease_of, item, item, item)
        assert 'there is room for as long from 2030-01-01 13:30' in str(error)

    def test_is_told_when_there_is_room_for_all_of_its_servers(
        self, make_region
    ):
        region = make_region('one', 'two', types=test_instances.TYPES)
        region.lease_of(test_instances.slots(16), end=60)
        error = refusal(region.lease_of, test_instances.slots(9), end=60)
        assert 'there is room for as long from 2030-01-01 13:00' in str(error)


class TestAProlongedLease:
    def test_is_told_until_when_it_keeps_its_hosts(self, region):
        lease = region.active_lease(end=60, minimum=2)
        region.lease(start=90, end=120, minimum=2)
        error = refusal(region.change, lease, end=100)
        assert str(error).endswith(
            'it can be prolonged until 2030-01-01 13:30'
        )
        assert minute(region, error, 'latest_end') == 90

    def test_may_change_its_hosts_if_it_has_not_begun(self, region):
        lease = region.lease(start=10, end=60)
        region.lease(start=60, end=70)
        region.lease(start=80, end=100, minimum=3)
        error = refusal(region.change, lease, end=90)
        assert minute(region, error, 'latest_end') == 80

    def test_is_not_told_when_a_host_of_a_name_is_taken(self, make_region):
        region = make_region('one')
        lease = region.active_lease(
            end=60, hypervisor_properties='["==", "$service_name", "one"]'
        )
        region.lease(start=90, end=120)
        error = refusal(region.change, lease, end=100)
        assert not error.values.get('latest_end')
        assert 'prolonged' not in str(error)

    def test_is_told_nothing_if_it_can_not_be_prolonged(self, region):
        lease = region.active_lease(end=60, minimum=3)
        region.lease(start=60, end=120)
        error = refusal(region.change, lease, end=61)
        assert 'prolonged' not in str(error)

    def test_is_told_nothing_if_it_asked_for_no_more_time(self, region):
        lease = region.lease(end=60)
        region.lease(end=60, minimum=2)
        error = refusal(region.change, lease, min=2, max=2)
        assert not error.values.keys() & {'earliest_start', 'latest_end'}

    def test_is_told_with_all_else_that_it_asks_for(self, region):
        lease = region.active_lease(end=60)
        region.lease(start=70, end=100, minimum=2)
        error = refusal(region.change, lease, end=90, min=2, max=2)
        assert minute(region, error, 'latest_end') == 70


def spans(last):
    return st.tuples(
        st.integers(0, last), st.integers(1, last), st.integers(1, 3)
    )


def region_with(tmp_path_factory, booked, cleaning, **options):
    """Return a region in which others have the hosts that they could get."""
    region = regions.Factory(tmp_path_factory.mktemp('region'))(
        *NAMES, cleaning_time=minutes(cleaning), **options
    )
    for start, length, count in booked:
        try:
            region.lease(start=start, end=start + length, minimum=count)
        except exception.NotEnoughResources:
            continue
    return region


@given(st.lists(spans(40), max_size=8), spans(40), st.integers(0, 3))
def test_a_lease_is_accepted_at_the_start_that_its_refusal_tells(
    tmp_path_factory, booked, wanted, cleaning
):
    region = region_with(tmp_path_factory, booked, cleaning)
    start, length, count = wanted
    try:
        region.lease(start=start, end=start + length, minimum=count)
    except exception.NotEnoughResources as error:
        told = minute(region, error)
        assert told is not None and told > start
        region.lease(start=told, end=told + length, minimum=count)
    region.close()


@given(
    st.lists(spans(40), max_size=8),
    spans(40),
    st.integers(1, 20),
    st.integers(0, 3),
)
def test_a_lease_is_prolonged_until_the_end_that_its_refusal_tells(
    tmp_path_factory, booked, wanted, more, cleaning
):
    region = region_with(tmp_path_factory, [], cleaning)
    start, length, count = wanted
    lease = region.lease(start=start, end=start + length, minimum=count)
    region.work()
    for begin, lasts, hosts in booked:
        try:
            region.lease(start=begin, end=begin + lasts, minimum=hosts)
        except exception.NotEnoughResources:
            continue
    try:
        region.change(lease, end=start + length + more)
    except exception.NotEnoughResources as error:
        told = minute(region, error, 'latest_end')
        if told is not None:
            assert start + length < told < start + length + more
            region.change(lease, end=told)
    region.close()


@given(
    st.lists(st.tuples(spans(40), st.booleans()), max_size=8),
    spans(40),
    st.sampled_from([None, True, False]),
    st.integers(0, 3),
)
def test_slots_are_accepted_at_the_start_that_their_refusal_tells(
    tmp_path_factory, booked, wanted, affinity, cleaning
):
    region = region_with(
        tmp_path_factory, [], cleaning, types=test_instances.TYPES
    )
    for (start, length, count), is_whole in booked:
        item = (
            (objects.HOST, {'min': count, 'max': count})
            if is_whole
            else test_instances.slots(6 * count)
        )
        try:
            region.lease_of(item, start=start, end=start + length)
        except exception.NotEnoughResources:
            continue
    start, length, count = wanted
    item = test_instances.slots(
        count if affinity is False else 4 * count, affinity=affinity
    )
    try:
        region.lease_of(item, start=start, end=start + length)
    except exception.NotEnoughResources as error:
        told = minute(region, error)
        if told is not None:
            assert told > start
            region.lease_of(item, start=told, end=told + length)
    region.close()
