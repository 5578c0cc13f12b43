# SPDX-License-Identifier: Apache-2.0
"""Host states know the reservations of hosts, and are weighed by them."""

from nova.scheduler import weights
import pytest

from nova_reservations import objects
from nova_reservations.scheduler import weighers
from nova_reservations.scheduler.consumers import reserved
from nova_reservations.tests.unit.scheduler import hosts

MINE = '11111111-1111-4111-8111-111111111111'
THEIRS = '22222222-2222-4222-8222-222222222222'


def hinted(reservation_id=MINE):
    return hosts.request(hints={'reservation': [reservation_id]})


def by_flavor(reservation_id=MINE):
    key = f'resources:{objects.slot_class(reservation_id)}'
    return hosts.request(**{key: '1'})


def holding(reservation_id=MINE, slots_left=None, **attributes):
    share = reserved.Reserved(reservation_id, 'project', slots_left)
    return hosts.host(
        held={reserved.NAME: {reservation_id: share}}, **attributes
    )


def by_group(group):
    key = f'resources{group}:{objects.slot_class(MINE)}'
    return hosts.request(**{key: '1'})


@pytest.mark.parametrize(
    'request_spec', [hinted(), by_flavor(), by_group('1'), by_group('_A')]
)
def test_a_request_names_its_reservation_by_hint_or_flavor(request_spec):
    assert reserved.wanted(request_spec) == MINE


@pytest.mark.parametrize(
    'request_spec',
    [hosts.request(), hosts.request(cu='1'), by_group('_of_mine!')],
)
def test_other_requests_name_none(request_spec):
    assert reserved.wanted(request_spec) is None


def test_slots_are_found_below_the_host():
    summaries = {
        'host': {
            'root_provider_uuid': 'host',
            'resources': {'VCPU': {'capacity': 8, 'used': 8}},
        },
        'child': {
            'root_provider_uuid': 'host',
            'resources': {
                objects.slot_class(MINE): {'capacity': 4, 'used': 1},
                objects.slot_class(THEIRS): {'capacity': 2, 'used': 2},
                'CUSTOM_RESERVATION_LAB': {'capacity': 9, 'used': 0},
            },
        },
    }
    assert reserved.slots_left(summaries) == {
        ('host', MINE): 3,
        ('host', THEIRS): 0,
    }


def test_a_server_takes_a_slot_of_its_own_reservation_only():
    mine = reserved.Reserved(MINE, 'project', 3)
    theirs = reserved.Reserved(THEIRS, 'other', 3)
    whole = reserved.Reserved(MINE, 'project', None)
    for request_spec in (hinted(), by_flavor()):
        assert mine.after(request_spec).slots_left == 2
        assert theirs.after(request_spec) == theirs
        assert whole.after(request_spec) == whole


def best(states, request_spec):
    weigher = weighers.ReservedAggregatesWeigher()
    weigher.weight_multiplier = lambda host: 1.0
    found = weights.HostWeightHandler().get_weighed_objects(
        [weigher], states, request_spec
    )
    return found[0].obj


def test_the_host_with_the_fewest_slots_left_is_filled_first():
    few, many = holding(slots_left=1), holding(slots_left=5)
    assert best([many, few], hinted()) is few


def test_of_hosts_reserved_whole_the_one_in_use_comes_first():
    empty = holding(num_instances=0)
    in_use = holding(num_instances=3)
    assert best([empty, in_use], hinted()) is in_use


def test_requests_without_a_reservation_keep_away_from_reserved_hosts():
    free, taken = hosts.host(), holding()
    assert best([taken, free], hosts.request()) is free
    assert best([taken, free], hinted(THEIRS)) is free
