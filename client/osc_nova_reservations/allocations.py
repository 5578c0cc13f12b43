# SPDX-License-Identifier: Apache-2.0
"""Command ``openstack lease allocation list``, of administrators."""

import argparse
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from osc_lib.command import command

from osc_nova_reservations import api
from osc_nova_reservations import base
from osc_nova_reservations import dates
from osc_nova_reservations import what

_COLUMNS = {
    'service_name': 'Host',
    'lease_id': 'Lease',
    'reservation_id': 'Reservation',
    'start_date': 'Start',
    'end_date': 'End',
}
_SHORT = ('service_name', 'lease_id', 'end_date')


class ListAllocation(base.Timed, command.Lister):
    """List which lease has which host, now and later (administrators)"""

    example = 'openstack lease allocation list compute-1'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'host',
            nargs='?',
            metavar='<host>',
            help='Only this host, by name or number (default: all)',
        )
        parser.add_argument(
            '--start',
            metavar='<time>',
            help=f'Only what is there then or later: {dates.HELP}',
        )
        parser.add_argument(
            '--end', metavar='<time>', help='Only what is there until then'
        )
        base.add_long(parser)
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Any]:
        clock = self.clock(parsed_args)
        found = api.client_of(self).host_allocations(
            **what.given(
                host=parsed_args.host,
                **clock.given(start=parsed_args.start, end=parsed_args.end),
            )
        )
        columns = base.columns(_COLUMNS, _SHORT, parsed_args)
        base.say_zone(self, clock, parsed_args)
        return [*columns.values()], [
            [
                _cell(reservation, key, clock)
                if key != 'service_name'
                else host.service_name
                for key in columns
            ]
            for host in found
            for reservation in host.reservations
        ]


def _cell(reservation: Mapping[str, Any], key: str, clock: dates.Clock) -> Any:
    if key in ('start_date', 'end_date'):
        return dates.Column(reservation[key], clock)
    return reservation['id' if key == 'reservation_id' else key]
