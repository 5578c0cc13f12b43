# SPDX-License-Identifier: Apache-2.0
"""Commands ``openstack lease create``, list, show, set and delete."""

import argparse
from collections.abc import Sequence
from typing import Any

from keystoneauth1 import adapter
from osc_lib import exceptions
from osc_lib import utils
from osc_lib.cli import format_columns
from osc_lib.cli import parseractions
from osc_lib.command import command

from osc_nova_reservations import options

_COLUMNS = {
    'id': 'ID',
    'name': 'Name',
    'lease_type': 'Type',
    'status': 'Status',
    'start_date': 'Start',
    'end_date': 'End',
    'degraded': 'Degraded',
}
_LONG_COLUMNS = _COLUMNS | {
    'status_reason': 'Reason',
    'project_id': 'Project',
}


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
            help='Number of times that a lease of type retry is tried again',
        )
        options.add_dates(parser, start='now')
        parser.add_argument(
            '--duration',
            metavar='<duration>',
            help='Time from start to end, in place of --end: 90m, 12h, 7d, '
            'PT1H30M',
        )
        parser.add_argument(
            '--hosts',
            type=options.host_range,
            metavar='<min>[-<max>]',
            help='Reserve this number of whole hosts',
        )
        for kind in ('hypervisor', 'resource'):
            parser.add_argument(
                f'--{kind}-properties',
                metavar='<expression>',
                help=f'With --hosts, {kind} properties that they must have, '
                'for example [">=", "$vcpus", "16"]',
            )
        options.add_end_actions(parser)
        options.add_reservations(parser)
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Sequence[Any]]:
        body = options.create_body(parsed_args)
        return _display(
            _request(_client(self), 'POST', '/leases', body)['lease']
        )


class ListLease(command.Lister):
    """List leases"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        for name, metavar, text in (
            ('name', '<name>', 'Only leases with this name'),
            ('status', '<status>', 'Only leases in this status'),
            ('start-after', '<date>', 'Only leases that start later'),
            ('end-before', '<date>', 'Only leases that end earlier'),
        ):
            parser.add_argument(f'--{name}', metavar=metavar, help=text)
        parser.add_argument(
            '--project',
            dest='project_id',
            metavar='<project-id>',
            help='Only leases of this project (administrators)',
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
                name: getattr(parsed_args, name)
                for name in (
                    'name',
                    'status',
                    'start_after',
                    'end_before',
                    'project_id',
                    'limit',
                    'marker',
                )
                if getattr(parsed_args, name)
            },
        }
        leases = _request(_client(self), 'GET', '/leases', params=query)[
            'leases'
        ]
        columns = _LONG_COLUMNS if parsed_args.long else _COLUMNS
        return [*columns.values()], (
            utils.get_dict_properties(lease, [*columns]) for lease in leases
        )


class ShowLease(command.ShowOne):
    """Show a lease, and how its reservations are used"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        options.add_lease(parser)
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Sequence[Any]]:
        client = _client(self)
        # The list, where a name is looked up, does not show the usage.
        lease_id = _find(client, parsed_args.lease)['id']
        return _display(
            _request(client, 'GET', f'/leases/{lease_id}')['lease']
        )


class DeleteLease(command.Command):
    """Delete leases; those that have started are ended first"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        options.add_lease(parser, nargs='+')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        client = _client(self)
        # A name that is not found must not leave half of them deleted.
        found = [_find(client, lease) for lease in parsed_args.lease]
        for lease in found:
            _request(client, 'DELETE', f'/leases/{lease["id"]}')


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
        options.add_dates(parser)
        options.add_end_actions(parser)
        options.add_reservations(parser)
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Sequence[Any]]:
        client = _client(self)
        lease = _find(client, parsed_args.lease)
        body = options.update_body(parsed_args, lease)
        return _display(
            _request(client, 'PUT', f'/leases/{lease["id"]}', body)['lease']
        )


def _client(caller: command.Command) -> adapter.Adapter:
    manager: Any = caller.app.client_manager
    client: adapter.Adapter = manager.lease
    return client


def _find(client: adapter.Adapter, lease: str) -> dict[str, Any]:
    """Return the lease with this name or ID.

    :raises: CommandError unless there is exactly one
    """
    if utils.is_uuid_like(lease):
        return dict(_request(client, 'GET', f'/leases/{lease}')['lease'])
    found = _request(client, 'GET', '/leases', params={'name': lease})[
        'leases'
    ]
    if not found:
        raise exceptions.CommandError(f'No lease has the name {lease}')
    if len(found) > 1:
        raise exceptions.CommandError(
            f'{len(found)} leases have the name {lease}: give the ID of one'
        )
    return dict(found[0])


def _request(
    client: adapter.Adapter,
    method: str,
    path: str,
    body: Any = None,
    params: Any = None,
) -> dict[str, Any]:
    """Send a request, and return the body of the response.

    :raises: CommandError, with the message of the API if it gave one
    """
    sent = {} if body is None else {'json': body}
    response = client.request(path, method, params=params, **sent)
    if response.status_code == 204:
        return {}
    try:
        received = dict(response.json())
    except (ValueError, TypeError):
        received = {}
    if response.status_code >= 400 or not received:
        raise exceptions.CommandError(
            received.get('error_message')
            or f'{method} {response.url} was answered with '
            f'{response.status_code} {response.reason}'
        )
    return received


def _display(lease: dict[str, Any]) -> tuple[Sequence[str], Sequence[Any]]:
    """Return the columns and values to show of a lease."""
    hidden = {'trust_id', 'events'}
    shown = {
        key: format_columns.ListDictColumn(value)
        if key == 'reservations'
        else value
        for key, value in sorted(lease.items())
        if key not in hidden
    }
    return [*shown], [*shown.values()]
