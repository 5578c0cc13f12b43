# SPDX-License-Identifier: Apache-2.0
"""Commands ``openstack lease create``, list, show, set, delete; offer list."""

import argparse
from collections.abc import Sequence
from typing import Any
import uuid

from keystoneauth1 import adapter
from keystoneauth1 import exceptions as session_exceptions
from osc_lib import exceptions
from osc_lib import utils
from osc_lib.cli import parseractions
from osc_lib.command import command

from osc_nova_reservations import api
from osc_nova_reservations import dates
from osc_nova_reservations import options
from osc_nova_reservations import projects
from osc_nova_reservations import reserved

_COLUMNS = {
    'id': 'ID',
    'name': 'Name',
    'lease_type': 'Type',
    'status': 'Status',
    'start_date': 'Start',
    'end_date': 'End',
    'degraded': 'Degraded',
}
_ATTEMPTS = 3
"""The most offers to ask for, if other leases take them first."""

_FILTERS = frozenset(
    {
        'name',
        'status',
        'start_after',
        'start_before',
        'end_before',
        'end_after',
        'limit',
        'marker',
    }
)
"""Parameters of lists that are also options of the command."""

_LONG_COLUMNS = _COLUMNS | {
    'queue_position': 'Position',
    'status_reason': 'Reason',
    'project_id': 'Project',
}
_SHARED_COLUMNS = {
    key: _COLUMNS[key]
    for key in ('id', 'name', 'status', 'start_date', 'end_date')
}
_RESERVED = {'reserved': 'Reserved'}
"""The last column, so that scripts find the others where they were."""


class CreateLease(command.ShowOne):
    """Lease hosts, or other resources, for a window of time"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('name', metavar='<name>', help='Name of the lease')
        parser.add_argument(
            '--type',
            metavar='<type>',
            help='Type of the lease: immediate, scheduled, retry or '
            'best_effort (default: immediate if it starts now, else '
            'scheduled)',
        )
        parser.add_argument(
            '--max-retries',
            type=int,
            metavar='<count>',
            help='Number of intervals, of a minute unless the operator says '
            'otherwise, that a lease of type retry waits at most (default: '
            'as long as the operator allows)',
        )
        options.add_dates(parser, start='now')
        parser.add_argument(
            '--duration',
            metavar='<duration>',
            help='Time from start to end, in place of --end: 90m, 12h, 7d, '
            'PT1H30M (default: a day)',
        )
        parser.add_argument(
            '--first-free',
            action='store_true',
            help='Start as soon as there is room for --duration, at --start '
            'or later',
        )
        parser.add_argument(
            '--start-before',
            type=dates.typed,
            metavar='<date>',
            help='With --first-free, the latest start, in UTC',
        )
        options.add_repeat(parser)
        options.add_hosts(parser)
        options.add_end_actions(parser)
        options.add_reservations(parser)
        options.add_project(parser)
        options.add_dry_run(parser)
        parser.add_argument(
            '--idempotency-key',
            metavar='<key>',
            help='Text by which the command may be repeated: with the same '
            'one, the same command within a day makes no second lease '
            '(default: a new one)',
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Sequence[Any]]:
        parsed_args = options.in_zone(parsed_args)
        body = options.create_body(parsed_args) | projects.asked(
            self, parsed_args.project
        )
        query = options.query(parsed_args)
        client = api.client_of(self)
        if parsed_args.first_free:
            if parsed_args.idempotency_key:
                raise exceptions.CommandError(
                    '--idempotency-key does not go with --first-free: the '
                    'same command may ask for another window'
                )
            wanted = options.offers_body(
                parsed_args, after=parsed_args.start, limit=1
            )
            if 'project_id' in body:
                wanted['project_id'] = body['project_id']
            return _display(_create_first(client, wanted, body, query))
        key = parsed_args.idempotency_key or str(uuid.uuid4())
        made = _create(client, body, query, key)
        if parsed_args.repeat:
            return _display(made['lease'] | options.series(made))
        return _display(made['lease'])


class ListOffer(command.Lister):
    """List windows in which a lease would be accepted now"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--duration',
            required=True,
            metavar='<duration>',
            help='Time from start to end: 90m, 12h, 7d, PT1H30M',
        )
        parser.add_argument(
            '--start-after',
            default='now',
            type=dates.typed,
            metavar='<date>',
            help='Earliest start, in UTC: "2050-12-26 12:00", or now '
            '(default)',
        )
        parser.add_argument(
            '--start-before',
            type=dates.typed,
            metavar='<date>',
            help='Latest start, in UTC (default: there is none)',
        )
        parser.add_argument(
            '--limit',
            type=int,
            metavar='<count>',
            help='Maximum number of windows, up to 20 (default: 5)',
        )
        options.add_project(parser)
        options.add_hosts(parser)
        options.add_end_actions(parser)
        options.add_reservations(parser)
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Any]:
        body = options.offers_body(
            parsed_args, after=parsed_args.start_after, limit=parsed_args.limit
        ) | projects.asked(self, parsed_args.project)
        found = api.request(
            api.client_of(self), 'POST', '/leases/offers', body
        )
        if found['truncated']:
            self.app.stderr.write(
                'There may be more: not all was looked at, for that would '
                'have taken too long\n'
            )
        return ['Start', 'End'], (
            utils.get_dict_properties(offer, ['start_date', 'end_date'])
            for offer in found['offers']
        )


class ListLease(command.Lister):
    """List leases"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--name', metavar='<name>', help='Only leases with this name'
        )
        for name, text in (
            ('start-after', 'Only leases that start later'),
            (
                'start-before',
                'Only leases that start earlier; with --end-after, those '
                'whose windows overlap the one between',
            ),
            ('end-before', 'Only leases that end earlier'),
            ('end-after', 'Only leases that end later'),
            (
                'changes-since',
                'Only leases that were created or changed then or later',
            ),
        ):
            parser.add_argument(
                f'--{name}', type=dates.typed, metavar='<date>', help=text
            )
        parser.add_argument(
            '--status',
            action='append',
            metavar='<status>',
            help='Only leases in this status; repeat the option for several',
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
            help='Only leases of which other projects share a reservation '
            'with the own one',
        )
        parser.add_argument(
            '--sort',
            default='created_at:asc',
            metavar='<key>[:<direction>]',
            help='Key and direction, asc or desc (default: %(default)s)',
        )
        parser.add_argument(
            '--limit',
            type=int,
            action=parseractions.NonNegativeAction,
            metavar='<count>',
            help='Maximum number of leases (default: all)',
        )
        parser.add_argument(
            '--marker',
            metavar='<lease-id>',
            help='Only leases after this one, the last of the page before',
        )
        parser.add_argument(
            '--long', action='store_true', help='Show reasons and projects'
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Any]:
        key, _, direction = parsed_args.sort.partition(':')
        query = {
            'sort_key': key,
            'sort_dir': direction or 'asc',
            **{
                name: value
                for name, value in vars(parsed_args).items()
                if name in _FILTERS and value
            },
            **projects.asked(self, parsed_args.project),
        }
        if parsed_args.deleted:
            query['deleted'] = 'true'
        if parsed_args.changes_since:
            # The only parameter with a hyphen, for Nova has it so.
            query['changes-since'] = parsed_args.changes_since
        if parsed_args.shared:
            query['shared'] = 'true'
        leases = api.request(
            api.client_of(self), 'GET', '/leases', params=query
        )['leases']
        if parsed_args.shared:
            return [*_SHARED_COLUMNS.values(), 'Reservations'], (
                (
                    *utils.get_dict_properties(lease, [*_SHARED_COLUMNS]),
                    ', '.join(each['id'] for each in lease['reservations']),
                )
                for lease in leases
            )
        columns = _LONG_COLUMNS if parsed_args.long else _COLUMNS
        columns = columns | _RESERVED
        return [*columns.values()], (
            utils.get_dict_properties(
                lease | {'reserved': reserved.of_lease(lease)}, [*columns]
            )
            for lease in leases
        )


class ShowLease(command.ShowOne):
    """Show a lease, and how its reservations are used"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        options.add_lease(parser)
        parser.add_argument(
            '--deleted',
            action='store_true',
            help='Show the lease with this ID even if it was deleted '
            '(administrators)',
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Sequence[Any]]:
        client = api.client_of(self)
        lease_id, query = parsed_args.lease, None
        if parsed_args.deleted:
            query = {'deleted': 'true'}
        else:
            # A name is looked up in the list, which does not show the usage.
            lease_id = api.find(client, lease_id)['id']
        return _display(
            api.request(client, 'GET', f'/leases/{lease_id}', params=query)[
                'lease'
            ]
        )


class DeleteLease(command.Command):
    """Delete leases; those that have started are ended first"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        options.add_lease(parser, nargs='+')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        client = api.client_of(self)
        # All names are looked up first: if one is not found, no lease is
        # deleted.
        found = [api.find(client, lease) for lease in parsed_args.lease]
        for lease in found:
            api.request(client, 'DELETE', f'/leases/{lease["id"]}')


class SetLease(command.ShowOne):
    """Change a lease: its dates, and what its reservations ask for"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        options.add_lease(parser)
        parser.add_argument('--name', metavar='<name>', help='New name')
        parser.add_argument(
            '--replace-failed',
            action='store_true',
            help='Replace hosts that have failed by others that are free '
            'now; no other option goes with it',
        )
        parser.add_argument(
            '--release-host',
            dest='released',
            action='append',
            default=[],
            metavar='<host>',
            help='Give a host of an active lease back, by name or ID: there '
            'are no servers on it; repeat the option for several',
        )
        options.add_dates(parser)
        options.add_end_actions(parser)
        options.add_reservations(parser)
        options.add_dry_run(parser)
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Sequence[Any]]:
        client = api.client_of(self)
        lease = api.find(client, parsed_args.lease)
        body = options.update_body(parsed_args, lease)
        query = options.query(parsed_args)
        path = f'/leases/{lease["id"]}'
        return _display(api.request(client, 'PUT', path, body, query)['lease'])


def _create(
    client: adapter.Adapter, body: Any, query: Any, key: str
) -> dict[str, Any]:
    """Create a lease, unless an earlier request with the key has created it,
    and return the answer.

    :raises: CommandError
    """
    headers = {'Idempotency-Key': key}
    try:
        return api.request(client, 'POST', '/leases', body, query, headers)
    except session_exceptions.ConnectionError as error:
        raise exceptions.CommandError(
            f'{error}\nThe lease may have been made. To be sure, give the '
            f'same command with --idempotency-key {key}: it makes no second '
            'one'
        ) from error


def _create_first(
    client: adapter.Adapter, wanted: Any, body: Any, query: Any
) -> dict[str, Any]:
    """Create a lease in the first window that is offered for it.

    :raises: CommandError
    """
    for attempts_left in reversed(range(_ATTEMPTS)):
        found = api.request(client, 'POST', '/leases/offers', wanted)
        if not found['offers']:
            raise exceptions.CommandError(
                'No window was found in which there is room for the lease'
            )
        [offer] = found['offers']
        body = body | {'start_date': offer['start_date']}
        try:
            return dict(
                api.request(client, 'POST', '/leases', body, query)['lease']
            )
        except exceptions.CommandError:
            # Another lease may have taken the window meanwhile.
            if not attempts_left:
                raise
    raise AssertionError


def _display(lease: dict[str, Any]) -> tuple[Sequence[str], Sequence[Any]]:
    """Return the columns and values to show of a lease."""
    hidden = {'trust_id', 'events'}
    shown = {
        key: reserved.Column(value) if key == 'reservations' else value
        for key, value in sorted(lease.items())
        if key not in hidden
    }
    return [*shown], [*shown.values()]
