# SPDX-License-Identifier: Apache-2.0
"""Command ``openstack lease demand list``: what was refused."""

import argparse
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from osc_lib.cli import format_columns
from osc_lib.command import command

from osc_nova_reservations import api
from osc_nova_reservations import base
from osc_nova_reservations import dates
from osc_nova_reservations import names
from osc_nova_reservations import reserved
from osc_nova_reservations import values
from osc_nova_reservations import what

_COLUMNS = {
    'id': 'ID',
    'asked_at': 'Asked',
    'project_id': 'Project',
    'start_date': 'Start',
    'end_date': 'End',
    'reservations': 'Asked for',
}
_SHORT = ('project_id', 'start_date', 'end_date', 'reservations')


class ListDemand(base.Timed, command.Lister):
    """List what was asked for and refused for lack of room (administrators)"""

    example = 'openstack lease demand list --start 2050-12-01'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--start',
            metavar='<time>',
            help=f'Only what was asked for then or later: {dates.HELP}',
        )
        parser.add_argument(
            '--end',
            metavar='<time>',
            help='Only what was asked for earlier',
        )
        parser.add_argument(
            '--project',
            metavar='<project>',
            help='Only what this project has asked for, by name or ID',
        )
        parser.add_argument(
            '--limit',
            type=values.whole,
            metavar='<number>',
            help='Maximum number, up to 1000 (default: 1000)',
        )
        parser.add_argument(
            '--marker',
            metavar='<id>',
            help='Only those after this one, the last of the page before',
        )
        base.add_long(parser)
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Any]:
        clock, known = self.clock(parsed_args), names.Names(self)
        found = api.client_of(self).demand(
            **what.given(
                **clock.given(start=parsed_args.start, end=parsed_args.end),
                limit=parsed_args.limit,
                marker=parsed_args.marker,
                project_id=known.project(parsed_args.project)
                if parsed_args.project
                else None,
            )
        )
        if 'demand_links' in found:
            last = found['demand'][-1]['id']
            self.app.stderr.write(f'There are more: --marker {last}\n')
        columns = base.columns(_COLUMNS, _SHORT, parsed_args)
        projects = known.of_projects(
            refusal['project_id'] for refusal in found['demand']
        )
        base.say_zone(self, clock, parsed_args)
        return [*columns.values()], [
            [_cell(refusal, key, clock, projects) for key in columns]
            for refusal in found['demand']
        ]


def _cell(
    refusal: Mapping[str, Any],
    key: str,
    clock: dates.Clock,
    projects: Mapping[str, str],
) -> Any:
    match key:
        case 'asked_at' | 'start_date' | 'end_date':
            return dates.Column(refusal[key], clock)
        case 'project_id':
            return projects.get(refusal[key], refusal[key])
        case 'reservations':
            return _Wanted(refusal[key])
    return refusal[key]


class _Wanted(format_columns.ListDictColumn):
    """The reservations that were asked for."""

    def human_readable(self) -> str:
        return reserved.of_lease({'reservations': self._value})
