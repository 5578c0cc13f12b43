# SPDX-License-Identifier: Apache-2.0
"""Leases and series as commands show them."""

import argparse
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from osc_lib.cli import format_columns

from osc_nova_reservations import dates
from osc_nova_reservations import names
from osc_nova_reservations import reserved
from osc_nova_reservations.sdk import series as sdk_series

Row = tuple[Sequence[str], Sequence[Any]]

_FIRST = (
    'name',
    'id',
    'status',
    'status_reason',
    'start_date',
    'end_date',
    'reservations',
    'reservation_ids',
)
"""The first fields of a lease; the others follow by their names."""

_HIDDEN = frozenset({'trust_id', 'events'})
_TWICE = frozenset({'reservation_ids', 'user_id'})
"""What a table shows already, or nobody asks for."""

_DATES = frozenset(
    {
        'start_date',
        'end_date',
        'before_end_date',
        'created_at',
        'updated_at',
        'deleted_at',
    }
)
_NOT_MADE = frozenset({'id', 'series_id', 'created_at', 'updated_at'})
"""Fields that a lease which is not made can not have."""


def lease(
    found: Mapping[str, Any],
    clock: dates.Clock,
    known: names.Names,
    args: argparse.Namespace,
    *,
    is_made: bool = True,
) -> Row:
    """Return the columns and values to show of a lease.

    A table leaves out what is empty.

    :param is_made: False: it is only what would be made
    """
    fields = {key: value for key, value in found.items() if key not in _HIDDEN}
    reservations = found.get('reservations') or []
    if is_made:
        fields['reservation_ids'] = format_columns.ListColumn(
            [each['id'] for each in reservations if 'id' in each]
        )
    else:
        fields = {
            key: value for key, value in fields.items() if key not in _NOT_MADE
        }
        reservations = [
            {key: each[key] for key in each if key not in reserved.IDS}
            for each in reservations
        ]
    for key in _DATES & fields.keys():
        fields[key] = dates.Column(fields[key], clock)
    fields['reservations'] = reserved.Column(reservations)
    if args.formatter == 'table' and not args.columns:
        fields = _for_eyes(fields, found, known)
        fields['timezone'] = str(clock.zone)
    ordered = [*(key for key in _FIRST if key in fields)]
    ordered += sorted(fields.keys() - {*ordered})
    return ordered, [fields[key] for key in ordered]


def _for_eyes(
    fields: Mapping[str, Any], found: Mapping[str, Any], known: names.Names
) -> dict[str, Any]:
    shown = {
        key: value
        for key, value in fields.items()
        if key not in _TWICE and found.get(key, True) not in (None, '', False)
    }
    project = shown.pop('project_id', None)
    if project is not None:
        shown['project'] = known.of_projects([project]).get(project, project)
    return shown


def series(
    made: sdk_series.Series,
    clock: dates.Clock,
    args: argparse.Namespace,
    *,
    is_made: bool = True,
) -> Row:
    """Return the columns and values to show of a series that was made."""
    shown = {
        'name': made.name,
        'leases': Windows(made.leases, clock),
        'refused': Refused(made.refused, clock),
        'timezone': str(clock.zone),
    }
    if not made.refused and args.formatter == 'table' and not args.columns:
        del shown['refused']
    if is_made:
        shown = {'id': made.id, **shown}
    return [*shown], [*shown.values()]


class Windows(format_columns.ListDictColumn):
    """Leases of a series: a line for each."""

    def __init__(self, value: Any, clock: dates.Clock) -> None:
        super().__init__([dict(each) for each in value])
        self._clock = clock

    def human_readable(self) -> str:
        return '\n'.join(map(self._line, self._value))

    def _line(self, each: Mapping[str, Any]) -> str:
        start, end = (
            self._clock.shown(dates.parsed(each[key]))
            for key in ('start_date', 'end_date')
        )
        return f'{start} to {end}'


class Refused(Windows):
    """Leases of a series for which there is no room, and why."""

    def _line(self, each: Mapping[str, Any]) -> str:
        return f'{super()._line(each)}: {each["reason"]}'
