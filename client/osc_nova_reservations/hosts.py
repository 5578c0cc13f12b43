# SPDX-License-Identifier: Apache-2.0
"""Commands ``openstack lease host cordon``, ``uncordon``, ``drain`` and
``maintain``, of administrators."""

import argparse
from collections.abc import Iterator
from collections.abc import Sequence
from typing import Any
from typing import ClassVar

from osc_lib import exceptions
from osc_lib.command import command

from osc_nova_reservations import api
from osc_nova_reservations import dates

_COLUMNS = {
    'id': 'Lease',
    'project_id': 'Project',
    'status': 'Status',
    'start_date': 'Start',
    'end_date': 'End',
    'leaving': 'Leaving',
    'reason': 'Servers stay because',
}


def _id_of(client: Any, name: str) -> str:
    """Return the ID of a host; a number is taken for its ID.

    :raises: CommandError unless exactly one host has this name
    """
    if name.isdecimal():
        return name
    found = api.request(client, 'GET', '/os-hosts', params={'name': name})
    ids = [str(host['id']) for host in found['hosts']]
    if len(ids) != 1:
        raise exceptions.CommandError(
            f'{len(ids)} enrolled hosts are named {name}'
        )
    return ids[0]


class _Act(command.Lister):
    """:cvar action: the name of the action in the API."""

    action: ClassVar[str]

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'host',
            metavar='<host>',
            help='Number, service host or hypervisor hostname of an enrolled '
            'host',
        )
        return parser

    def body(self, parsed_args: argparse.Namespace) -> dict[str, str] | None:
        return None

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Iterator[tuple[Any, ...]]]:
        client = api.client_of(self)
        host_id = _id_of(client, parsed_args.host)
        found = api.request(
            client,
            'POST',
            f'/os-hosts/{host_id}/action',
            {self.action: self.body(parsed_args)},
        )
        if found.get('lease_id'):
            self.app.stderr.write(f'It is lease {found["lease_id"]}\n')
        for server in found.get('servers', ()):
            self.app.stderr.write(f'Server {server} is on it\n')
        rows = (
            tuple(lease[key] for key in _COLUMNS) for lease in found['leases']
        )
        return [*_COLUMNS.values()], rows


class CordonHost(_Act):
    """Give a host to no new lease, and list those that have it still"""

    action = 'cordon'


class UncordonHost(_Act):
    """Let new leases have a host again, and list those that have it"""

    action = 'uncordon'


class DrainHost(_Act):
    """Cordon a host, give others to its leases, and list those still there"""

    action = 'drain'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--servers',
            choices=('migrate', 'list'),
            default='list',
            help='migrate: move servers of its leases to their other hosts, '
            'live if they run, also those that could not be moved before',
        )
        return parser

    def body(self, parsed_args: argparse.Namespace) -> dict[str, str] | None:
        return {'servers': parsed_args.servers}


class MaintainHost(_Act):
    """Keep a host without leases in a window, which is a lease itself"""

    action = 'maintain'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        for name, text in (
            ('--from', 'Its begin, in UTC, or now'),
            ('--until', 'Its end'),
        ):
            parser.add_argument(
                name,
                dest=f'{name.removeprefix("--")}_date',
                type=dates.typed,
                metavar='<yyyy-mm-dd hh:mm>',
                required=True,
                help=text,
            )
        return parser

    def body(self, parsed_args: argparse.Namespace) -> dict[str, str]:
        return {
            'from': parsed_args.from_date,
            'until': parsed_args.until_date,
        }
