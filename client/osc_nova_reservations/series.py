# SPDX-License-Identifier: Apache-2.0
"""Commands ``openstack lease series show`` and ``delete``."""

import argparse
from collections.abc import Sequence
from typing import Any

from osc_lib import exceptions
from osc_lib import utils
from osc_lib.command import command

from osc_nova_reservations import api

_COLUMNS = {
    'id': 'ID',
    'name': 'Name',
    'status': 'Status',
    'start_date': 'Start',
    'end_date': 'End',
}


def _add_series(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        'series',
        metavar='<series>',
        help='ID of the series, which its leases show as series_id',
    )


def _path(args: argparse.Namespace) -> str:
    """:raises: CommandError unless it is an ID"""
    if not utils.is_uuid_like(args.series):
        raise exceptions.CommandError(
            f'{args.series} is no ID of a series: its leases show that as '
            'series_id'
        )
    return f'/lease-series/{args.series}'


def _row(lease: dict[str, Any]) -> list[Any]:
    return [lease[key] for key in _COLUMNS]


class ShowSeries(command.Lister):
    """List the leases of a series"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_series(parser)
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
        path = _path(parsed_args)
        found = api.request(api.client_of(self), 'GET', path)
        return [*_COLUMNS.values()], tuple(
            _row(lease) for lease in found['series']['leases']
        )


class DeleteSeries(command.Lister):
    """Delete the leases of a series, and list those that are left

    Leases that have started are ended first. If it is cut off, repeat it.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_series(parser)
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
        path = _path(parsed_args)
        left = api.request(api.client_of(self), 'DELETE', path)
        return [*_COLUMNS.values(), 'Reason'], tuple(
            [*_row(each['lease']), each['reason']]
            for each in left['remaining']
        )
