# SPDX-License-Identifier: Apache-2.0
"""Command ``openstack lease capacity``: hosts, or resources of another type,
over time."""

import argparse
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from osc_lib import exceptions
from osc_lib.command import command

from osc_nova_reservations import api
from osc_nova_reservations import dates

_WHEN = {'start_date': 'Start', 'end_date': 'End'}
_COUNTED = {
    'reserved': 'Reserved',
    'free': 'Free',
    'free_without_moves': 'Unmoved',
}
_ASKED = ('start', 'end', 'step', 'resource_properties')
_OF_HOSTS = {
    'hypervisor_properties': '--hypervisor-properties',
    'availability_zone': '--availability-zone',
    'flavor_id': '--flavor',
    'by_project': '--by-project',
}
_OF_OTHERS = ('resource_type', 'resource_class')


class ShowCapacity(command.Lister):
    """Show how many hosts are there, reserved, held and free over time

    With --resource-type the resources of that type in place of hosts.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--start',
            default='now',
            type=dates.typed,
            metavar='<date>',
            help='First time, in UTC: "2050-12-26 12:00", or now (default)',
        )
        parser.add_argument(
            '--end',
            required=True,
            type=dates.typed,
            metavar='<date>',
            help='Last time, in UTC',
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
            '--resource-type',
            metavar='<type>',
            help='Show resources of this type in place of hosts',
        )
        parser.add_argument(
            '--resource-class',
            metavar='<class>',
            help='With --resource-type, show how many units of this class '
            'there are and would be granted, too',
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
            action='store_const',
            const='true',
            help='Show how many hosts each project holds (administrators)',
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        path, more = _what(parsed_args)
        query = {
            name: getattr(parsed_args, name)
            for name in (*_ASKED, *more)
            if getattr(parsed_args, name)
        }
        found = api.request(api.client_of(self), 'GET', path, params=query)
        what = 'resources' if parsed_args.resource_type else 'hosts'
        columns = {**_WHEN, what: what.capitalize(), **_COUNTED}
        if parsed_args.resource_class:
            columns |= {'total': 'Units', 'available': 'Available'}
        if parsed_args.flavor_id:
            columns['slots'] = 'Slots'
        columns['holds'] = 'Held'
        if parsed_args.by_project:
            columns['projects'] = 'Projects'
        return [*columns.values()], (
            [_shown(point[key]) for key in columns]
            for point in found['capacity']
        )


def _what(args: argparse.Namespace) -> tuple[str, Collection[str]]:
    """Return the path of the request, and the options that belong to it.

    :raises: CommandError
    """
    if not args.resource_type:
        if args.resource_class:
            raise exceptions.CommandError(
                '--resource-class needs --resource-type'
            )
        return '/os-hosts/capacity', _OF_HOSTS
    wrong = [
        option for name, option in _OF_HOSTS.items() if getattr(args, name)
    ]
    if wrong:
        raise exceptions.CommandError(
            f'{", ".join(wrong)}: of hosts alone, not with --resource-type'
        )
    return '/resources/capacity', _OF_OTHERS


def _shown(value: Any) -> Any:
    if isinstance(value, Mapping):
        return ', '.join(
            f'{name}: {count}' for name, count in sorted(value.items())
        )
    return value
