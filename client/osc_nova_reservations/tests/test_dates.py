# SPDX-License-Identifier: Apache-2.0
"""Times and durations as they are typed, sent and shown."""

import argparse
import datetime
import zoneinfo

from hypothesis import given
from hypothesis import strategies as st
from osc_lib import exceptions
import pytest
import tzlocal

from osc_nova_reservations import change
from osc_nova_reservations import create
from osc_nova_reservations import dates
from osc_nova_reservations import leases
from osc_nova_reservations import usage

ROME = zoneinfo.ZoneInfo('Europe/Rome')
WEDNESDAY = datetime.datetime(2027, 3, 3, 11, tzinfo=datetime.UTC)
"""It is noon in Rome."""

CLOCK = dates.Clock(ROME, WEDNESDAY)


@pytest.mark.parametrize(
    ('text', 'sent'),
    [
        ('now', 'now'),
        ('+2h', '2027-03-03T14:00:00+01:00'),
        ('now+1h30m', '2027-03-03T13:30:00+01:00'),
        ('now + 2d', '2027-03-05T12:00:00+01:00'),
        ('today 18:00', '2027-03-03T18:00:00+01:00'),
        ('tomorrow', '2027-03-04T00:00:00+01:00'),
        ('Tomorrow 9:00', '2027-03-04T09:00:00+01:00'),
        ('monday 9:00', '2027-03-08T09:00:00+01:00'),
        ('wed 13:00', '2027-03-03T13:00:00+01:00'),
        ('wed 9:00', '2027-03-10T09:00:00+01:00'),
        ('13:00', '2027-03-03T13:00:00+01:00'),
        ('9:00', '2027-03-04T09:00:00+01:00'),
        ('2027-03-01', '2027-03-01T00:00:00+01:00'),
        ('2027-3-1 9:00', '2027-03-01T09:00:00+01:00'),
        ('2027-07-01T09:00:30', '2027-07-01T09:00:30+02:00'),
        ('2027-10-31 02:30', '2027-10-31T02:30:00+02:00'),
        ('2027-03-01T09:00Z', '2027-03-01T10:00:00+01:00'),
        ('2027-03-01T09:00:00+05:30', '2027-03-01T04:30:00+01:00'),
    ],
)
def test_a_time_is_what_people_mean(text, sent):
    assert CLOCK.sent(text) == sent


@pytest.mark.parametrize(
    ('text', 'end'),
    [
        ('monday 18:00', '2027-03-15T18:00:00+01:00'),
        ('18:00', '2027-03-15T18:00:00+01:00'),
        ('7:00', '2027-03-16T07:00:00+01:00'),
        ('+2h', '2027-03-15T10:00:00+01:00'),
        ('now+2h', '2027-03-03T14:00:00+01:00'),
        ('tomorrow', '2027-03-04T00:00:00+01:00'),
    ],
)
def test_an_end_is_the_first_after_the_start(text, end):
    start = datetime.datetime(2027, 3, 15, 8, tzinfo=ROME)
    assert CLOCK.after(start).sent(text) == end


@pytest.mark.parametrize(
    ('text', 'zone'),
    [
        *(
            (text, 'Europe/Rome')
            for text in (
                *('', 'soon', 'tue 25:00', '2027-02-30', 'mo', '12'),
                *('+', '+2', 'yesterday', '0001-01-01'),
            )
        ),
        ('9999-12-31 23:59', 'America/Lima'),
    ],
)
def test_any_other_time_is_refused_with_examples(text, zone):
    with pytest.raises(exceptions.CommandError, match='"tomorrow 9:00"'):
        dates.Clock(zoneinfo.ZoneInfo(zone), WEDNESDAY).sent(text)


def test_a_time_over_which_the_clocks_are_put_forward_is_refused():
    with pytest.raises(exceptions.CommandError, match='no 02:30 in Europe/R'):
        CLOCK.sent('2027-03-28 02:30')


@given(
    st.datetimes(datetime.datetime(2000, 1, 1), datetime.datetime(2100, 1, 1)),
    st.sampled_from(['Europe/Rome', 'America/Lima', 'Asia/Kathmandu', 'UTC']),
)
def test_times_that_are_shown_can_be_typed(moment, name):
    moment = moment.replace(second=0, microsecond=0, tzinfo=datetime.UTC)
    clock = dates.Clock(zoneinfo.ZoneInfo(name), WEDNESDAY)
    again = clock.moment(clock.shown(moment))
    # Only an hour that occurs twice is shown the same twice.
    assert again - moment in (
        datetime.timedelta(),
        datetime.timedelta(hours=-1),
    )
    assert clock.shown(again) == clock.shown(moment)


@pytest.mark.parametrize(
    ('text', 'minutes'),
    [
        ('90m', 90),
        ('1h30m', 90),
        ('PT1H30M', 90),
        ('P1D', 1440),
        ('2w', 20160),
        ('1d12h', 2160),
    ],
)
def test_a_duration_is_what_people_write(text, minutes):
    assert dates.duration(text) == datetime.timedelta(minutes=minutes)
    sent = dates.sent_duration(dates.duration(text))
    assert sent == f'PT{minutes * 60}S'


@pytest.mark.parametrize('text', ['', '5', 'P', 'PT', '0m', 'P1M', '-2h', 'x'])
def test_any_other_duration_is_refused(text):
    with pytest.raises(argparse.ArgumentTypeError, match='is no duration'):
        dates.duration(text)


@pytest.mark.parametrize('name', ['Mars/Olympus', '../Rome', 'Europe'])
def test_a_zone_that_is_not_there_is_refused(name):
    with pytest.raises(exceptions.CommandError, match='no time zone'):
        dates.zone(name)


def test_times_are_local_in_tables_and_in_utc_for_machines():
    column = dates.Column('2027-03-01T08:00:00.000000', CLOCK)
    assert column.human_readable() == '2027-03-01 09:00'
    assert column.machine_readable() == '2027-03-01T08:00:00Z'
    assert dates.Column(None, CLOCK).human_readable() == ''
    assert dates.Column(None, CLOCK).machine_readable() is None


@pytest.mark.parametrize('words', [(), ('--timezone=Europe/Rome',)])
def test_the_zone_is_that_of_the_machine_or_the_one_that_is_named(
    run, api, monkeypatch, words
):
    monkeypatch.setattr(
        tzlocal,
        'get_localzone_name',
        lambda: 'UTC' if words else 'Europe/Rome',
    )
    run(
        *(create.CreateLease, 'mine', '--hosts=1', *words),
        *('--start=2040-01-01 9:00', '--end=2040-07-01'),
    )
    [lease] = api.sent
    assert lease['start_date'] == '2040-01-01T09:00:00+01:00'
    assert lease['end_date'] == '2040-07-01T00:00:00+02:00'


def test_a_machine_without_a_zone_that_is_known_asks_for_one(monkeypatch):
    monkeypatch.setattr(tzlocal, 'get_localzone_name', lambda: 'Nowhere/Else')
    with pytest.raises(exceptions.CommandError, match='by --timezone'):
        dates.local()


@pytest.mark.parametrize(
    ('command', 'words'),
    [
        *(
            (leases.ListLease, (f'--{name}=2040-03-01',))
            for name in (
                *('start-after', 'start-before', 'end-before', 'end-after'),
                'changes-since',
            )
        ),
        *(
            (usage.ShowUsage, ('--all-projects', f'--{name}=2040-03-01'))
            for name in ('start', 'end')
        ),
    ],
)
def test_a_day_that_is_asked_for_is_its_midnight(run, api, command, words):
    run(command, *words, '--timezone=Europe/Rome')
    [query] = api.queries
    assert ['2040-03-01T00:00:00+01:00'] in query.values()


@pytest.mark.parametrize('option', ['start', 'end', 'before-end-date'])
def test_a_day_of_a_lease_is_its_midnight(run, api, option):
    api.add(name='mine')
    run(change.SetLease, 'mine', f'--{option}=2040-03-01')
    key = option if option.endswith('date') else f'{option}_date'
    assert api.sent == [{key.replace('-', '_'): '2040-03-01T00:00:00+00:00'}]
