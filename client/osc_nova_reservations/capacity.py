# SPDX-License-Identifier: Apache-2.0
"""Command ``openstack lease capacity``: hosts, or resources of another type,
over time."""

import argparse
from collections.abc import Mapping
from collections.abc import Sequence
import datetime
from typing import Any

from osc_lib import exceptions
from osc_lib.command import command

from osc_nova_reservations import api
from osc_nova_reservations import base
from osc_nova_reservations import dates
from osc_nova_reservations import names
from osc_nova_reservations import what

_WHEN = {'start_date': 'Start', 'end_date': 'End'}
_COUNTED = {
    'reserved': 'Reserved',
    'free': 'Free',
    'free_without_moves': 'Unmoved',
}
_WEEK = datetime.timedelta(days=7)
_DAY = datetime.timedelta(days=1)
_OF_HOSTS = {
    'hypervisor_properties': '--hypervisor-properties',
    'availability_zone': '--availability-zone',
    'flavor': '--flavor',
    'by_project': '--by-project',
}


class ShowCapacity(base.Timed, command.Lister):
    """Show how many hosts are there, reserved, held and free over time

    With --resource-type the resources of that type in place of hosts. Free
    ones can be had if promises of other leases move; of these, Unmoved ones
    without that. Held ones no new lease gets.
    """

    example = 'openstack lease capacity --property gpu=a100 --step 1d'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--start',
            default=dates.NOW,
            metavar='<time>',
            help=f'First time: {dates.HELP} (default: now)',
        )
        parser.add_argument(
            '--end',
            metavar='<time>',
            help='Last time (default: a week after the first)',
        )
        parser.add_argument(
            '--step',
            type=dates.duration,
            metavar='<duration>',
            help=f'Length of a step, from a minute on: {dates.DURATION_HELP} '
            '(default: an hour; without --end, a day)',
        )
        what.add_properties(parser)
        for kind in ('hypervisor', 'resource'):
            parser.add_argument(
                f'--{kind}-properties',
                metavar='<expression>',
                help='Other requirements, as an expression of the API',
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
            metavar='<flavor>',
            help='Show how many servers of this flavor would get slots, too',
        )
        parser.add_argument(
            '--by-project',
            action='store_true',
            help='Show how many hosts each project holds (administrators)',
        )
        base.add_long(parser)
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Any]:
        clock = self.clock(parsed_args)
        client = api.client_of(self)
        query = _query(parsed_args, clock, names.Names(self))
        if parsed_args.resource_type:
            noun, found = 'resources', client.resource_capacity(**query)
        else:
            noun, found = 'hosts', client.host_capacity(**query)
        columns = {**_WHEN, noun: noun.capitalize(), **_COUNTED}
        if parsed_args.resource_class:
            columns |= {'total': 'Units', 'available': 'Available'}
        if parsed_args.flavor:
            columns['slots'] = 'Slots'
        columns['holds'] = 'Held'
        if parsed_args.by_project:
            columns['projects'] = 'Projects'
        shown = base.columns(
            columns, [key for key in columns if key != 'end_date'], parsed_args
        )
        base.say_zone(self, clock, parsed_args)
        return [*shown.values()], [
            [_cell(point, key, clock) for key in shown] for point in found
        ]


def _query(
    args: argparse.Namespace, clock: dates.Clock, known: names.Names
) -> dict[str, Any]:
    """:raises: CommandError"""
    if args.resource_class and not args.resource_type:
        raise exceptions.CommandError('--resource-class needs --resource-type')
    wrong = [
        option for name, option in _OF_HOSTS.items() if getattr(args, name)
    ]
    if args.resource_type and wrong:
        raise exceptions.CommandError(
            f'{", ".join(wrong)}: of hosts alone, not with --resource-type'
        )
    end = clock.moment(args.end) if args.end else None
    step = args.step
    if end is None:
        end = clock.moment(args.start) + _WEEK
        step = step or _DAY
    return what.given(
        start=clock.sent(args.start),
        end=end.isoformat(timespec='seconds'),
        step=dates.sent_duration(step) if step else None,
        resource_type=args.resource_type,
        resource_class=args.resource_class,
        resource_properties=what.expression(
            args.properties, args.resource_properties
        )
        or None,
        hypervisor_properties=args.hypervisor_properties,
        availability_zone=args.availability_zone,
        flavor_id=known.flavor(args.flavor) if args.flavor else None,
        by_project='true' if args.by_project else None,
    )


def _cell(point: Mapping[str, Any], key: str, clock: dates.Clock) -> Any:
    value = point[key]
    if key in _WHEN:
        return dates.Column(value, clock)
    if isinstance(value, Mapping):
        return ', '.join(
            f'{name}: {count}' for name, count in sorted(value.items())
        )
    return value
