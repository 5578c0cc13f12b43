# SPDX-License-Identifier: Apache-2.0
"""openstack lease create, list, show, set and delete."""

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


class CreateLease(command.ShowOne):
    """Lease hosts, or other resources, for a window of time"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('name', metavar='<name>', help='Name of the lease')
        parser.add_argument(
            '--type',
            metavar='<type>',
            help='How resources are found: immediate, scheduled, retry or '
            'best_effort (default: immediate if it starts now, else '
            'scheduled)',
        )
        parser.add_argument(
            '--max-retries',
            type=int,
            metavar='<count>',
            help='How often a lease of type retry is tried again',
        )
        options.add_dates(parser, start='now')
        parser.add_argument(
            '--duration',
            metavar='<duration>',
            help='How long it lasts from its start on, in place of --end: '
            '90m, 12h, 7d, PT1H30M',
        )
        parser.add_argument(
            '--hosts',
            type=options.count,
            metavar='<min>[-<max>]',
            help='Reserve so many whole hosts',
        )
        for what in ('hypervisor', 'resource'):
            parser.add_argument(
                f'--{what}-properties',
                metavar='<expression>',
                help=f'With --hosts: which, by {what} properties, for '
                'example [">=", "$vcpus", "16"]',
            )
        options.add_endings(parser)
        options.add_reservations(parser)
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Sequence[Any]]:
        client = _client(self)
        lease = _ask(client, 'post', '/leases', options.new(parsed_args))
        return _shown(lease['lease'])


class ListLease(command.Lister):
    """List leases, page by page if need be"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        for name, metavar, text in (
            ('name', '<name>', 'Only leases of this name'),
            ('status', '<status>', 'Only leases in this status'),
            ('start-after', '<date>', 'Only those that start later'),
            ('end-before', '<date>', 'Only those that end earlier'),
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
            help='At most so many (default: all)',
        )
        parser.add_argument(
            '--marker',
            metavar='<lease-id>',
            help='Only what comes after this lease',
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
        client = _client(self)
        found = _ask(client, 'get', '/leases', params=query)['leases']
        columns = dict(_COLUMNS)
        if parsed_args.long:
            columns |= {'status_reason': 'Reason', 'project_id': 'Project'}
        return [*columns.values()], (
            utils.get_dict_properties(lease, [*columns]) for lease in found
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
        # Lists do not tell how they are used.
        lease_id = _find(client, parsed_args.lease)['id']
        return _shown(_ask(client, 'get', f'/leases/{lease_id}')['lease'])


class DeleteLease(command.Command):
    """End leases, and delete them once nothing of theirs is left"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        options.add_lease(parser, nargs='+')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        client = _client(self)
        # All of them are there, or none is deleted.
        found = [_find(client, lease) for lease in parsed_args.lease]
        for lease in found:
            _ask(client, 'delete', f'/leases/{lease["id"]}')


class SetLease(command.ShowOne):
    """Change a lease: its dates, and what its reservations ask for"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        options.add_lease(parser)
        parser.add_argument('--name', metavar='<name>', help='New name')
        parser.add_argument(
            '--replace-failed',
            action='store_true',
            help='Have others, that are free now, in place of hosts that '
            'have failed; by itself',
        )
        options.add_dates(parser)
        options.add_endings(parser)
        options.add_reservations(parser)
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Sequence[Any]]:
        client = _client(self)
        lease = _find(client, parsed_args.lease)
        changed = _ask(
            client,
            'put',
            f'/leases/{lease["id"]}',
            options.changes(parsed_args, lease),
        )
        return _shown(changed['lease'])


def _client(asking: command.Command) -> adapter.Adapter:
    manager: Any = asking.app.client_manager
    client: adapter.Adapter = manager.lease
    return client


def _find(client: adapter.Adapter, wanted: str) -> dict[str, Any]:
    """:raises: CommandError unless there is exactly one"""
    if utils.is_uuid_like(wanted):
        return dict(_ask(client, 'get', f'/leases/{wanted}')['lease'])
    found = _ask(client, 'get', '/leases', params={'name': wanted})['leases']
    match found:
        case [lease]:
            return dict(lease)
        case []:
            raise exceptions.CommandError(f'No lease has the name {wanted}')
    raise exceptions.CommandError(
        f'{len(found)} leases have the name {wanted}: give the id of one'
    )


def _ask(
    client: adapter.Adapter,
    method: str,
    path: str,
    body: Any = None,
    params: Any = None,
) -> dict[str, Any]:
    """:raises: CommandError with the words of the API"""
    sent = {} if body is None else {'json': body}
    answer = client.request(path, method.upper(), params=params, **sent)
    if answer.status_code == 204:
        return {}
    try:
        said = dict(answer.json())
    except (ValueError, TypeError):
        said = {}
    if answer.status_code >= 400 or not said:
        raise exceptions.CommandError(
            said.get('error_message')
            or f'{method.upper()} {answer.url} was answered with '
            f'{answer.status_code} {answer.reason}'
        )
    return said


def _shown(lease: dict[str, Any]) -> tuple[Sequence[str], Sequence[Any]]:
    hidden = {'trust_id', 'events'}
    shown = {
        key: format_columns.ListDictColumn(value)
        if key == 'reservations'
        else value
        for key, value in sorted(lease.items())
        if key not in hidden
    }
    return [*shown], [*shown.values()]
