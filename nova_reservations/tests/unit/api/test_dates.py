# SPDX-License-Identifier: Apache-2.0
import datetime

import pytest

from nova_reservations import exception
from nova_reservations.api import dates

NOW = datetime.datetime(2030, 5, 17, 10, 30, 25, tzinfo=datetime.UTC)


def utc(*parts: int) -> datetime.datetime:
    return datetime.datetime(*parts, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    ('text', 'date'),
    [
        ('now', NOW),
        ('2030-06-01 12:30', utc(2030, 6, 1, 12, 30)),
        ('2030-06-01T12:30', utc(2030, 6, 1, 12, 30)),
        ('2030-06-01T12:30:15', utc(2030, 6, 1, 12, 30, 15)),
        ('2030-06-01T12:30:15.999999', utc(2030, 6, 1, 12, 30, 15)),
        ('2030-06-01T12:30:15Z', utc(2030, 6, 1, 12, 30, 15)),
        ('2030-06-01T12:30:15+02:00', utc(2030, 6, 1, 10, 30, 15)),
        ('2030-06-01T12:30:15-0130', utc(2030, 6, 1, 14, 0, 15)),
        ('9998-12-31 23:59', utc(9998, 12, 31, 23, 59)),
        ('2030-6-1 9:00', utc(2030, 6, 1, 9)),
        ('9999-12-31', dates.LAST),
        ('9999-12-31 00:00', dates.LAST),
        ('9999-12-31T23:59:59Z', dates.LAST),
        ('9999-12-31T23:59-12:00', dates.LAST),
    ],
)
def test_a_date_is_read_as_utc_in_whole_seconds(text, date):
    assert dates.parse(text, NOW) == date


@pytest.mark.parametrize(
    ('text', 'date'),
    [
        ('now', NOW),
        ('2030-05-17 10:30', utc(2030, 5, 17, 10, 30)),
        ('2030-05-17 10:29', NOW),
        ('2030-05-17 10:29:59', NOW),
        ('2030-05-17 10:28:59', utc(2030, 5, 17, 10, 28, 59)),
        ('2030-05-17 10:31', utc(2030, 5, 17, 10, 31)),
    ],
)
def test_the_minute_that_has_just_passed_is_now(text, date):
    assert dates.due(text, NOW) == date


@pytest.mark.parametrize(
    'text',
    [
        '',
        'tomorrow',
        'NOW',
        ' now',
        '2030-06-01',
        '2030-13-01 12:30',
        '2030-02-30 12:30',
        '2030-06-01 24:30',
        '2030-06-01 12:30 ',
        '2030-06-01 12:30\n',
        '20300601T1230',
        '2030-W22-6T12:30',
        '1969-12-31 23:59',
        '9999-01-01 00:00',
        '0001-01-01T00:00+12:00',
        '9999-12-30T23:59-12:00',
        '2030-06-01T12:30+25:00',
        '٢٠٣٠-06-01 12:30',
        'x' * 64,
    ],
)
def test_text_that_is_no_date_is_refused_with_the_format_in_the_reason(text):
    with pytest.raises(exception.InvalidInput) as refusal:
        dates.parse(text, NOW)
    assert str(refusal.value).startswith(
        f'{text} is an invalid date. Required format: %Y-%m-%d %H:%M'
    )


@pytest.mark.parametrize(
    ('text', 'seconds'),
    [
        (90, 90),
        ('90', 90),
        ('90s', 90),
        ('2h', 7200),
        ('30m', 1800),
        ('1d', 86400),
        ('PT1H30M', 5400),
        ('P1DT12H', 129600),
        ('P1W', 604800),
        ('PT0S', 0),
    ],
)
def test_a_duration_is_read_in_each_notation(text, seconds):
    assert dates.parse_duration(text) == datetime.timedelta(seconds=seconds)


@pytest.mark.parametrize(
    'text',
    [
        '',
        'h',
        '-1h',
        '1.5h',
        '1 h',
        '1y',
        'P',
        'PT',
        'P1DT',
        'P1M',
        'P1Y',
        'PT1H\n',
        '٣h',
        '9999999999d',
        '999999999d999999999d',
        '1h30m',
        'P999999999W',
    ],
)
def test_text_that_is_no_duration_is_refused(text):
    with pytest.raises(exception.InvalidInput, match='invalid duration'):
        dates.parse_duration(text)


@pytest.mark.parametrize(
    'duration', [datetime.timedelta(days=365 * 9000), datetime.timedelta.max]
)
def test_a_duration_beyond_the_last_year_is_refused(duration):
    with pytest.raises(exception.InvalidInput, match='year 9998'):
        dates.after(NOW, duration)


def test_dates_are_shown_as_the_clients_of_blazar_parse_them():
    assert dates.show(NOW) == '2030-05-17T10:30:25.000000'


def test_stamps_are_shown_as_blazar_shows_them():
    assert dates.show_stamp(NOW) == '2030-05-17 10:30:25'
    assert dates.show_stamp(None) is None
