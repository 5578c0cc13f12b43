# SPDX-License-Identifier: Apache-2.0
"""Command ``openstack lease demand list``: what was refused."""

import argparse
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from osc_lib.cli import parseractions
from osc_lib.command import command

from osc_nova_reservations import api
from osc_nova_reservations import dates
from osc_nova_reservations import projects

_COLUMNS = {
    'id': 'ID',
    'asked_at': 'Asked',
    'project_id': 'Project',
    'start_date': 'Start',
    'end_date': 'End',
    'reservations': 'Asked for',
}
_FILTERS = ('start', 'end', 'limit', 'marker')


class ListDemand(command.Lister):
    """List what was asked for and refused for lack of room (administrators)"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--start',
            type=dates.typed,
            metavar='<date>',
            help='Only what was asked for then or later, in UTC: '
            '"2050-12-26 12:00"',
        )
        parser.add_argument(
            '--end',
            type=dates.typed,
            metavar='<date>',
            help='Only what was asked for earlier, in UTC',
        )
        parser.add_argument(
            '--project',
            metavar='<project>',
            help='Only what this project has asked for, by name or ID',
        )
        parser.add_argument(
            '--limit',
            type=int,
            action=parseractions.NonNegativeAction,
            metavar='<count>',
            help='Maximum number, up to 1000 (default: 1000)',
        )
        parser.add_argument(
            '--marker',
            metavar='<id>',
            help='Only those after this one, the last of the page before',
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        query = {
            name: getattr(parsed_args, name)
            for name in _FILTERS
            if getattr(parsed_args, name)
        } | projects.asked(self, parsed_args.project)
        found = api.request(
            api.client_of(self), 'GET', '/demand', params=query
        )
        if 'demand_links' in found:
            last = found['demand'][-1]['id']
            self.app.stderr.write(f'There are more: --marker {last}\n')
        return [*_COLUMNS.values()], (
            [_shown(refusal[key]) for key in _COLUMNS]
            for refusal in found['demand']
        )


def _shown(value: Any) -> Any:
    if isinstance(value, list):
        return '; '.join(map(_described, value))
    return value


def _described(reservation: Mapping[str, Any]) -> str:
    return ', '.join(f'{name}={value}' for name, value in reservation.items())
