# SPDX-License-Identifier: Apache-2.0
"""The sweep over a project's windows gives the same as a count per instant."""

import datetime

from hypothesis import given
from hypothesis import strategies as st

from nova_reservations.objects import interval
from nova_reservations.objects import limits
from nova_reservations.planner import limits as planner
from nova_reservations.tests import booking
from nova_reservations.tests import profile

NOON = booking.NOW
LAST = 12
"""The last hour of windows, which all begin and end on the hour."""


def held(start, end, hosts=0, slots=0):
    counts = {'hosts': hosts, 'slots': slots}
    return limits.Counted('a', booking.window(start, end), counts)


HELD = st.builds(
    lambda window, hosts, slots: held(*window, hosts, slots),
    st.lists(st.integers(-5, LAST), min_size=2, max_size=2, unique=True).map(
        sorted
    ),
    st.integers(0, 4),
    st.integers(0, 4),
)
SOME = st.lists(HELD, max_size=5)


SOON = planner.SOON / limits.HOUR
"""Hours for which an ended window still counts, unless it is overdue."""

INSTANTS = (0, SOON, *range(1, LAST + 1))
"""Hours at which the amounts that are held may change."""

PATIENCE = datetime.timedelta(hours=3)
"""The time that the end of a lease may take before it is overdue."""


def number(many, hour, what, patience=PATIENCE):
    """Count what is held at an instant from noon on; patience is None for
    leases that cannot be overdue."""
    return sum(
        each.count(what)
        for each in many
        if each.window.start <= booking.at(hour) < each.window.end
        or (hour < SOON and each.window.end <= NOON)
        or (
            patience is not None
            # Ends are at whole hours, so one before noon is overdue; an end
            # at noon is not yet.
            and each.window.end < NOON
            and booking.at(hour) < each.window.end + patience
        )
        or (patience is not None and each.window.end + patience <= NOON)
    )


def sum_of(others, own, hour, what):
    return number(others, hour, what) + number(own, hour, what, None)


def hours(many):
    """Count hours of hosts, one after the other."""
    coming = [each for each in many if each.window.end > NOON]
    return sum(number(coming, hour, 'hosts') for hour in range(LAST))


@given(
    SOME, SOME, SOME, st.sampled_from(['hosts', 'slots']), st.integers(0, 8)
)
@profile.guard(200)
def test_a_change_is_refused_where_it_adds_to_what_is_too_much(
    others, before, after, what, most
):
    too_much = {
        hour: sum_of(others, after, hour, what)
        for hour in INSTANTS
        if sum_of(others, after, hour, what) > most
        and number(after, hour, what, None) > number(before, hour, what, None)
    }
    breach = planner.of_resources(
        others, before, after, limits.Limits(**{what: most}), NOON, PATIENCE
    )
    if not too_much:
        assert breach is None
        return
    worst = max(too_much.values())
    first = min(hour for hour in too_much if too_much[hour] == worst)
    assert breach.at == booking.at(first)
    assert (breach.name, breach.number) == (what, worst)


@given(SOME, SOME, SOME, st.integers(0, 30))
@profile.guard(200)
def test_host_hours_are_those_that_are_left(others, before, after, most):
    is_refused = hours([*others, *after]) > max(
        most, hours([*others, *before])
    )
    breach = planner.of_resources(
        others, before, after, limits.Limits(host_hours=most), NOON, PATIENCE
    )
    assert (breach is not None) == is_refused


@given(SOME)
@profile.guard()
def test_usage_is_the_most_at_any_instant(many):
    used = planner.used(limits.Count(3, 1), many, NOON, PATIENCE)
    assert used == limits.Used(
        leases=3,
        waiting=1,
        hosts=max(number(many, hour, 'hosts') for hour in range(LAST + 1)),
        slots=max(number(many, hour, 'slots') for hour in range(LAST + 1)),
        host_hours=hours(many),
    )


def test_an_hour_that_has_begun_counts():
    window = interval.Interval(booking.at(0), booking.at(1) + limits.HOUR / 60)
    used = planner.used(
        limits.Count(1, 0),
        [limits.Counted('a', window, {'hosts': 1})],
        NOON,
        PATIENCE,
    )
    assert used.host_hours == 2


def test_a_breach_tells_how_much_and_when():
    breach = planner.of_resources(
        [held(2, 4, hosts=8)],
        (),
        [held(0, 6, hosts=4)],
        limits.Limits(hosts=8),
        NOON,
        PATIENCE,
    )
    assert breach.told('host', 'hosts') == (
        f'12 hosts at {booking.at(2):%Y-%m-%d %H:%M}, 8 allowed for this '
        'project'
    )


def late(lease_id, minutes, hosts=1):
    """Return what a lease still holds that long after its end."""
    end = NOON - datetime.timedelta(minutes=minutes)
    window = interval.Interval(end - limits.HOUR, end)
    return limits.Counted(lease_id, window, {'hosts': hosts}, lease_id)


def test_a_breach_tells_what_has_not_been_given_back():
    breach = planner.of_resources(
        [late('a', 3), late('b', 20, 2), late('a', 3)],
        (),
        [held(0, 1, hosts=1)],
        limits.Limits(hosts=4),
        NOON,
        PATIENCE,
    )
    assert breach.told('host', 'hosts') == (
        f'5 hosts at {NOON:%Y-%m-%d %H:%M}, 4 allowed for this project; lease '
        f'b, which ended at {booking.at(-1 / 3):%Y-%m-%d %H:%M}, and 1 other '
        'have not given back 4 of them'
    )


def test_leases_count_whose_end_takes_longer_than_it_may():
    ends = {'a': NOON - PATIENCE, 'b': NOON - PATIENCE / 2}
    count = limits.Count(2, 0, ends)
    assert planner.used(count, [], NOON, PATIENCE).leases == 3
    allowed = limits.Limits(leases=2)
    breach = planner.of_leases(count, allowed, False, NOON, PATIENCE)
    assert breach.told('lease', 'leases') == (
        '3 leases, 2 allowed for this project; lease a, which ended at '
        f'{NOON - PATIENCE:%Y-%m-%d %H:%M}, counts until all is given back'
    )
