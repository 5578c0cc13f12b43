# SPDX-License-Identifier: Apache-2.0
"""Commands ``openstack lease property list``, show and set."""

import argparse
from collections.abc import Sequence
from typing import Any

from osc_lib import exceptions
from osc_lib.cli import format_columns
from osc_lib.command import command

from osc_nova_reservations import api
from osc_nova_reservations import base
from osc_nova_reservations import errors
from osc_nova_reservations.sdk import pool
from osc_nova_reservations.sdk import proxy


class ListProperty(base.Told, command.Lister):
    """List the properties that leases can ask for, and their values"""

    example = 'openstack lease property list'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--resource-type',
            metavar='<type>',
            help='Properties of resources of this type (default: of hosts)',
        )
        parser.add_argument(
            '--all',
            action='store_true',
            help='Also private ones (administrators)',
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Any]:
        query: dict[str, Any] = {'detail': 'true'}
        if parsed_args.all:
            query['all'] = 'true'
        client = api.client_of(self)
        found = (
            client.resource_properties(parsed_args.resource_type, **query)
            if parsed_args.resource_type
            else client.host_properties(**query)
        )
        return ['Property', 'Values', 'Private'], [
            (each.name, format_columns.ListColumn(each.values), each.private)
            for each in found
        ]


class ShowProperty(base.Told, command.ShowOne):
    """Show a property of hosts, and its values"""

    example = 'openstack lease property show gpu'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_property(parser)
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Any]:
        found = _find(api.client_of(self), parsed_args.property)
        return ['property', 'values', 'private'], [
            found.name,
            format_columns.ListColumn(found.values),
            found.private,
        ]


class SetProperty(base.Told):
    """Hide a property of hosts from users, or show it (administrators)"""

    example = 'openstack lease property set rack --private'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_property(parser)
        private = parser.add_mutually_exclusive_group(required=True)
        private.add_argument(
            '--private',
            action='store_true',
            help='Users do not see it; they can ask for it still',
        )
        private.add_argument(
            '--public',
            dest='private',
            action='store_false',
            help='Users see it',
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        api.client_of(self).update_host_property(
            parsed_args.property, private=parsed_args.private
        )


def _find(client: proxy.Proxy, name: str) -> pool.Property:
    """:raises: CommandError if there is no such property"""
    with errors.told():
        found = {
            each.name: each for each in client.host_properties(detail='true')
        }
    if name in found:
        return found[name]
    raise exceptions.CommandError(
        f'No host has the property {name}: those there are: '
        + (', '.join(sorted(found)) or 'none')
    )


def _add_property(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        'property', metavar='<property>', help='Name of the property'
    )
