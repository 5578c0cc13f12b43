# SPDX-License-Identifier: Apache-2.0
"""Command ``openstack lease usage``: what leases had, used and cost."""

import argparse
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from osc_lib.command import command

from osc_nova_reservations import api
from osc_nova_reservations import base
from osc_nova_reservations import dates
from osc_nova_reservations import names
from osc_nova_reservations import what
from osc_nova_reservations.sdk import proxy

_TOTALS = {
    'Project': 'tenant_id',
    'Hours': 'total_hours',
    'VCPU hours': 'total_vcpus_usage',
    'MiB hours': 'total_memory_mb_usage',
    'GiB hours': 'total_local_gb_usage',
}
_LEASES = {
    'Project': 'tenant_id',
    'Lease': 'lease_id',
    'Name': 'name',
    'Started': 'started_at',
    'Ended': 'ended_at',
    'Hours': 'hours',
}
_BY_CLASS = {
    'VCPU hours': ('reserved', 'VCPU'),
    'MiB hours': ('reserved', 'MEMORY_MB'),
    'GiB hours': ('reserved', 'DISK_GB'),
}
_MORE = {
    'Host hours': ('reserved', 'physical:host'),
    'Slot hours': ('reserved', 'slots'),
    'Degraded VCPU hours': ('degraded', 'VCPU'),
    'Used VCPU hours': ('used', 'VCPU'),
    'Server hours': ('used', 'servers'),
}
_LAST = ('Amount', 'Unit', 'Other hours')
_KNOWN = frozenset(
    {
        name
        for kind, name in {**_BY_CLASS, **_MORE}.values()
        if kind == 'reserved'
    }
)
"""Classes with a column of their own; the last column has all others."""

_PLACES = 4
"""Decimal places of hours: a step is less than a second."""


_SHORT_TOTALS = (
    *('Project', 'Hours', 'Host hours', 'Slot hours', 'Amount', 'Unit'),
)
_SHORT_LEASES = ('Name', 'Started', 'Ended', 'Hours', 'Amount', 'Unit')
_OF_ALL = ('Project', 'Name', 'Started', 'Hours', 'Amount', 'Unit')
"""Of leases of all projects: whose they are, in place of their end."""


class ShowUsage(base.Timed, command.Lister):
    """Show what leases had and used in a time, and what it costs

    Amounts are empty where the operator has set no price.
    """

    example = 'openstack lease usage --start 2050-12-01 --detailed'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--start',
            metavar='<time>',
            help=f'Begin of the time: {dates.HELP} (default: that of the '
            'month of the end)',
        )
        parser.add_argument(
            '--end', metavar='<time>', help='End of the time (default: now)'
        )
        whose = parser.add_mutually_exclusive_group()
        whose.add_argument(
            '--project',
            metavar='<project>',
            help='Usage of this project, by name or ID (administrators)',
        )
        whose.add_argument(
            '--all-projects',
            action='store_true',
            help='Usage of all projects (administrators)',
        )
        parser.add_argument(
            '--detailed',
            action='store_true',
            help='A line for each lease in place of one for each project',
        )
        base.add_long(parser)
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Any]:
        clock, known = self.clock(parsed_args), names.Names(self)
        client = api.client_of(self)
        usages = client.usages(**_query(parsed_args, client, clock, known))
        projects = known.of_projects(each['tenant_id'] for each in usages)
        for usage in usages:
            usage['tenant_id'] = projects.get(
                usage['tenant_id'], usage['tenant_id']
            )
        if parsed_args.detailed:
            base.say_zone(self, clock, parsed_args)
            titles = (*_LEASES, *_BY_CLASS, *_MORE, *_LAST)
            rows = _leases(usages, clock)
            short = _OF_ALL if parsed_args.all_projects else _SHORT_LEASES
        else:
            titles = (*_TOTALS, *_MORE, *_LAST)
            rows, short = _totals(usages), _SHORT_TOTALS
        columns = base.columns(
            {title: title for title in titles}, short, parsed_args
        )
        return [*columns], [
            [
                value
                for title, value in zip(titles, row, strict=True)
                if title in columns
            ]
            for row in rows
        ]


def _query(
    args: argparse.Namespace,
    client: proxy.Proxy,
    clock: dates.Clock,
    known: names.Names,
) -> dict[str, Any]:
    """:raises: CommandError"""
    project = None
    if args.project:
        project = known.project(args.project)
    elif not args.all_projects:
        project = client.get_project_id()
    return what.given(
        **clock.given(start=args.start, end=args.end),
        project_id=project,
        detailed='1' if args.detailed else None,
    )


def _totals(usages: Iterable[Mapping[str, Any]]) -> Iterator[Sequence[Any]]:
    for usage in usages:
        yield [
            *(_shown(usage[key]) for key in _TOTALS.values()),
            *_of_classes(usage, _MORE),
            _shown(usage['total_amount']),
            _shown(usage['unit']),
            _others(usage),
        ]


def _leases(
    usages: Iterable[Mapping[str, Any]], clock: dates.Clock
) -> Iterator[Sequence[Any]]:
    for usage in usages:
        for lease in usage['lease_usages']:
            yield [
                usage['tenant_id'],
                *(
                    dates.Column(lease[key], clock)
                    if key in ('started_at', 'ended_at')
                    else _shown(lease[key])
                    for key in [*_LEASES.values()][1:]
                ),
                *_of_classes(lease, {**_BY_CLASS, **_MORE}),
                _shown(lease['amount']),
                _shown(lease['unit']),
                _others(lease),
            ]


def _others(usage: Mapping[str, Any]) -> str:
    """Return the usage of resources of other types, in words."""
    return ', '.join(
        f'{name}: {_shown(value)}'
        for name, value in usage['reserved'].items()
        if name not in _KNOWN
    )


def _of_classes(
    usage: Mapping[str, Any], columns: Mapping[str, tuple[str, str]]
) -> Iterator[Any]:
    for kind, name in columns.values():
        yield _shown(usage[kind].get(name, 0))


def _shown(value: Any) -> Any:
    if value is None:
        return ''
    return round(value, _PLACES) if isinstance(value, float) else value
