# SPDX-License-Identifier: Apache-2.0
"""The command ``openstack lease calendar``."""

import argparse
import datetime
import os
import shutil
from typing import TextIO

from osc_lib import exceptions

from osc_nova_reservations import api
from osc_nova_reservations import base
from osc_nova_reservations import dates
from osc_nova_reservations.calendar import files
from osc_nova_reservations.calendar import layout
from osc_nova_reservations.calendar import model
from osc_nova_reservations.calendar import page
from osc_nova_reservations.calendar import period
from osc_nova_reservations.calendar import source
from osc_nova_reservations.calendar import terminal

_DAYS = 14
_LONGEST = datetime.timedelta(days=366)


class ShowCalendar(base.Timed):
    """Draw leases, hosts, or other resources, over time"""

    example = 'openstack lease calendar --hosts --html calendar.html'

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
        period.add_options(
            parser,
            'the start of this day',
            f'{_DAYS} days later; at most {_LONGEST.days}',
        )
        parser.add_argument(
            '--html',
            metavar='<file>',
            help='Write a page for browsers, of whole days, to this file; - '
            'is the standard output',
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        clock = self.clock(parsed_args)
        now = clock.now
        window = chosen(parsed_args, clock)
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
            content = page.html(calendar).encode()
            files.write(parsed_args.html, content, self.app.stdout)
            return
        _print(calendar, self.app.stdout)


def chosen(args: argparse.Namespace, clock: dates.Clock) -> model.Window:
    """Return the window that options ask for.

    :raises: CommandError
    """
    today = layout.midnight(
        clock.now.astimezone(clock.zone).date(), clock.zone
    )
    window = period.chosen(args, clock, today, _DAYS)
    if window.length > _LONGEST:
        raise exceptions.CommandError(
            f'A calendar has at most {_LONGEST.days} days'
        )
    return window


def _print(calendar: model.Calendar, output: TextIO) -> None:
    width = shutil.get_terminal_size((100, 24)).columns
    colours = output.isatty() and not os.environ.get('NO_COLOR')
    encoding = output.encoding or 'utf-8'
    for line in terminal.lines(calendar, width, colours):
        # Names may contain characters that the terminal cannot show.
        known = line.encode(encoding, 'replace').decode(encoding)
        output.write(f'{known}\n')
