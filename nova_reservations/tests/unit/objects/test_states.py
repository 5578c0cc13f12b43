# SPDX-License-Identifier: Apache-2.0
import itertools

import pytest

from nova_reservations import exception
from nova_reservations.db import models
from nova_reservations.objects import states

FOLLOWING = states.LEASE_TRANSITIONS


def reachable(state):
    found, new = set(), {state}
    while new:
        found |= new
        new = {after for one in new for after in FOLLOWING[one]} - found
    return found


@pytest.mark.parametrize(
    ('kind', 'table'),
    [
        (states.Lease, states.LEASE_TRANSITIONS),
        (states.Reservation, states.RESERVATION_TRANSITIONS),
        (states.Event, states.EVENT_TRANSITIONS),
    ],
)
def test_every_pair_of_states_is_allowed_or_refused_as_the_table_says(
    kind, table
):
    assert set(table) == set(kind)
    for old, new in itertools.product(kind, kind):
        if new == old or new in table[old]:
            states.check(old, new, '7')
        else:
            with pytest.raises(exception.InvalidTransition, match='7'):
                states.check(old, new, '7')


def test_every_state_can_be_reached():
    found = set().union(*(reachable(first) for first in states.FIRST))
    assert found == set(states.Lease)


@pytest.mark.parametrize('state', states.Lease)
def test_every_state_leads_to_an_end(state):
    ends = {one for one, after in FOLLOWING.items() if not after}
    assert ends == {states.Lease.TERMINATED, states.Lease.DELETING}
    assert reachable(state) & ends


@pytest.mark.parametrize('state', states.Lease)
def test_nothing_goes_back_to_a_state_that_it_has_left(state):
    for after in FOLLOWING[state]:
        assert state not in reachable(after)


@pytest.mark.parametrize(
    'state', sorted(set(states.Lease) - states.OPEN - states.WAITING)
)
def test_a_promise_that_is_over_stays_over(state):
    assert not reachable(state) & states.OPEN


@pytest.mark.parametrize(
    ('model', 'column', 'values'),
    [
        (models.Lease, 'status', states.Lease),
        (models.Lease, 'lease_type', states.LeaseType),
        (models.Resource, 'role', states.Role),
        (models.Reservation, 'status', states.Reservation),
        (models.Event, 'status', states.Event),
        (models.Event, 'event_type', states.EventType),
    ],
)
def test_the_columns_have_room_for_every_value(model, column, values):
    length = models.table(model).c[column].type.length
    assert max(map(len, values)) <= length
