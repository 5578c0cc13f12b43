# SPDX-License-Identifier: Apache-2.0
import datetime
import functools

import hypothesis
from hypothesis import strategies as st
import pytest

from nova_reservations import objects
from nova_reservations.objects import amounts
from nova_reservations.objects import interval
from nova_reservations.objects import shapes
from nova_reservations.objects import stock

DAY = datetime.datetime(2027, 1, 4, tzinfo=datetime.UTC)


def window(start, end):
    return interval.Interval(
        DAY + datetime.timedelta(hours=start),
        DAY + datetime.timedelta(hours=end),
    )


def below(provider, units, traits=(), max_unit=None):
    """Return the inventory of VGPUs of a provider below the host's own."""
    return objects.Inventory(
        'VGPU',
        units,
        0,
        1,
        max_unit or units,
        1,
        1.0,
        provider=str(provider),
        traits=frozenset(traits),
    )


def group(units=1, required=(), forbidden=()):
    return shapes.Shape(
        'VGPU', units, frozenset(required), frozenset(forbidden)
    )


def fit(inventories, *groups):
    """Return the groups that are promised if they come in this order."""
    room, promised = stock.of(inventories), []
    for each in groups:
        if room[each.name] >= each.units:
            room -= {each.name: each.units}
            promised.append(each)
    return promised


class TestIsSlot:
    @pytest.mark.parametrize(
        ('amount', 'expected'),
        [(4, True), (2, False), (14, False), (7, False), (12, True)],
    )
    def test_a_slot_obeys_the_units_of_the_inventory(self, amount, expected):
        inventory = objects.Inventory('VCPU', 100, 0, 4, 12, 4, 1.0)
        assert stock.is_slot({'VCPU': amount}, [inventory]) is expected

    def test_a_slot_is_never_larger_than_the_capacity(self):
        inventory = objects.Inventory('VCPU', 16, 8, 1, 16, 1, 1.0)
        assert stock.is_slot({'VCPU': 8}, [inventory])
        assert not stock.is_slot({'VCPU': 9}, [inventory])

    def test_a_class_that_is_not_there_has_no_slots(self):
        assert not stock.is_slot({'VGPU': 1}, [])

    def test_a_group_is_not_split_between_two_providers(self):
        two = [below(1, 1), below(2, 1)]
        assert stock.is_slot({'VGPU': 2}, two)
        assert not stock.is_slot({'VGPU/2': 2}, two)
        assert stock.is_slot({'VGPU/2': 2}, [below(1, 1), below(2, 2)])

    def test_cpus_are_those_of_the_host_itself(self):
        node = objects.Inventory('VCPU', 8, 0, 1, 8, 1, 1.0, provider='numa')
        assert not stock.is_slot({'VCPU': 1}, [node])


class TestLeft:
    def test_room_is_what_the_busiest_instant_leaves(self):
        inventory = objects.Inventory('VCPU', 16, 2, 1, 16, 1, 2.0)
        some = [
            amounts.Portion(window(begin, end), {'VCPU': units})
            for begin, end, units in ((0, 2, 4), (2, 4, 3), (3, 5, 2))
        ]
        left = stock.left([inventory], some, window(0, 5))
        assert left['VCPU'] == 28 - 5

    def test_shapes_that_are_not_held_at_once_are_not_added(self):
        held = [
            amounts.Portion(window(0, 1), {'VGPU': 2}),
            amounts.Portion(window(1, 2), {'VGPU/2': 2}),
        ]
        left = stock.left([below(1, 2), below(2, 2)], held, window(0, 2))
        assert left['VGPU'] == 1
        assert stock.left([below(1, 4)], held, window(0, 2))['VGPU'] == 2


class TestGroups:
    def test_small_groups_may_leave_no_room_for_a_large_one(self):
        # Two small groups may go to different providers.
        two = [below(1, 2), below(2, 2)]
        assert fit(two, group(2), group(), group()) == [group(2), group()]
        assert fit(two, group(), group(), group(2)) == [group(), group()]

    def test_large_groups_alone_take_all(self):
        two = [below(1, 5), below(2, 4)]
        assert len(fit(two, *[group(2)] * 9)) == 4

    def test_only_providers_with_the_traits_count(self):
        two = [below(1, 1, ['CUSTOM_A']), below(2, 3)]
        assert len(fit(two, *[group(required=['CUSTOM_A'])] * 4)) == 1
        assert len(fit(two, *[group(forbidden=['CUSTOM_A'])] * 4)) == 3

    def test_a_group_that_takes_any_may_take_what_another_needs(self):
        two = [below(1, 1, ['CUSTOM_A']), below(2, 1)]
        only = group(required=['CUSTOM_A'])
        assert fit(two, group(), only) == [group()]
        assert fit(two, only, group()) == [only]
        apart = group(forbidden=['CUSTOM_A'])
        assert fit(two, only, apart) == [only, apart]

    def test_an_unsuffixed_trait_may_be_of_the_host(self):
        shape = shapes.Shape(
            'VGPU', 1, frozenset(['CUSTOM_A', 'CUSTOM_B']), anywhere=True
        )
        [one] = objects.HostFacts(
            *[''] * 3,
            *[0] * 5,
            *['', '', 0, '', 0],
            frozenset(['CUSTOM_B']),
            (),
            nested=(below(1, 1, ['CUSTOM_A']),),
        ).all_inventories
        assert stock.of([one])[shape.name] == 1
        assert stock.of([below(1, 1, ['CUSTOM_A'])])[shape.name] == 0


class TestNames:
    @pytest.mark.parametrize(
        ('shape', 'name'),
        [
            (group(), 'VGPU'),
            (group(2), 'VGPU/2'),
            (group(1, ['B', 'A'], ['C']), 'VGPU/1+A+B!C'),
            (
                shapes.Shape('VGPU', 3, frozenset('A'), anywhere=True),
                'VGPU/3~+A',
            ),
        ],
    )
    def test_a_name_says_all_of_a_shape(self, shape, name):
        assert shape.name == name
        assert shapes.parse(name) == shape


@functools.cache
def always_fit(free, groups):
    """Return whether all groups find room, in any order, and wherever
    placement puts each of them.

    :param free: units, traits and max_unit of each provider
    """
    for index, each in enumerate(groups):
        others = (*groups[:index], *groups[index + 1 :])
        fits = [
            place
            for place, (units, traits, most) in enumerate(free)
            if each.units <= min(units, most)
            and each.required <= traits
            and not each.forbidden & traits
        ]
        if not fits:
            return False
        for place in fits:
            units, traits, most = free[place]
            rest = (units - each.units, traits, most)
            if not always_fit(
                (*free[:place], rest, *free[place + 1 :]), others
            ):
                return False
    return True


TRAITS = st.frozensets(st.sampled_from('AB'))
PROVIDERS = st.lists(
    st.tuples(st.integers(1, 4), TRAITS, st.integers(1, 4)),
    min_size=1,
    max_size=3,
)
GROUPS = st.builds(
    group,
    st.integers(1, 3),
    st.frozensets(st.sampled_from('AB'), max_size=1),
    st.frozensets(st.sampled_from('AB'), max_size=1),
)


def known(providers):
    return [
        below(index, units, traits, most)
        for index, (units, traits, most) in enumerate(providers)
    ]


@hypothesis.given(
    PROVIDERS,
    st.lists(
        st.tuples(GROUPS, st.integers(0, 3), st.integers(1, 3)), max_size=7
    ),
)
def test_promises_fit_at_each_hour_whoever_comes_first(providers, asked):
    inventories, promised = known(providers), []
    for each, start, hours in asked:
        when = window(start, start + hours)
        if stock.left(inventories, promised, when)[each.name] >= each.units:
            promised.append(amounts.Portion(when, {each.name: each.units}))
    for hour in range(6):
        there = [
            shapes.parse(name)
            for held in promised
            if held.window.overlaps(window(hour, hour + 1))
            for name in held.amounts
        ]
        assert always_fit(
            tuple(providers), tuple(sorted(there, key=lambda each: each.name))
        )


@hypothesis.given(PROVIDERS, GROUPS, st.integers(1, 6))
def test_of_groups_that_are_alike_no_room_is_lost(providers, each, count):
    promised = fit(known(providers), *[each] * count)
    if len(promised) < count:
        assert not always_fit(tuple(providers), (each,) * (len(promised) + 1))


@hypothesis.given(PROVIDERS, st.lists(GROUPS, max_size=4), GROUPS)
def test_room_that_is_left_is_given_at_once_or_one_by_one(
    providers, groups, each
):
    room = stock.of(known(providers))
    for other in fit(known(providers), *groups):
        room -= {other.name: other.units}
    times = amounts.Amounts({each.name: each.units}).times_in(room)
    count = 0
    while room[each.name] >= each.units:
        room -= {each.name: each.units}
        count += 1
    assert times == count
