# SPDX-License-Identifier: Apache-2.0
"""The runs of the scheduler for one request, and the result that
nova-conductor gets."""

import json
import types

from hypothesis import given
from hypothesis import strategies as st
import oslo_messaging
import pytest

from nova_reservations import exception
from nova_reservations.cloud.placement import claims
from nova_reservations.engine.leases import access
from nova_reservations.objects import amounts
from nova_reservations.scheduler import open_reservations

RESERVATION = '11111111-0000-4000-8000-000000000001'
CLAIM = '{"allocations": {"host": {"resources": {"VCPU": 1}}}}'


class Scheduler:
    """A scheduler that finds no host in some open reservations.

    :ivar full: the reservations without a host.
    :ivar opened: all open reservations of the project, by their ends.
    :ivar runs: the reservation of each run; None: outside of all.
    """

    def __init__(self, opened, full, is_whole=True):
        self.opened = opened
        self.full = full
        self.is_whole = is_whole
        self.runs = []
        self.forgotten = []

    def select(self, **asked):
        return open_reservations._select(
            self._run, None, (), self._asked(**asked)
        )

    def _asked(self, return_objects=True):
        return {
            'context': None,
            'spec_obj': 'request',
            'instance_uuids': ['server'],
            'return_objects': return_objects,
            'return_alternates': True,
        }

    def _run(self, spec_obj, return_objects, **_):
        current = open_reservations.run()
        left = (
            [name for name in self.opened if name not in current.tried]
            if current
            else []
        )
        self.runs.append(left[0] if left else None)
        if not left:
            return spec_obj
        current.sent = open_reservations.Sent(
            left[0], 'as it was', self.is_whole, len(left) > 1
        )
        current.recorded.append('server')
        current.forget = self.forgotten.extend
        if left[0] in self.full:
            raise oslo_messaging.ExpectedException()
        return [
            [types.SimpleNamespace(allocation_request=CLAIM) for _ in range(3)]
            if return_objects
            else {'host': 'name'}
        ]


def test_a_project_without_open_reservations_is_scheduled_once():
    scheduler = Scheduler([], [])
    assert scheduler.select() == 'request'
    assert scheduler.runs == [None]


def test_the_next_is_tried_where_hosts_are_full():
    scheduler = Scheduler(['first', 'second'], ['first'])
    scheduler.select()
    assert scheduler.runs == ['first', 'second']
    assert scheduler.forgotten == ['server']


def test_a_server_is_an_ordinary_one_where_all_hosts_are_full():
    scheduler = Scheduler(['first', 'second'], ['first', 'second'])
    assert scheduler.select() == 'as it was'
    assert scheduler.runs == ['first', 'second', None]


def test_no_more_than_some_are_tried():
    names = [str(number) for number in range(32)]
    scheduler = Scheduler(names, names)
    assert scheduler.select() == 'as it was'
    most = open_reservations.MOST_TRIED
    assert scheduler.runs == [*names[:most], None]


def test_a_server_that_can_not_be_forgotten_is_not_sent_elsewhere():
    scheduler = Scheduler(['first', 'second'], ['first'])

    class Gone:
        def extend(self, _):
            raise exception.DatabaseUnavailable(reason='gone')

    scheduler.forgotten = Gone()
    with pytest.raises(oslo_messaging.ExpectedException):
        scheduler.select()
    assert scheduler.runs == ['first']


@pytest.mark.parametrize('is_whole', [True, False])
def test_alternates_of_whole_hosts_name_their_reservation(is_whole):
    scheduler = Scheduler([RESERVATION], [], is_whole)
    [[first, *alternates]] = scheduler.select()
    assert first.allocation_request == CLAIM
    for alternate in alternates:
        asked = json.loads(alternate.allocation_request)
        assert claims.name(asked) == (RESERVATION if is_whole else None)


def test_a_conductor_that_wants_no_objects_gets_what_nova_gives_it():
    scheduler = Scheduler([RESERVATION], [])
    assert scheduler.select(return_objects=False) == [{'host': 'name'}]


def test_claims_keep_what_they_say_already():
    asked = {**json.loads(CLAIM), 'mappings': {'': ['host']}}
    told = json.loads(claims.named(json.dumps(asked), RESERVATION))
    assert told.pop('mappings').items() > asked.pop('mappings').items()
    assert told == asked


AMOUNTS = st.dictionaries(
    st.sampled_from(['VCPU', 'MEMORY_MB', 'VGPU/2']), st.integers(1, 2)
).map(amounts.Amounts)


@given(
    asked=AMOUNTS,
    slots=st.lists(st.none() | AMOUNTS, max_size=6),
    data=st.data(),
)
def test_servers_leave_the_larger_slots_to_those_that_need_them(
    asked, slots, data
):
    fitting = opened(
        *(slot for slot in slots if slot is None or asked.fits(slot))
    )
    found = open_reservations.in_order(asked, fitting)
    assert sorted(found, key=fitting.index) == fitting
    for earlier, later in pairs(found):
        assert not is_better(asked, later.slot, earlier.slot)
        if earlier.slot == later.slot:
            assert fitting.index(earlier) < fitting.index(later)
    shuffled = data.draw(st.permutations(fitting))
    again = open_reservations.in_order(asked, shuffled)
    assert [
        amounts_of(reservation.slot, fitting) for reservation in again
    ] == [amounts_of(reservation.slot, fitting) for reservation in found]


def test_fewer_vcpus_come_before_less_memory():
    found = open_reservations.in_order(
        amounts.Amounts({'VCPU': 1, 'MEMORY_MB': 1}),
        opened(
            None,
            amounts.Amounts({'VCPU': 4, 'MEMORY_MB': 1}),
            amounts.Amounts({'VCPU': 2, 'MEMORY_MB': 9}),
            amounts.Amounts({'VCPU': 1, 'MEMORY_MB': 1, 'DISK_GB': 0}),
        ),
    )
    assert [reservation.reservation_id for reservation in found] == [
        '3',
        '2',
        '1',
        '0',
    ]


def opened(*slots):
    return [
        access.Open(str(number), 1, slot) for number, slot in enumerate(slots)
    ]


def pairs(found):
    return (
        (earlier, later)
        for number, earlier in enumerate(found)
        for later in found[number + 1 :]
    )


def is_better(asked, slot, than):
    """Return whether a slot certainly leaves less unused than another one."""
    if slot is None or than is None:
        return than is None and slot is not None
    if than.fits(asked):
        return False
    return slot.fits(asked) or (slot.fits(than) and not than.fits(slot))


def amounts_of(slot, among):
    """Return the amounts of a slot, with a zero for each class that only
    other slots have."""
    names = {name for each in among for name in each.slot or ()}
    return slot and {name: slot[name] for name in names}
