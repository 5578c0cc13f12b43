# SPDX-License-Identifier: Apache-2.0
"""Commands ``openstack lease series list``, show, set, delete, add project
and remove project."""

import argparse
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
from typing import Any

from openstack import exceptions as sdk_exceptions
from osc_lib import exceptions
from osc_lib.command import command

from osc_nova_reservations import api
from osc_nova_reservations import base
from osc_nova_reservations import change
from osc_nova_reservations import create
from osc_nova_reservations import dates
from osc_nova_reservations import errors
from osc_nova_reservations import names
from osc_nova_reservations import reserved
from osc_nova_reservations import sharing
from osc_nova_reservations.sdk import lease as sdk_lease
from osc_nova_reservations.sdk import proxy
from osc_nova_reservations.sdk import series as sdk_series

_SERIES = {
    'id': 'ID',
    'name': 'Name',
    'leases': 'Leases',
    'reserved': 'Each has',
    'start_date': 'Next start',
    'end_date': 'Last end',
}
_LEASES = {
    'id': 'ID',
    'name': 'Name',
    'reserved': 'Reserved',
    'status': 'Status',
    'start_date': 'Start',
    'end_date': 'End',
}
_SHORT = tuple(key for key in _LEASES if key != 'id')


class ListSeries(base.Timed, command.Lister):
    """List series of leases that are not over"""

    example = 'openstack lease series list'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        base.add_long(parser)
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Any]:
        clock = self.clock(parsed_args)
        columns = base.columns(
            _SERIES, [key for key in _SERIES if key != 'id'], parsed_args
        )
        base.say_zone(self, clock, parsed_args)
        found = _by_series(
            api.client_of(self).leases(
                sort_key='start_date', end_after=dates.NOW
            )
        )
        return [*columns.values()], [
            [_of_series(key, leases, name, clock) for name in columns]
            for key, leases in found.items()
        ]


def _by_series(
    leases: Iterable[sdk_lease.Lease],
) -> dict[str, list[sdk_lease.Lease]]:
    """Return series -> its leases that are not over."""
    found: dict[str, list[sdk_lease.Lease]] = {}
    for lease in leases:
        if lease.series_id and lease.status not in sdk_lease.ENDED:
            found.setdefault(lease.series_id, []).append(lease)
    return found


def _of_series(
    series_id: str,
    leases: Sequence[sdk_lease.Lease],
    key: str,
    clock: dates.Clock,
) -> Any:
    match key:
        case 'id':
            return series_id
        case 'leases':
            return len(leases)
        case 'end_date':
            return dates.Column(leases[-1].end_date, clock)
    return _cell(leases[0].shown(), key, clock)


def _cell(lease: Mapping[str, Any], key: str, clock: dates.Clock) -> Any:
    match key:
        case 'reserved':
            return reserved.of_lease(lease)
        case 'start_date' | 'end_date':
            return dates.Column(lease[key], clock)
    return lease.get(key)


class ShowSeries(base.Timed, command.Lister):
    """List the leases of a series"""

    example = 'openstack lease series show course'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_series(parser)
        base.add_long(parser)
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Any]:
        clock = self.clock(parsed_args)
        client = api.client_of(self)
        found = _leases(client, find(client, parsed_args.series))
        return _rows(self, found, clock, parsed_args)


class SetSeries(base.Timed, command.Lister):
    """Change the leases of a series that are not over

    All of them are tried first: if one can not be changed, none is.
    """

    example = 'openstack lease series set course --from 2050-04-01 --later 1h'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_series(parser)
        _add_from(parser)
        change.add_changes(parser)
        create.add_dry_run(parser)
        base.add_long(parser)
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Any]:
        clock = self.clock(parsed_args)
        client = api.client_of(self)
        series_id = find(client, parsed_args.series)
        wanted = _wanted(client, series_id, parsed_args, clock)
        bodies = [change.changes(parsed_args, each.shown()) for each in wanted]
        for body in bodies[:1]:
            change.check(body)
        # A later lease of the series makes room for the one before it.
        later = change.delays(parsed_args)
        changes = [*zip(wanted, bodies, strict=True)]
        tried = []
        for lease, body in changes:
            with _named(lease, clock, 'Nothing is changed'):
                tried.append(client.update_lease(lease, dry_run=True, **body))
        if parsed_args.dry_run:
            self.app.stderr.write('Nothing is done; this would be:\n')
            return _rows(self, tried, clock, parsed_args)
        changed: list[sdk_lease.Lease] = []
        for lease, body in reversed(changes) if later else changes:
            with _named(lease, clock, f'{len(changed)} leases are changed'):
                changed.append(client.update_lease(lease, **body))
        changed.sort(key=lambda lease: str(lease.start_date))
        return _rows(self, changed, clock, parsed_args)


@contextlib.contextmanager
def _named(
    lease: sdk_lease.Lease, clock: dates.Clock, done: str
) -> Iterator[None]:
    """Say of which lease of a series an error is.

    :raises: CommandError
    """
    try:
        yield
    except sdk_exceptions.HttpException as error:
        start = clock.shown(dates.parsed(str(lease.start_date)))
        raise exceptions.CommandError(
            f'{done}: the lease of {start} can not be: {error.message}'
        ) from error


class DeleteSeries(base.Timed, command.Lister):
    """Delete the leases of a series, and list those that are left

    Leases that have started are ended first. If it is cut off, repeat it.
    """

    example = 'openstack lease series delete course --from 2050-06-01'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_series(parser)
        _add_from(parser)
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Any]:
        clock = self.clock(parsed_args)
        client = api.client_of(self)
        series_id = find(client, parsed_args.series)
        left: list[sdk_series.Remaining] = []
        if parsed_args.on_day:
            for lease in _wanted(client, series_id, parsed_args, clock):
                client.delete_lease(lease)
        else:
            left = client.delete_series(
                series_id,
                **clock.given(start=parsed_args.from_time),
            )
        columns = {key: _LEASES[key] for key in _SHORT}
        return [*columns.values(), 'Reason'], [
            [
                *(_cell(each.lease, key, clock) for key in columns),
                each.reason,
            ]
            for each in left
        ]


class AddProject(base.Told):
    """Share all leases of a series with other projects"""

    example = 'openstack lease series add project course group-1 group-2'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_series(parser)
        sharing.add_projects(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        self.share(api.client_of(self).share_series, parsed_args)

    def share(self, change: Any, args: argparse.Namespace) -> None:
        series_id = find(api.client_of(self), args.series)
        change(series_id, sharing.named(args, names.Names(self)))


class RemoveProject(AddProject):
    """Share the leases of a series with projects no more"""

    example = 'openstack lease series remove project course group-2'

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        self.share(api.client_of(self).unshare_series, parsed_args)


class ListProject(base.Told, command.Lister):
    """List the projects that the next lease of a series is shared with"""

    example = 'openstack lease series project list course'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_series(parser)
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Any]:
        client = api.client_of(self)
        leases = _leases(client, find(client, parsed_args.series))
        coming = [
            each for each in leases if each.status not in sdk_lease.ENDED
        ]
        lease = (coming or leases)[0]
        return sharing.rows(client.lease_projects(lease), names.Names(self))


def find(client: proxy.Proxy, series: str) -> str:
    """Return the ID of the series with this ID, or whose leases have this
    name.

    :raises: CommandError unless there is exactly one
    """
    if proxy.is_id(series):
        return series
    with errors.told():
        found = {
            each.series_id: each
            for each in client.leases(name=series)
            if each.series_id
        }
    if len(found) == 1:
        return str(*found)
    if not found:
        raise exceptions.CommandError(
            f'No series has the name or ID {series}: "openstack lease series '
            'list" shows those of the project'
        )
    ids = ', '.join(found)
    raise exceptions.CommandError(
        f'{len(found)} series have the name {series}: give the ID of one: '
        f'{ids}'
    )


def _leases(client: proxy.Proxy, series_id: str) -> list[sdk_lease.Lease]:
    return list(client.get_series(series_id).leases)


def _wanted(
    client: proxy.Proxy,
    series_id: str,
    args: argparse.Namespace,
    clock: dates.Clock,
) -> list[sdk_lease.Lease]:
    """Return the leases of the series that are not over, and begin when the
    options say.

    :raises: CommandError if there are none
    """
    day = clock.day(args.on_day) if args.on_day else None
    first = clock.moment(args.from_time) if args.from_time else None
    found = []
    for lease in _leases(client, series_id):
        start = dates.parsed(str(lease.start_date))
        if (
            lease.status not in sdk_lease.ENDED
            and (day is None or clock.shown(start).startswith(day))
            and (first is None or start >= first)
        ):
            found.append(lease)
    if not found:
        raise exceptions.CommandError(
            'No lease of the series that is not over begins then: "openstack '
            f'lease series show {args.series}" lists them'
        )
    return found


def _rows(
    caller: command.Command,
    leases: Iterable[sdk_lease.Lease],
    clock: dates.Clock,
    args: argparse.Namespace,
) -> tuple[Sequence[str], Any]:
    columns = base.columns(_LEASES, _SHORT, args)
    base.say_zone(caller, clock, args)
    return [*columns.values()], [
        [_cell(each.shown(), key, clock) for key in columns] for each in leases
    ]


def _add_series(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        'series', metavar='<series>', help='Name or ID of the series'
    )


def _add_from(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        '--from',
        dest='from_time',
        metavar='<time>',
        help=f'Only leases that start then or later: {dates.HELP}',
    )
    which.add_argument(
        '--on',
        dest='on_day',
        metavar='<day>',
        help='Only leases that start on this day',
    )
