# SPDX-License-Identifier: Apache-2.0
"""Parts of a reservation are added, changed and removed when it changes."""

from typing import ClassVar

from hypothesis import given
from hypothesis import strategies as st
import pytest

from nova_reservations import exception
from nova_reservations.engine import resource_types
from nova_reservations.engine.booking import parts
from nova_reservations.objects import states
from nova_reservations.tests.unit.engine import test_steps
from nova_reservations.types import base
from nova_reservations.types import complex as complex_types


class Leaf(base.ResourceType):
    schema: ClassVar = {}
    update_schema: ClassVar = {}

    def validate(self, asked):
        return dict(asked)

    def demand(self, params):
        return None

    def start(self, booking):
        return None

    def end(self, booking):
        return None


class Whole(complex_types.Complex):
    schema: ClassVar = {}
    update_schema: ClassVar = {}
    start = end = Leaf.start

    def validate(self, asked):
        return dict(asked)

    def expand(self, params, project_id):
        return [
            complex_types.Part(name, kind, {'size': size})
            for name, (kind, size) in sorted(params['parts'].items())
        ]


TYPES = resource_types.Types(
    {'leaf': Leaf(None, None), 'twig': Leaf(None, None)}
)
TYPES['whole'] = Whole(None, None)
WANTED = st.dictionaries(
    st.sampled_from('abcd'),
    st.tuples(st.sampled_from(['leaf', 'twig']), st.integers(1, 2)),
    min_size=1,
)


def make(wanted, **columns):
    asked = {'parts': wanted}
    found = parts.find(TYPES, [('whole', asked)], 'p', parts.allow)
    return test_steps.lease(
        columns.pop('status', 'PENDING'),
        reservations=parts.reservations('lease', found, test_steps.NOON),
        **columns,
    )


def change(seen, wanted):
    """Return the parts that are to change, and the reservations afterwards."""
    whole = seen.reservations[0].id
    asked = {whole: {'parts': wanted}}
    requests, changes = parts.changed(
        TYPES, seen, asked, test_steps.NOON, parts.allow
    )
    return requests, parts.apply(seen, changes)


@given(before=WANTED, after=WANTED, in_nova=st.booleans())
def test_parts_are_what_the_whole_expands_into(before, after, in_nova):
    seen = make(before, in_nova=in_nova)
    old = seen.parts_of(seen.reservations[0].id)
    stay = {
        name
        for name in before.keys() & after.keys()
        if before[name][0] == after[name][0]
    }
    if in_nova and stay < before.keys():
        with pytest.raises(exception.InvalidState):
            change(seen, after)
        return
    requests, reservations = change(seen, after)
    new = {item.part_name: item for item in reservations if item.part_of}
    assert {
        name: (item.resource_type, requests.get(item.id, item.params)['size'])
        for name, item in new.items()
    } == after
    assert {name for name in new if new[name].id in seen_ids(seen)} == stay
    assert requests.keys() == {
        old[name].id for name in stay if before[name] != after[name]
    }
    assert all(
        item.part_of == seen.reservations[0].id for item in new.values()
    )


def seen_ids(lease):
    return {item.id for item in lease.reservations}


def test_parts_that_come_to_an_active_lease_are_active():
    _, reservations = change(
        make({'a': ('leaf', 1)}, status='ACTIVE'),
        {'a': ('leaf', 1), 'b': ('leaf', 1)},
    )
    assert reservations[-1].status == states.Reservation.ACTIVE


def test_parts_that_were_found_for_another_lease_are_not_applied():
    seen = make({'a': ('leaf', 1)})
    whole = seen.reservations[0].id
    _, changes = parts.changed(
        TYPES,
        seen,
        {whole: {'parts': {'a': ('leaf', 2)}}},
        test_steps.NOON,
        parts.allow,
    )
    with pytest.raises(exception.Contended):
        parts.apply(make({'a': ('leaf', 1)}), changes)
