# SPDX-License-Identifier: Apache-2.0
"""Options that say which time, in which zone."""

import argparse
import datetime
import zoneinfo

from osc_lib import exceptions
import tzlocal

from osc_nova_reservations import dates
from osc_nova_reservations.calendar import model

_YEARS = range(1970, 9000)


def add_options(parser: argparse.ArgumentParser, start: str, end: str) -> None:
    """Add --start, --end and --timezone.

    :param start, end: the help about them
    """
    parser.add_argument('--start', metavar='<date>', help=start)
    parser.add_argument('--end', metavar='<date>', help=end)
    parser.add_argument(
        '--timezone',
        metavar='<zone>',
        help='The time zone of dates without an offset, and of those that '
        'are shown, as Europe/Rome (default: the one of this machine)',
    )


def zone_of(parsed_args: argparse.Namespace) -> datetime.tzinfo:
    """:raises: CommandError"""
    if parsed_args.timezone:
        return dates.zone(parsed_args.timezone)
    try:
        return tzlocal.get_localzone()
    except zoneinfo.ZoneInfoNotFoundError as error:
        raise exceptions.CommandError(
            'The time zone of this machine is not known: give one by '
            '--timezone, or by TZ, as Europe/Rome'
        ) from error


def chosen(
    parsed_args: argparse.Namespace,
    zone: datetime.tzinfo,
    first: datetime.datetime,
    days: int,
) -> model.Window:
    """Return the window that options ask for.

    :param first: the start, unless there is --start
    :param days: the length, unless there is --end
    :raises: CommandError
    """
    start, end = parsed_args.start, parsed_args.end
    if start:
        first = _date(start, zone)
    # That many days later it is the same time on the clock.
    later = first.astimezone(zone) + datetime.timedelta(days=days)
    last = _date(end, zone) if end else later.astimezone(datetime.UTC)
    if last <= first:
        raise exceptions.CommandError('--end must be later than --start')
    return model.Window(first, last, zone)


def _date(text: str, zone: datetime.tzinfo) -> datetime.datetime:
    """:raises: CommandError"""
    try:
        found = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise exceptions.CommandError(
            f'{text} is no date, such as 2050-12-26 or "2050-12-26 12:00"'
        ) from None
    if not _YEARS.start <= found.year < _YEARS.stop:
        raise exceptions.CommandError(f'There are no leases in {found.year}')
    if found.tzinfo is None:
        found = found.replace(tzinfo=zone)
    return found.astimezone(datetime.UTC)
