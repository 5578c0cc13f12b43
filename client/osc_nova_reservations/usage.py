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
from osc_nova_reservations import dates
from osc_nova_reservations import projects

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


class ShowUsage(command.Lister):
    """Show what leases had and used in a window of time, and what it costs"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--start',
            type=dates.typed,
            metavar='<date>',
            help='Begin of the window, in UTC: "2050-12-01 00:00" (default: '
            'that of the month of the end)',
        )
        parser.add_argument(
            '--end',
            type=dates.typed,
            metavar='<date>',
            help='End of the window, in UTC (default: now)',
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
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        client = api.client_of(self)
        query = {
            name: getattr(parsed_args, name)
            for name in ('start', 'end')
            if getattr(parsed_args, name)
        }
        if parsed_args.project:
            query['project_id'] = projects.find(self, parsed_args.project)
        elif not parsed_args.all_projects:
            query['project_id'] = client.get_project_id()
        if parsed_args.detailed:
            query['detailed'] = '1'
        found = api.request(client, 'GET', '/usage', params=query)
        usages = found['tenant_usages']
        if parsed_args.detailed:
            columns = (*_LEASES, *_BY_CLASS, *_MORE, *_LAST)
            return columns, _leases(usages)
        return (*_TOTALS, *_MORE, *_LAST), _totals(usages)


def _totals(usages: Iterable[Mapping[str, Any]]) -> Iterator[Sequence[Any]]:
    for usage in usages:
        yield [
            *(_shown(usage[key]) for key in _TOTALS.values()),
            *_of_classes(usage, _MORE),
            _shown(usage['total_amount']),
            _shown(usage['unit']),
            _others(usage),
        ]


def _leases(usages: Iterable[Mapping[str, Any]]) -> Iterator[Sequence[Any]]:
    for usage in usages:
        for lease in usage['lease_usages']:
            yield [
                *(_shown(lease[key]) for key in _LEASES.values()),
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
