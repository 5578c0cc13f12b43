# SPDX-License-Identifier: Apache-2.0
"""Slots that stay when fewer are wanted, compared with brute force."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from nova_reservations.planner import shrinking
from nova_reservations.tests import profile

resources = st.lists(
    st.tuples(st.integers(1, 3), st.integers(0, 3), st.booleans()),
    min_size=1,
    max_size=4,
)
"""For each resource: how many slots it has, how many of them must stay, and
whether the resource can be used."""


@profile.guard()
@given(resources, st.integers(1, 12))
def test_held_slots_stay_and_as_many_whole_resources_go_as_can(each, wanted):
    slots = {key: count for key, (count, _, _) in enumerate(each)}
    held = {key: min(count, its) for key, (count, its, _) in enumerate(each)}
    usable = {key for key, (_, _, works) in enumerate(each) if works}
    kept = shrinking.kept(slots, held, wanted, usable)
    least = min(max(wanted, sum(held.values())), sum(slots.values()))
    choices = [
        dict(enumerate(choice))
        for choice in itertools.product(
            *(range(held[key], slots[key] + 1) for key in slots)
        )
        if sum(choice) == least
    ]
    assert kept in choices

    def on_usable(choice):
        return sum(choice[key] for key in usable)

    def emptied(choice):
        return sum(not count for count in choice.values())

    most = max(map(on_usable, choices))
    assert on_usable(kept) == most
    if len(usable) == len(slots):
        assert emptied(kept) == max(map(emptied, choices))
