# SPDX-License-Identifier: Apache-2.0
"""Commands ``openstack lease host list``, show, create, set and delete, of
administrators."""

import argparse
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from osc_lib import exceptions
from osc_lib.cli import format_columns
from osc_lib.cli import parseractions
from osc_lib.command import command

from osc_nova_reservations import api
from osc_nova_reservations import base
from osc_nova_reservations import errors
from osc_nova_reservations.sdk import pool
from osc_nova_reservations.sdk import proxy

_COLUMNS = {
    'id': 'ID',
    'service_name': 'Host',
    'availability_zone': 'Zone',
    'vcpus': 'VCPUs',
    'memory_mb': 'Memory MiB',
    'local_gb': 'Disk GiB',
    'reservable': 'Reservable',
    'properties': 'Properties',
}
_SHORT = tuple(key for key in _COLUMNS if key != 'properties')
_FACTS = frozenset(
    {
        *_SHORT,
        *('cpu_info', 'hypervisor_type', 'hypervisor_version', 'status'),
        *('hypervisor_hostname', 'trust_id', 'created_at', 'updated_at'),
        *('cell', 'status_reason', 'name', 'location'),
    }
)
"""What a host shows that is no property given by the operator."""

_HIDDEN = frozenset({'created_at', 'updated_at', 'trust_id', 'cpu_info'})


class ListHost(base.Told, command.Lister):
    """List the hosts that can be leased"""

    example = 'openstack lease host list --long'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        base.add_long(parser)
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Any]:
        columns = base.columns(_COLUMNS, _SHORT, parsed_args)
        return [*columns.values()], [
            [_cell(each.shown(), key) for key in columns]
            for each in api.client_of(self).hosts()
        ]


def _cell(host: Mapping[str, Any], key: str) -> Any:
    if key == 'properties':
        return format_columns.DictColumn(
            {name: host[name] for name in host if name not in _FACTS}
        )
    return host.get(key)


class ShowHost(base.Told, command.ShowOne):
    """Show a host that can be leased"""

    example = 'openstack lease host show compute-1'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_host(parser)
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Any]:
        client = api.client_of(self)
        return _display(client.get_host(find(client, parsed_args.host)))


class CreateHost(base.Told, command.ShowOne):
    """Enrol a compute host: from now on it is for leases alone"""

    example = 'openstack lease host create compute-1 --property gpu=a100'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'host',
            metavar='<host>',
            help='Compute host, by the name that "openstack hypervisor list" '
            'or "openstack compute service list" shows',
        )
        _add_properties(parser)
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Any]:
        return _display(
            api.client_of(self).create_host(
                parsed_args.host, **(parsed_args.properties or {})
            )
        )


class SetHost(base.Told, command.ShowOne):
    """Change the properties of a host that can be leased"""

    example = 'openstack lease host set compute-1 --property rack=r7'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_host(parser)
        _add_properties(parser)
        parser.add_argument(
            '--no-property',
            dest='removed',
            action='append',
            default=[],
            metavar='<key>',
            help='Take a property away; repeat the option for several',
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Any]:
        properties = {
            **(parsed_args.properties or {}),
            **dict.fromkeys(parsed_args.removed),
        }
        if not properties:
            raise exceptions.CommandError(
                'Say what to change: --property or --no-property'
            )
        client = api.client_of(self)
        host_id = find(client, parsed_args.host)
        return _display(client.update_host(host_id, **properties))


class DeleteHost(base.Told):
    """Take hosts back from leases: they are ordinary hosts again"""

    example = 'openstack lease host delete compute-1'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_host(parser, nargs='+')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        client = api.client_of(self)
        for host_id in [find(client, name) for name in parsed_args.host]:
            with errors.told():
                client.delete_host(host_id, ignore_missing=False)


def find(client: proxy.Proxy, name: str) -> str:
    """Return the ID of a host; a number is taken for its ID.

    :raises: CommandError unless exactly one host has this name
    """
    if name.isdecimal():
        return name
    with errors.told():
        ids = [str(host.id) for host in client.hosts(name=name)]
    if len(ids) != 1:
        raise exceptions.CommandError(
            f'{len(ids)} hosts for leases are named {name}: "openstack lease '
            'host list" shows them'
        )
    return ids[0]


def add_host(parser: argparse.ArgumentParser, **more: Any) -> None:
    parser.add_argument(
        'host',
        metavar='<host>',
        help='Name of the host, or its number in the list of hosts',
        **more,
    )


def _add_properties(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--property',
        dest='properties',
        action=parseractions.KeyValueAction,
        metavar='<key>=<value>',
        help='What users may ask for; repeat the option for several',
    )


def _display(host: pool.Host) -> tuple[list[str], list[Any]]:
    shown = host.shown()
    facts = {
        key: shown[key]
        for key in sorted(shown)
        if key in _FACTS - _HIDDEN and shown[key] is not None
    }
    facts['properties'] = _cell(shown, 'properties')
    return [*facts], [*facts.values()]
