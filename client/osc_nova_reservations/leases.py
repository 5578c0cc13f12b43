# SPDX-License-Identifier: Apache-2.0
"""Commands ``openstack lease list``, show, delete and event list."""

import argparse
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from osc_lib.cli import format_columns
from osc_lib.command import command

from osc_nova_reservations import api
from osc_nova_reservations import base
from osc_nova_reservations import dates
from osc_nova_reservations import errors
from osc_nova_reservations import names
from osc_nova_reservations import reserved
from osc_nova_reservations import shown
from osc_nova_reservations import values
from osc_nova_reservations import what

_COLUMNS = {
    'id': 'ID',
    'name': 'Name',
    'reserved': 'Reserved',
    'lease_type': 'Type',
    'status': 'Status',
    'start_date': 'Start',
    'end_date': 'End',
    'degraded': 'Degraded',
    'reservation_ids': 'Reservation IDs',
    'series_id': 'Series',
    'queue_position': 'Position',
    'status_reason': 'Reason',
    'project': 'Project',
}
_SHORT = ('name', 'reserved', 'status', 'start_date', 'end_date')
_SHARED = ('id', 'name', 'start_date')
"""Of a lease of others the ID is wanted: servers name it by that."""

_STATUSES = (
    *('CREATING', 'IN_PROGRESS', 'PENDING', 'STARTING', 'ACTIVE'),
    *('TERMINATING', 'DELETING', 'TERMINATED', 'TIMEDOUT', 'ERROR'),
)

_TIMES = {
    'start-after': 'Only leases that start later',
    'start-before': 'Only leases that start earlier; with --end-after, those '
    'whose windows overlap the one between',
    'end-before': 'Only leases that end earlier',
    'end-after': 'Only leases that end later',
    'changes-since': 'Only leases that were created or changed then or later',
}


class ListLease(base.Timed, command.Lister):
    """List leases"""

    example = 'openstack lease list --status ACTIVE --end-before tomorrow'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--name', metavar='<name>', help='Only leases with this name'
        )
        for name, text in _TIMES.items():
            parser.add_argument(f'--{name}', metavar='<time>', help=text)
        parser.add_argument(
            '--status',
            action='append',
            type=_status,
            metavar='<status>',
            help='Only leases in this status, such as ACTIVE or PENDING; '
            'repeat the option for several',
        )
        parser.add_argument(
            '--project',
            metavar='<project>',
            help='Only leases of this project, by name or ID (administrators)',
        )
        parser.add_argument(
            '--deleted',
            action='store_true',
            help='Only leases that were deleted (administrators)',
        )
        parser.add_argument(
            '--shared',
            action='store_true',
            help='Only leases that other projects share with the own one; '
            'servers name them by their IDs',
        )
        parser.add_argument(
            '--sort',
            default='created_at:asc',
            metavar='<key>[:<direction>]',
            help='Key and direction, asc or desc (default: %(default)s)',
        )
        parser.add_argument(
            '--limit',
            type=values.whole,
            metavar='<number>',
            help='Maximum number of leases (default: all)',
        )
        parser.add_argument(
            '--marker',
            metavar='<lease-id>',
            help='Only leases after this one, the last of the page before',
        )
        base.add_long(parser)
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Any]:
        clock, known = self.clock(parsed_args), names.Names(self)
        found = [
            each.shown()
            for each in api.client_of(self).leases(
                **_query(parsed_args, clock, known)
            )
        ]
        short = _SHARED if parsed_args.shared else _SHORT
        columns = base.columns(_COLUMNS, short, parsed_args)
        projects = (
            known.of_projects(str(each.get('project_id')) for each in found)
            if 'project' in columns and not parsed_args.shared
            else {}
        )
        base.say_zone(self, clock, parsed_args)
        return [*columns.values()], [
            [_cell(each, key, clock, projects) for key in columns]
            for each in found
        ]


def _status(text: str) -> str:
    """:raises: ArgumentTypeError"""
    if text.upper() in _STATUSES:
        return text.upper()
    raise argparse.ArgumentTypeError(
        f'{text} is no status of leases; these are {", ".join(_STATUSES)}'
    )


def _query(
    args: argparse.Namespace, clock: dates.Clock, known: names.Names
) -> dict[str, Any]:
    """:raises: CommandError"""
    key, _, direction = args.sort.partition(':')
    found = {
        'sort_key': key,
        'sort_dir': direction or 'asc',
        **what.given(
            name=args.name,
            status=args.status,
            marker=args.marker,
            # The SDK reads page after page, up to so many.
            max_items=args.limit,
            project_id=known.project(args.project) if args.project else None,
            deleted='true' if args.deleted else None,
            shared='true' if args.shared else None,
        ),
    }
    names = [option.replace('-', '_') for option in _TIMES]
    return found | clock.given(**{name: getattr(args, name) for name in names})


def _cell(
    lease: Mapping[str, Any],
    key: str,
    clock: dates.Clock,
    projects: Mapping[str, str],
) -> Any:
    match key:
        case 'reserved':
            return reserved.of_lease(lease)
        case 'reservation_ids':
            return format_columns.ListColumn(
                [each['id'] for each in lease['reservations']]
            )
        case 'start_date' | 'end_date':
            return dates.Column(lease[key], clock)
        case 'project':
            project = lease.get('project_id')
            return projects.get(str(project), project)
    return lease.get(key)


class ShowLease(base.Timed, command.ShowOne):
    """Show a lease, and how its reservations are used"""

    example = 'openstack lease show workshop'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_lease(parser)
        parser.add_argument(
            '--deleted',
            action='store_true',
            help='Show the lease with this ID even if it was deleted '
            '(administrators)',
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> shown.Row:
        client = api.client_of(self)
        lease: Any = parsed_args.lease
        if not parsed_args.deleted:
            # A name is looked up in the list, which does not show the usage.
            lease = api.find(client, lease)
        found = client.get_lease(lease, deleted=parsed_args.deleted)
        return shown.lease(
            found.shown(),
            self.clock(parsed_args),
            names.Names(self),
            parsed_args,
        )


class DeleteLease(base.Told):
    """Delete leases; those that have started are ended first"""

    example = 'openstack lease delete workshop'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_lease(parser, nargs='+')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        client = api.client_of(self)
        # All names are looked up first: if one is not found, no lease is
        # deleted.
        found = [api.find(client, lease) for lease in parsed_args.lease]
        for lease in found:
            with errors.told():
                client.delete_lease(lease, ignore_missing=False)


class ListEvent(base.Timed, command.Lister):
    """List what happens at which time of a lease"""

    example = 'openstack lease event list workshop'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_lease(parser)
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Any]:
        clock = self.clock(parsed_args)
        lease = api.find(api.client_of(self), parsed_args.lease)
        base.say_zone(self, clock, parsed_args)
        return ['Event', 'Time', 'Status'], [
            (
                event['event_type'],
                dates.Column(event['time'], clock),
                event['status'],
            )
            for event in sorted(
                lease.events or (), key=lambda event: str(event['time'])
            )
        ]


def add_lease(parser: argparse.ArgumentParser, **more: Any) -> None:
    parser.add_argument(
        'lease', metavar='<lease>', help='Name or ID of the lease', **more
    )
