# SPDX-License-Identifier: Apache-2.0
"""Command ``openstack lease capacity``: hosts over time."""

import argparse
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from osc_lib.command import command

from osc_nova_reservations import api

_COLUMNS = {
    'start_date': 'Start',
    'end_date': 'End',
    'hosts': 'Hosts',
    'reserved': 'Reserved',
    'free': 'Free',
    'free_without_moves': 'Unmoved',
}
_ASKED = (
    'start',
    'end',
    'step',
    'hypervisor_properties',
    'resource_properties',
    'availability_zone',
    'flavor_id',
)


class ShowCapacity(command.Lister):
    """Show how many hosts are there, reserved, held and free over time"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--start',
            default='now',
            metavar='<date>',
            help='First time, in UTC: "2050-12-26 12:00", or now (default)',
        )
        parser.add_argument(
            '--end', required=True, metavar='<date>', help='Last time, in UTC'
        )
        parser.add_argument(
            '--step',
            metavar='<duration>',
            help='Length of a step, from a minute on: 90m, 12h, 7d, PT1H30M '
            '(default: an hour)',
        )
        for kind in ('hypervisor', 'resource'):
            parser.add_argument(
                f'--{kind}-properties',
                metavar='<expression>',
                help=f'Only hosts with these {kind} properties, for example '
                '[">=", "$vcpus", "16"]',
            )
        parser.add_argument(
            '--availability-zone',
            metavar='<zone>',
            help='Only hosts in this availability zone',
        )
        parser.add_argument(
            '--flavor',
            dest='flavor_id',
            metavar='<flavor-id>',
            help='Show how many servers of this flavor would get slots, too',
        )
        parser.add_argument(
            '--by-project',
            action='store_true',
            help='Show how many hosts each project holds (administrators)',
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        query = {
            name: getattr(parsed_args, name)
            for name in _ASKED
            if getattr(parsed_args, name)
        }
        if parsed_args.by_project:
            query['by_project'] = 'true'
        found = api.request(
            api.client_of(self), 'GET', '/os-hosts/capacity', params=query
        )
        columns = dict(_COLUMNS)
        if parsed_args.flavor_id:
            columns['slots'] = 'Slots'
        columns['holds'] = 'Held'
        if parsed_args.by_project:
            columns['projects'] = 'Projects'
        return [*columns.values()], (
            [_shown(point[key]) for key in columns]
            for point in found['capacity']
        )


def _shown(value: Any) -> Any:
    if isinstance(value, Mapping):
        return ', '.join(
            f'{name}: {count}' for name, count in sorted(value.items())
        )
    return value
