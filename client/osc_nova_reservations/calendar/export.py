# SPDX-License-Identifier: Apache-2.0
"""The command ``openstack lease export``."""

import argparse
import datetime

from osc_lib import exceptions

from osc_nova_reservations import api
from osc_nova_reservations import base
from osc_nova_reservations.calendar import files
from osc_nova_reservations.calendar import ics
from osc_nova_reservations.calendar import period
from osc_nova_reservations.calendar import source

_BEFORE = 30
_DAYS = _BEFORE + 365


class ExportLease(base.Timed):
    """Write the leases of the project for calendar programs"""

    example = 'openstack lease export --ics leases.ics'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--ics',
            metavar='<file>',
            help='Write an iCalendar file with an event for each lease; - is '
            'the standard output',
        )
        period.add_options(
            parser,
            f'{_BEFORE} days ago; leases that are over before it are left out',
            f'{_DAYS} days after the start, so a year from now',
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        if not parsed_args.ics:
            raise exceptions.CommandError(
                'Say what to write: --ics leases.ics, or --ics - for the '
                'standard output'
            )
        clock = self.clock(parsed_args)
        first = clock.now - datetime.timedelta(days=_BEFORE)
        window = period.chosen(parsed_args, clock, first, _DAYS)
        client = api.client_of(self)
        leases = source.leases_in(client, window, client.get_project_id())
        files.write(parsed_args.ics, ics.of(leases), self.app.stdout)
