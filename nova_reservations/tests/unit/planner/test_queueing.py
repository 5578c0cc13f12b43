# SPDX-License-Identifier: Apache-2.0
import datetime

from hypothesis import given
from hypothesis import strategies as st
import pytest

from nova_reservations import objects
from nova_reservations.objects import demand
from nova_reservations.objects import holding
from nova_reservations.objects import interval
from nova_reservations.objects import requirements
from nova_reservations.objects import wishes
from nova_reservations.planner import queueing
from nova_reservations.tests import profile

NOON = datetime.datetime(2030, 1, 1, 12, tzinfo=datetime.UTC)
HOUR = datetime.timedelta(hours=1)
NO_TIME = datetime.timedelta(0)

COLOURS = ('red', 'green')
KINDS = [
    wishes.Kind(
        objects.HOST,
        colour and requirements.Comparison('==', 'colour', colour),
    )
    for colour in (None, *COLOURS)
]
ANY, RED, GREEN = KINDS
LICENCE = wishes.Kind('licence', None)


def hours(start, end):
    return interval.Interval(NOON + start * HOUR, NOON + end * HOUR)


def whole(kind=ANY, minimum=1):
    return demand.Demand(
        kind.resource_type, minimum, minimum, kind.requirements
    )


def share(slots=1, vcpus=1, affinity=None):
    return demand.Share(objects.HOST, slots, {'VCPU': vcpus}, affinity)


def wish(kind=ANY, start=0, end=1, ask=None):
    return wishes.Wish(
        'reservation', kind, ask or whole(kind), hours(start, end)
    )


def queued(*kinds, start=0, end=1, arrival=1):
    return wishes.QueuedLease(
        'lease',
        arrival,
        hours(start, end),
        tuple(wish(kind, start, end) for kind in kinds),
    )


def use(start, end, vcpus=None, replaced=False):
    """Return the use of a whole resource, or of so many VCPUs."""
    return holding.Held(
        1,
        1,
        'another',
        NOON + start * HOUR,
        NOON + end * HOUR,
        vcpus is None,
        replaced,
        {} if vcpus is None else {'VCPU': vcpus},
    )


def thing(number=1, colour='red', held=(), resource_type=objects.HOST):
    return wishes.FreedResource(
        number,
        resource_type,
        {'colour': colour} if resource_type == objects.HOST else {},
        (),
        (objects.Inventory('VCPU', 4, 0, 1, 4, 1, 1.0),),
        held,
    )


def is_free(thing, wish, cleaning=NO_TIME):
    return thing.is_free(wish, NOON, cleaning)


class TestWhatIsFree:
    @pytest.mark.parametrize(
        ('used', 'free'),
        [
            (use(-2, -1), False),
            (use(-1, 1), False),
            (use(1, 2), False),
            (use(1, 2, vcpus=1), False),
            (use(2, 3), True),
        ],
    )
    def test_a_window_that_begins_now_minds_what_is_over(self, used, free):
        assert is_free(thing(held=[used]), wish(start=0, end=2)) is free

    def test_a_later_window_does_not(self):
        it = wish(start=2, end=3)
        assert is_free(thing(held=[use(-2, -1), use(0, 2), use(3, 4)]), it)

    def test_the_time_for_cleaning_is_around_it(self):
        it = wish(start=2, end=3)
        assert not is_free(thing(held=[use(0, 2)]), it, cleaning=HOUR)
        assert not is_free(thing(held=[use(3, 4)]), it, cleaning=HOUR)

    def test_a_share_has_room_beside_others(self):
        held = thing(held=[use(0, 1, vcpus=3)])
        assert is_free(held, wish(ask=share(slots=2)))
        assert not is_free(held, wish(ask=share(slots=2, affinity=True)))
        assert not is_free(held, wish(ask=share(vcpus=2)))

    def test_a_share_is_of_nothing_that_another_has_as_a_whole(self):
        assert not is_free(thing(held=[use(0, 1)]), wish(ask=share()))

    def test_nobody_knows_when_what_was_replaced_is_left(self):
        held = thing(held=[use(0, 1, vcpus=4, replaced=True)])
        assert not is_free(held, wish(start=2, end=3, ask=share()))

    def test_a_resource_that_is_no_host_meets_no_requirement(self):
        licence = thing(resource_type='licence')
        assert licence.meets(LICENCE)
        assert not licence.meets(ANY)
        assert not licence.meets(
            wishes.Kind('licence', RED.requirements),
        )


def test_how_many_resources_are_surely_needed():
    assert wish(ask=whole(minimum=3)).ask.least == 3
    assert wish(ask=share(slots=3)).ask.least == 1
    assert wish(ask=share(slots=3, affinity=True)).ask.least == 1
    assert wish(ask=share(slots=3, affinity=False)).ask.least == 3


kinds = st.sampled_from(KINDS)
spans = st.tuples(st.integers(0, 6), st.integers(1, 6)).map(
    lambda span: (span[0], span[0] + span[1])
)
queued_leases = st.builds(
    lambda kinds, span: queued(*kinds, start=span[0], end=span[1]),
    st.lists(kinds, min_size=1, max_size=2),
    spans,
)
uses = st.builds(
    lambda span, vcpus: use(*span, vcpus=vcpus),
    spans,
    st.one_of(st.none(), st.integers(1, 4)),
)


@profile.guard()
@given(
    st.lists(queued_leases, max_size=12),
    st.lists(st.tuples(st.sampled_from(COLOURS), st.lists(uses, max_size=2))),
    st.data(),
)
def test_nothing_is_offered_that_one_ahead_wants(line, described, data):
    """The expected result comes from all pairs of leases that wait."""
    freed_resources = [
        thing(number, colour, held)
        for number, (colour, held) in enumerate(described)
    ]
    there = queueing.Line(NOON, NO_TIME)
    ahead = []
    for each in line:
        asked = (
            data.draw(st.lists(st.sampled_from(freed_resources)))
            if freed_resources
            else []
        )
        for one in asked:
            for wanted in each.wishes:
                assert there.offers(each, wanted, one) is (
                    one.meets(wanted.kind)
                    and is_free(one, wanted)
                    and not any(
                        one.meets(theirs.kind)
                        and other.window.overlaps(each.window)
                        for other in ahead
                        for theirs in other.wishes
                    )
                )
        assert there.is_behind_its_like(each) is any(
            wanted.kind is theirs.kind and other.window.overlaps(each.window)
            for other in ahead
            for wanted in each.wishes
            for theirs in other.wishes
        )
        # A lease that gets what it wants leaves the queue.
        if data.draw(st.booleans()):
            there.join(each)
            ahead.append(each)


@profile.guard()
@given(queued_leases, st.sampled_from(COLOURS))
def test_a_lease_behind_its_like_is_offered_nothing_of_that(first, colour):
    there = queueing.Line(NOON, NO_TIME)
    there.join(first)
    assert there.is_behind_its_like(first)
    assert not any(
        there.offers(first, each, thing(colour=colour))
        for each in first.wishes
    )
