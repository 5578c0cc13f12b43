# SPDX-License-Identifier: Apache-2.0
"""Options that say when a lease is, and how it repeats."""

import argparse
import datetime
from typing import Any

from osc_lib import exceptions

from osc_nova_reservations import dates
from osc_nova_reservations import values
from osc_nova_reservations import what

_DAY = datetime.timedelta(days=1)
"""The duration of a lease that is given no end, as in python-blazarclient."""

_PERIODS = {'daily': 'P1D', 'weekly': 'P1W'}


def add(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group('time')
    group.add_argument(
        '--start',
        default=dates.NOW,
        metavar='<time>',
        help=f'Start of the lease: {dates.HELP} (default: now)',
    )
    group.add_argument(
        '--end',
        metavar='<time>',
        help='End of the lease; a day without a time is its midnight',
    )
    group.add_argument(
        '--duration',
        type=dates.duration,
        metavar='<duration>',
        help=f'Time from start to end, in place of --end: '
        f'{dates.DURATION_HELP} (default: a day)',
    )
    group.add_argument(
        '--first-free',
        action='store_true',
        help='Start as soon as there is room for --duration, at --start or '
        'later',
    )
    group.add_argument(
        '--start-before',
        metavar='<time>',
        help='With --first-free, the latest start',
    )
    group.add_argument(
        '--before-end-date',
        metavar='<time>',
        help='Time of the action named by --before-end',
    )


def add_repeat(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        'series of leases, at the same local time'
    )
    group.add_argument(
        '--repeat',
        metavar='daily|weekly|<weekdays>',
        help='Create a lease each day, each week, or on weekdays: mon,wed',
    )
    group.add_argument(
        '--count',
        type=values.whole,
        metavar='<number>',
        help='With --repeat, the number of leases, up to 64; those that '
        '--except leaves out count',
    )
    group.add_argument(
        '--until',
        metavar='<day>',
        help='With --repeat, in place of --count: the last day',
    )
    group.add_argument(
        '--except',
        dest='excepted',
        metavar='<day>[,<day>]',
        help='With --repeat, days that are left out',
    )
    group.add_argument(
        '--partial',
        action='store_true',
        help='With --repeat, create those leases for which there is room, if '
        'there is not for all',
    )


def window(args: argparse.Namespace, clock: dates.Clock) -> dict[str, Any]:
    """Return the fields of the request that say when the lease is.

    :raises: CommandError
    """
    if args.end and args.duration:
        raise exceptions.CommandError('Give --end or --duration, not both')
    shown = {'start_date': clock.sent(args.start)}
    if args.end:
        shown['end_date'] = _end(args, clock)
    else:
        shown['duration'] = dates.sent_duration(args.duration or _DAY)
    if args.before_end_date:
        shown['before_end_date'] = clock.sent(args.before_end_date)
    return shown


def _end(args: argparse.Namespace, clock: dates.Clock) -> str:
    """:raises: CommandError"""
    start = clock.moment(args.start)
    later = clock.after(start)
    end = later.moment(args.end)
    if end <= start:
        raise exceptions.CommandError(
            f'--end {clock.shown(end)} is not later than --start '
            f'{clock.shown(start)}'
        )
    return later.sent(args.end)


def repeat(
    args: argparse.Namespace, clock: dates.Clock
) -> dict[str, Any] | None:
    """Return how the lease repeats.

    :raises: CommandError
    """
    if not args.repeat:
        for name, option in (
            ('count', '--count'),
            ('until', '--until'),
            ('excepted', '--except'),
            ('partial', '--partial'),
        ):
            if getattr(args, name) not in (None, False):
                raise exceptions.CommandError(f'{option} needs --repeat')
        return None
    if (args.count is None) == (args.until is None):
        raise exceptions.CommandError(
            '--repeat needs --count or --until, and not both'
        )
    if args.first_free:
        raise exceptions.CommandError(
            '--first-free is for a single lease, without --repeat'
        )
    excepted = args.excepted.split(',') if args.excepted else []
    return {
        **_rule(args.repeat),
        'timezone': str(clock.zone),
        **what.given(
            count=args.count,
            until=clock.day(args.until) if args.until else None,
            partial=args.partial or None,
        ),
        **({'except': [*map(clock.day, excepted)]} if excepted else {}),
    }


def _rule(text: str) -> dict[str, Any]:
    """:raises: CommandError"""
    if text in _PERIODS:
        return {'every': _PERIODS[text]}
    days = [_weekday(each.strip().lower()) for each in text.split(',')]
    if None in days:
        raise exceptions.CommandError(
            f'--repeat {text}: give daily, weekly, or weekdays, such as '
            'mon,wed'
        )
    return {'every': 'P1W', 'weekdays': days}


def _weekday(word: str) -> str | None:
    """Return the weekday as calendars call it: MO."""
    for name in dates.WEEKDAYS:
        if len(word) >= 2 and name.startswith(word):
            return name[:2].upper()
    return None
