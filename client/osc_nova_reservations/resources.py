# SPDX-License-Identifier: Apache-2.0
"""Commands ``openstack lease resource create``, ``set``, ``list``, ``show``
and ``delete``, of administrators: what can be leased beside hosts."""

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
from osc_nova_reservations import dates
from osc_nova_reservations import errors
from osc_nova_reservations import values
from osc_nova_reservations.sdk import pool
from osc_nova_reservations.sdk import proxy

_COLUMNS = {
    'id': 'ID',
    'name': 'Name',
    'inventories': 'Inventories',
    'properties': 'Properties',
    'reservable': 'Reservable',
    'holds': 'Held',
}
_SHORT = ('name', 'inventories', 'properties', 'reservable')
_SHOWN = {
    'id': 'ID',
    'resource_type': 'Type',
    **{key: name for key, name in _COLUMNS.items() if key != 'id'},
    'uuid': 'UUID',
}


class CreateResource(base.Told, command.ShowOne):
    """Add a resource that can be leased"""

    example = (
        'openstack lease resource create licence pool --inventory SEATS=20'
    )

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_resource(parser)
        _add_amounts(parser)
        parser.add_argument(
            '--uuid',
            metavar='<uuid>',
            help='UUID of the resource in the cloud, if it has one',
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Sequence[Any]]:
        body = {
            'resource_type': parsed_args.type,
            'name': parsed_args.resource,
            'inventories': dict(parsed_args.inventories),
            'properties': parsed_args.properties,
        }
        if parsed_args.uuid:
            body['uuid'] = parsed_args.uuid
        client = api.client_of(self)
        return _display(client.create_resource(**body).shown())


class SetResource(base.Told, command.ShowOne):
    """Change what is given of a resource, and nothing else"""

    example = 'openstack lease resource set licence pool --inventory SEATS=30'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_resource(parser)
        _add_amounts(parser)
        for name, metavar in (
            ('inventory', '<class>'),
            ('property', '<key>'),
        ):
            parser.add_argument(
                f'--no-{name}',
                dest=f'no_{name}',
                action='append',
                default=[],
                metavar=metavar,
                help='Take it away; repeat the option for several',
            )
        cordon = parser.add_mutually_exclusive_group()
        cordon.add_argument(
            '--cordon',
            dest='cordoned',
            action='store_true',
            default=None,
            help='Give it to no new lease; leases that have not begun get '
            'others, where there are any',
        )
        cordon.add_argument(
            '--uncordon',
            dest='cordoned',
            action='store_false',
            help='Let new leases have it again',
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Sequence[Any]]:
        asked = {
            'inventories': dict(parsed_args.inventories)
            | dict.fromkeys(parsed_args.no_inventory),
            'properties': parsed_args.properties
            | dict.fromkeys(parsed_args.no_property),
        }
        body: dict[str, Any] = {
            key: value for key, value in asked.items() if value
        }
        if parsed_args.cordoned is not None:
            body['cordoned'] = parsed_args.cordoned
        if not body:
            raise exceptions.CommandError('Nothing to change was given')
        client = api.client_of(self)
        found = _find(client, parsed_args.type, parsed_args.resource)
        return _display(client.update_resource(found, **body).shown())


class ListResource(base.Told, command.Lister):
    """List the resources of a type"""

    example = 'openstack lease resource list licence'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_type(parser)
        base.add_long(parser)
        parser.add_argument(
            '--limit',
            type=values.whole,
            metavar='<number>',
            help='Maximum number of resources',
        )
        parser.add_argument(
            '--marker',
            metavar='<id>',
            help='Only those after this one, the last of the page before',
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Any]:
        found = api.client_of(self).resources(
            parsed_args.type,
            **{
                key: value
                for key, value in (
                    ('max_items', parsed_args.limit),
                    ('marker', parsed_args.marker),
                )
                if value
            },
        )
        columns = base.columns(_COLUMNS, _SHORT, parsed_args)
        return [*columns.values()], [
            [_shown(key, each.shown().get(key)) for key in columns]
            for each in found
        ]


class ShowResource(base.Timed, command.ShowOne):
    """Show a resource, and which leases have it"""

    example = 'openstack lease resource show licence pool'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_resource(parser)
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Sequence[Any]]:
        client = api.client_of(self)
        found = _find(client, parsed_args.type, parsed_args.resource)
        shown = client.get_resource(found).shown()
        columns, values = _display(shown)
        leases = _Reservations(shown['reservations'], self.clock(parsed_args))
        return [*columns, 'Reservations'], [*values, leases]


class DeleteResource(base.Told):
    """Remove resources that no lease has"""

    example = 'openstack lease resource delete licence pool'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_type(parser)
        parser.add_argument(
            'resources',
            nargs='+',
            metavar='<resource>',
            help='Name of a resource',
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        client = api.client_of(self)
        failures = []
        for name in parsed_args.resources:
            try:
                found = _find(client, parsed_args.type, name)
                with errors.told():
                    client.delete_resource(found, ignore_missing=False)
            except exceptions.CommandError as error:
                failures.append(f'{name}: {error}')
        if failures:
            raise exceptions.CommandError('\n'.join(failures))


class _Reservations(format_columns.ListDictColumn):
    """The reservations that have the resource: a line for each."""

    def __init__(self, value: Any, clock: dates.Clock) -> None:
        super().__init__(value)
        self._clock = clock

    def human_readable(self) -> str:
        return '\n'.join(map(self._line, self._value))

    def _line(self, each: Mapping[str, Any]) -> str:
        start, end = (
            self._clock.shown(dates.parsed(each[key]))
            for key in ('start_date', 'end_date')
        )
        had = _amounts(each['amounts']) or 'all of it'
        return f'lease {each["lease_id"]} has {had}: {start} to {end}'


def _amounts(amounts: dict[str, int]) -> str:
    return ', '.join(f'{units} {name}' for name, units in amounts.items())


def _add_type(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        'type',
        metavar='<type>',
        help='Type of the resource, as its plugin names it',
    )


def _add_resource(parser: argparse.ArgumentParser) -> None:
    _add_type(parser)
    parser.add_argument(
        'resource', metavar='<resource>', help='Name of the resource'
    )


def _add_amounts(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--inventory',
        dest='inventories',
        action='append',
        default=[],
        type=_inventory,
        metavar='<class>=<units>',
        help='So many units of a resource class; repeat the option for '
        'several',
    )
    parser.add_argument(
        '--property',
        dest='properties',
        action=parseractions.KeyValueAction,
        default={},
        metavar='<key>=<value>',
        help='What users may ask for; repeat the option for several',
    )


def _inventory(text: str) -> tuple[str, int]:
    """:raises: ArgumentTypeError"""
    name, _, units = text.partition('=')
    if not (name and units.isascii() and units.isdecimal()):
        raise argparse.ArgumentTypeError(
            f'{text} is no class and number of units, such as SEATS=20'
        )
    return name, int(units)


def _find(client: proxy.Proxy, resource_type: str, name: str) -> pool.Resource:
    """:raises: CommandError unless there is one of this name"""
    with errors.told():
        for found in client.resources(resource_type, name=name):
            return found
    raise exceptions.CommandError(
        f'No resource of type {resource_type} has the name {name}: '
        f'"openstack lease resource list {resource_type}" shows them'
    )


def _display(resource: dict[str, Any]) -> tuple[list[str], list[Any]]:
    return [*_SHOWN.values()], [
        _shown(key, resource.get(key)) for key in _SHOWN
    ]


def _shown(key: str, value: Any) -> Any:
    if key == 'holds':
        return format_columns.ListColumn(
            [each['reason'] for each in value or ()]
        )
    if isinstance(value, dict):
        return format_columns.DictColumn(value)
    return value
