# SPDX-License-Identifier: Apache-2.0
"""The command ``openstack lease calendar``."""

import argparse
import datetime
import os
import pathlib
import shutil
from typing import TextIO

from osc_lib import exceptions
from osc_lib.command import command

from osc_nova_reservations import api
from osc_nova_reservations.calendar import layout
from osc_nova_reservations.calendar import model
from osc_nova_reservations.calendar import page
from osc_nova_reservations.calendar import source
from osc_nova_reservations.calendar import terminal

_LENGTH = datetime.timedelta(days=14)
_YEARS = range(1970, 9000)
_LONGEST = datetime.timedelta(days=366)


class ShowCalendar(command.Command):
    """Draw leases, hosts, or other resources, over time"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        rows = parser.add_mutually_exclusive_group()
        rows.add_argument(
            '--mine',
            action='store_true',
            help='A row for each lease of the project (default)',
        )
        rows.add_argument(
            '--hosts',
            action='store_true',
            help='A row for each host: your leases are named; what others '
            'have is taken',
        )
        rows.add_argument(
            '--resources',
            metavar='<type>',
            help='The same for each resource of this type',
        )
        parser.add_argument(
            '--start',
            metavar='<date>',
            help='Start, in UTC: 2050-12-26, or "2050-12-26 12:00" (default: '
            'the start of this day)',
        )
        parser.add_argument(
            '--end',
            metavar='<date>',
            help='End, in UTC, at most 366 days later (default: 14 days '
            'later)',
        )
        parser.add_argument(
            '--html',
            metavar='<file>',
            help='Write a page for browsers, of whole days, to this file',
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        now = datetime.datetime.now(datetime.UTC)
        window = chosen(parsed_args.start, parsed_args.end, now)
        if parsed_args.html:
            window = layout.whole_days(window)
        client = api.client_of(self)
        if parsed_args.hosts:
            calendar = source.of_hosts(client, window, now)
        elif parsed_args.resources:
            calendar = source.of_resources(
                client, window, now, parsed_args.resources
            )
        else:
            calendar = source.of_leases(client, window, now)
        if parsed_args.html:
            _write(parsed_args.html, page.html(calendar))
            return
        _print(calendar, self.app.stdout)


def chosen(
    start: str | None, end: str | None, now: datetime.datetime
) -> model.Window:
    """Return the window that options ask for.

    :raises: CommandError
    """
    first = (
        _date(start)
        if start
        else now.replace(hour=0, minute=0, second=0, microsecond=0)
    )
    last = _date(end) if end else first + _LENGTH
    if last <= first:
        raise exceptions.CommandError('--end must be later than --start')
    if last - first > _LONGEST:
        raise exceptions.CommandError(
            f'A calendar has at most {_LONGEST.days} days'
        )
    return model.Window(first, last)


def _date(text: str) -> datetime.datetime:
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
        return found.replace(tzinfo=datetime.UTC)
    return found.astimezone(datetime.UTC)


def _write(file: str, text: str) -> None:
    """:raises: CommandError"""
    try:
        pathlib.Path(file).write_text(text, encoding='utf-8')
    except OSError as error:
        raise exceptions.CommandError(
            f'{file} could not be written: {error.strerror}'
        ) from error


def _print(calendar: model.Calendar, output: TextIO) -> None:
    width = shutil.get_terminal_size((100, 24)).columns
    colours = output.isatty() and not os.environ.get('NO_COLOR')
    encoding = output.encoding or 'utf-8'
    for line in terminal.lines(calendar, width, colours):
        # Names may contain characters that the terminal cannot show.
        known = line.encode(encoding, 'replace').decode(encoding)
        output.write(f'{known}\n')
