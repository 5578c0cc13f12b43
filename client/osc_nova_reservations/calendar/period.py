# SPDX-License-Identifier: Apache-2.0
"""Options that say from when to when."""

import argparse
import datetime

from osc_lib import exceptions

from osc_nova_reservations import dates
from osc_nova_reservations.calendar import model

_YEARS = range(1970, 9000)


def add_options(parser: argparse.ArgumentParser, start: str, end: str) -> None:
    """:param start, end: what is the default"""
    parser.add_argument(
        '--start',
        metavar='<time>',
        help=f'Start: {dates.HELP} (default: {start})',
    )
    parser.add_argument(
        '--end', metavar='<time>', help=f'End (default: {end})'
    )


def chosen(
    args: argparse.Namespace,
    clock: dates.Clock,
    first: datetime.datetime,
    days: int,
) -> model.Window:
    """Return the window that options ask for.

    :param first: the start, unless there is --start
    :param days: the length, unless there is --end
    :raises: CommandError
    """
    start = _moment(args.start, clock) if args.start else first
    # That many days later it is the same time on the clock.
    last = (
        _moment(args.end, clock)
        if args.end
        else start.astimezone(clock.zone) + datetime.timedelta(days=days)
    )
    if last <= start:
        raise exceptions.CommandError('--end must be later than --start')
    return model.Window(
        start.astimezone(datetime.UTC),
        last.astimezone(datetime.UTC),
        clock.zone,
    )


def _moment(text: str, clock: dates.Clock) -> datetime.datetime:
    """:raises: CommandError"""
    found = clock.moment(text)
    if found.year not in _YEARS:
        raise exceptions.CommandError(f'There are no leases in {found.year}')
    return found
