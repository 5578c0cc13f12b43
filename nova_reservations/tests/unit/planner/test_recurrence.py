# SPDX-License-Identifier: Apache-2.0
import datetime

from hypothesis import given
from hypothesis import strategies as st
import pytest

from nova_reservations import exception
from nova_reservations.planner import recurrence
from nova_reservations.tests import profile

ROME = recurrence.zone('Europe/Rome')
DAY = datetime.timedelta(days=1)


def utc(*parts):
    return datetime.datetime(*parts, tzinfo=datetime.UTC)


def repeated(first, every, count, within):
    return recurrence.repeated(
        first, [every * number for number in range(count)], within
    )


def test_the_local_time_stays_when_the_clocks_change():
    """On 2027-03-28 Rome goes from UTC+1 to UTC+2."""
    assert repeated(utc(2027, 3, 20, 8), 7 * DAY, 3, ROME) == [
        utc(2027, 3, 20, 8),
        utc(2027, 3, 27, 8),
        utc(2027, 4, 3, 7),
    ]


def test_a_local_time_that_there_is_not_is_refused_with_its_date():
    with pytest.raises(exception.InvalidInput) as refusal:
        repeated(utc(2027, 3, 26, 1, 30), DAY, 4, ROME)
    assert 'no 02:30 in Europe/Rome on 2027-03-28' in str(refusal.value)


def test_of_a_local_time_that_there_is_twice_it_is_the_first():
    """On 2027-10-31 it is 02:30 in UTC+2, and an hour later in UTC+1."""
    assert repeated(utc(2027, 10, 30, 0, 30), DAY, 3, ROME) == [
        utc(2027, 10, 30, 0, 30),
        utc(2027, 10, 31, 0, 30),
        utc(2027, 11, 1, 1, 30),
    ]


def test_the_first_time_of_all_is_as_given():
    """The series begins at the second 02:30 of the day."""
    assert repeated(utc(2027, 10, 31, 1, 30), DAY, 2, ROME) == [
        utc(2027, 10, 31, 1, 30),
        utc(2027, 11, 1, 1, 30),
    ]


@pytest.mark.parametrize('within', [ROME, datetime.UTC])
def test_no_time_is_later_than_dates_may_be(within):
    for first in (utc(9998, 12, 30), utc(9999, 12, 30)):
        with pytest.raises(exception.InvalidInput):
            repeated(first, 7 * DAY, 64, within)


@pytest.mark.parametrize(
    'name',
    ['Europe/Roma', 'Europe', '../../etc/passwd', '/etc/passwd', '', 'a\0b'],
)
def test_a_zone_that_there_is_not_is_refused(name):
    with pytest.raises(exception.InvalidInput):
        recurrence.zone(name)


def test_a_series_that_lasts_too_long_is_refused():
    for last in (utc(9998, 12, 31, 23), utc(9999, 12, 31, 23)):
        with pytest.raises(exception.InvalidInput):
            recurrence.after([last], 3 * DAY)


@profile.guard()
@given(
    st.datetimes(
        datetime.datetime(2020, 1, 1), datetime.datetime(2040, 1, 1)
    ).map(lambda time: time.replace(tzinfo=datetime.UTC)),
    st.sampled_from([1, 7]),
    st.sampled_from(
        ['Europe/Rome', 'America/New_York', 'Australia/Lord_Howe', 'UTC']
    ),
)
def test_starts_are_the_first_instants_with_that_local_time(first, days, name):
    within = recurrence.zone(name)

    def clock(time):
        return time.astimezone(within).replace(tzinfo=None, fold=0)

    try:
        found = repeated(first, days * DAY, 40, within)
    except exception.InvalidInput:
        return
    assert found[0] == first
    for number, time in enumerate(found[1:], 1):
        assert clock(time) == clock(first) + number * days * DAY
        for minutes in (30, 60):
            earlier = time - datetime.timedelta(minutes=minutes)
            assert clock(earlier) != clock(time)


MONDAY = utc(2027, 3, 1, 8)


def days(first=MONDAY, every=7 * DAY, **more):
    """Return the days of March 2027, and of the months after it."""
    return [
        (first + delay - utc(2027, 2, 28)).days
        for delay in recurrence.later(first, recurrence.Rule(every, **more))
    ]


def day(number):
    return datetime.date(2027, 3, number)


@pytest.mark.parametrize(
    ('rule', 'expected'),
    [
        ({'count': 2}, [1, 8]),
        ({'count': 3, 'every': DAY}, [1, 2, 3]),
        ({'until': day(15)}, [1, 8, 15]),
        ({'until': day(14)}, [1, 8]),
        ({'until': utc(2027, 3, 15, 8)}, [1, 8, 15]),
        ({'until': utc(2027, 3, 15, 7, 59)}, [1, 8]),
        ({'count': 4, 'weekdays': ['WE', 'MO']}, [1, 3, 8, 10]),
        # The first day is none of them.
        ({'count': 3, 'weekdays': ['TH', 'SU']}, [4, 7, 11]),
        # A day that is left out counts.
        ({'count': 3, 'left_out': {day(8)}}, [1, 15]),
        ({'until': day(9), 'left_out': {day(1)}}, [8]),
    ],
)
def test_a_rule_gives_days(rule, expected):
    assert days(**rule) == expected


def test_days_are_those_of_the_time_zone():
    """In Rome the lease begins on Tuesday, half an hour after midnight."""
    night = utc(2027, 3, 1, 23, 30)
    rome = {'timezone': 'Europe/Rome'}
    assert days(night, count=1, weekdays=['TU'], **rome) == [1]
    assert days(night, count=1, weekdays=['MO'], **rome) == [7]
    assert days(night, until=day(9), **rome) == [1, 8]
    assert days(night, until=day(8), **rome) == [1]
    assert days(night, count=2, left_out={day(2)}, **rome) == [8]


@pytest.mark.parametrize(
    ('rule', 'said'),
    [
        (
            {'until': datetime.date(2027, 2, 28)},
            'have 0 leases: until 2027-02',
        ),
        ({'until': utc(2027, 3, 1, 7)}, 'have 0 leases: until 2027-03-01 07'),
        (
            {'until': datetime.date(9998, 12, 31), 'every': DAY},
            'more than 64 leases, which is the most: lease 64 is on '
            '2027-05-03; give that as until',
        ),
        (
            {'until': datetime.date(2027, 5, 5), 'every': DAY}
            | {'left_out': {day(2)}},
            'lease 64 is on 2027-05-04',
        ),
        ({'count': 2, 'left_out': {day(2)}}, '2027-03-02 is no day'),
        ({'count': 2, 'left_out': {day(15)}}, 'from 2027-03-01 to 2027-03-08'),
        ({'count': 1, 'left_out': {day(1)}}, 'have 0 leases: except leaves'),
        ({'count': 1, 'every': DAY, 'weekdays': ['MO']}, 'every P1W only'),
    ],
)
def test_a_rule_without_a_series_is_refused(rule, said):
    with pytest.raises(exception.InvalidInput) as refusal:
        days(**rule)
    assert said in str(refusal.value)


def test_the_most_leases_are_had_beside_those_that_are_left_out():
    left_out = {day(2), day(3)}
    until = datetime.date(2027, 5, 5)
    found = days(every=DAY, until=until, left_out=left_out)
    assert (len(found), found[-1]) == (64, 66)


WEEKDAYS = ('MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU')


def by_hand(local, rule):
    """Look at one day after another; None: the rule is to be refused."""
    meant = rule.weekdays or (WEEKDAYS[local.weekday()],)
    found = []
    for number in range(2000):
        time = local + number * DAY
        if rule.until is not None and time.date() > rule.until:
            break
        if rule.count is not None and len(found) == rule.count:
            break
        if rule.every == DAY or WEEKDAYS[time.weekday()] in meant:
            found.append(time.date())
    kept = [each for each in found if each not in rule.left_out]
    if not 1 <= len(kept) <= 64 or not rule.left_out.issubset(found):
        return None
    return kept


@profile.guard()
@given(st.data())
def test_days_are_those_that_a_calendar_has(data):
    within = data.draw(st.sampled_from(['Europe/Rome', 'Pacific/Apia', 'UTC']))
    first = data.draw(
        st.datetimes(
            datetime.datetime(2011, 12, 20), datetime.datetime(2031, 1, 1)
        )
    ).replace(tzinfo=datetime.UTC)
    local = first.astimezone(recurrence.zone(within)).replace(tzinfo=None)
    near = st.integers(-2, 100).map(
        lambda number: (local + number * DAY).date()
    )
    weekdays = data.draw(st.sets(st.sampled_from(WEEKDAYS)))
    rule = recurrence.Rule(
        every=7 * DAY
        if weekdays
        else data.draw(st.sampled_from([DAY, 7 * DAY])),
        timezone=within,
        weekdays=sorted(weekdays),
        left_out=data.draw(st.frozensets(near, max_size=3)),
        **data.draw(
            st.fixed_dictionaries({'count': st.integers(1, 64)})
            | st.fixed_dictionaries({'until': near})
        ),
    )
    try:
        found = recurrence.later(first, rule)
    except exception.InvalidInput:
        found = None
    expected = by_hand(local, rule)
    if expected is None:
        assert found is None
    else:
        assert [(local + delay).date() for delay in found] == expected
        assert {delay % DAY for delay in found} == {0 * DAY}
