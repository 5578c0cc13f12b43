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


def test_the_local_time_stays_when_the_clocks_change():
    """On 2027-03-28 Rome goes from UTC+1 to UTC+2."""
    assert recurrence.repeated(utc(2027, 3, 20, 8), 7 * DAY, 3, ROME) == [
        utc(2027, 3, 20, 8),
        utc(2027, 3, 27, 8),
        utc(2027, 4, 3, 7),
    ]


def test_a_local_time_that_there_is_not_is_refused_with_its_date():
    with pytest.raises(exception.InvalidInput) as refusal:
        recurrence.repeated(utc(2027, 3, 26, 1, 30), DAY, 4, ROME)
    assert 'no 02:30 in Europe/Rome on 2027-03-28' in str(refusal.value)


def test_of_a_local_time_that_there_is_twice_it_is_the_first():
    """On 2027-10-31 it is 02:30 in UTC+2, and an hour later in UTC+1."""
    assert recurrence.repeated(utc(2027, 10, 30, 0, 30), DAY, 3, ROME) == [
        utc(2027, 10, 30, 0, 30),
        utc(2027, 10, 31, 0, 30),
        utc(2027, 11, 1, 1, 30),
    ]


def test_the_first_time_of_all_is_as_given():
    """The series begins at the second 02:30 of the day."""
    assert recurrence.repeated(utc(2027, 10, 31, 1, 30), DAY, 2, ROME) == [
        utc(2027, 10, 31, 1, 30),
        utc(2027, 11, 1, 1, 30),
    ]


@pytest.mark.parametrize('within', [ROME, datetime.UTC])
def test_no_time_is_later_than_dates_may_be(within):
    for first in (utc(9998, 12, 30), utc(9999, 12, 30)):
        with pytest.raises(exception.InvalidInput):
            recurrence.repeated(first, 7 * DAY, 64, within)


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
        found = recurrence.repeated(first, days * DAY, 40, within)
    except exception.InvalidInput:
        return
    assert found[0] == first
    for number, time in enumerate(found[1:], 1):
        assert clock(time) == clock(first) + number * days * DAY
        for minutes in (30, 60):
            earlier = time - datetime.timedelta(minutes=minutes)
            assert clock(earlier) != clock(time)
