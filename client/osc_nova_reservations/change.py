# SPDX-License-Identifier: Apache-2.0
"""Command ``openstack lease set``, and what ``series set`` shares with it."""

import argparse
from collections.abc import Mapping
import datetime
from typing import Any

from osc_lib import exceptions
from osc_lib.command import command

from osc_nova_reservations import api
from osc_nova_reservations import base
from osc_nova_reservations import create
from osc_nova_reservations import dates
from osc_nova_reservations import leases
from osc_nova_reservations import names
from osc_nova_reservations import shown
from osc_nova_reservations import values
from osc_nova_reservations import waiting
from osc_nova_reservations import what

_SLOTS = frozenset({'virtual:instance', 'flavor:instance'})
_ZERO = datetime.timedelta()


class SetLease(base.Timed, command.ShowOne):
    """Change a lease: its time, and what it has"""

    example = 'openstack lease set workshop --extend 2h'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        leases.add_lease(parser)
        add_changes(parser)
        group = parser.add_argument_group('time')
        group.add_argument(
            '--start',
            metavar='<time>',
            help=f'New start; the end stays: {dates.HELP}',
        )
        group.add_argument(
            '--end', metavar='<time>', help='New end; now ends the lease'
        )
        group.add_argument(
            '--move-to',
            metavar='<time>',
            help='New start; the lease stays as long as it is',
        )
        group.add_argument(
            '--before-end-date',
            metavar='<time>',
            help='Time of the action named by --before-end',
        )
        parser.add_argument(
            '--replace-failed',
            action='store_true',
            help='Replace hosts that have failed by others that are free '
            'now; no other option goes with it',
        )
        parser.add_argument(
            '--release-host',
            dest='released',
            action='append',
            default=[],
            metavar='<host>',
            help='Give a host of an active lease back, by name or ID: there '
            'are no servers on it; repeat the option for several',
        )
        parser.add_argument(
            '--reservation',
            dest='reservations',
            action='append',
            type=values.json_object,
            default=[],
            metavar='<json>',
            help='A change of one reservation as the API takes it, a JSON '
            'object with its id, for scripts',
        )
        create.add_dry_run(parser)
        waiting.add(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> shown.Row:
        clock = self.clock(parsed_args)
        client = api.client_of(self)
        lease = api.find(client, parsed_args.lease)
        body = body_of(parsed_args, lease.shown(), clock)
        changed = client.update_lease(
            lease, dry_run=parsed_args.dry_run, **body
        )
        if parsed_args.dry_run:
            self.app.stderr.write('Nothing is done; this would be:\n')
        if parsed_args.wait and not parsed_args.dry_run:
            changed = waiting.wait(self, client, changed, clock, parsed_args)
        return shown.lease(
            changed.shown(), clock, names.Names(self), parsed_args
        )


def add_changes(parser: argparse.ArgumentParser) -> None:
    """Add the options that a lease, and the leases of a series, can be
    changed by."""
    parser.add_argument('--name', metavar='<name>', help='New name')
    group = parser.add_argument_group('what it has')
    group.add_argument(
        '--hosts',
        type=values.host_range,
        metavar='<min>[-<max>]',
        help='New number of whole hosts',
    )
    what.add_properties(group)
    group.add_argument(
        '--amount',
        type=values.whole,
        metavar='<number>',
        help='New number of slots, floating IPs or volumes',
    )
    group = parser.add_argument_group('a longer, shorter or other time')
    for name, text in (
        ('extend', 'End so much later'),
        ('shorten', 'End so much earlier'),
        ('later', 'Start and end so much later'),
        ('earlier', 'Start and end so much earlier'),
    ):
        group.add_argument(
            f'--{name}',
            type=dates.duration,
            metavar='<duration>',
            help=f'{text}: {dates.DURATION_HELP}',
        )
    what.add_end_actions(parser)


def body_of(
    args: argparse.Namespace, lease: Mapping[str, Any], clock: dates.Clock
) -> dict[str, Any]:
    """Return the request that changes a lease.

    :param lease: as the API shows it
    :raises: CommandError
    """
    body = {
        **changes(args, lease),
        **_times(args, lease, clock),
        **clock.given(before_end_date=args.before_end_date),
        **what.given(replace_failed=args.replace_failed or None),
    }
    by_id = {each['id']: dict(each) for each in body.get('reservations', ())}
    for each in args.reservations:
        if 'id' not in each:
            raise exceptions.CommandError(
                'A --reservation needs the "id" of the one to change: '
                + ', '.join(item['id'] for item in asked_for(lease))
            )
        by_id.setdefault(each['id'], {}).update(each)
    if args.released:
        key = _one(lease, {'physical:host'}, '--release-host')['id']
        by_id.setdefault(key, {'id': key})['release_hosts'] = args.released
    if by_id:
        body['reservations'] = [*by_id.values()]
    check(body)
    return body


def check(body: Mapping[str, Any]) -> None:
    """:raises: CommandError if nothing is to be changed"""
    if not body:
        raise exceptions.CommandError(
            'Say what to change: --extend 2h, --hosts 1, or another option '
            'that --help lists'
        )


def changes(
    args: argparse.Namespace, lease: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what the options that a series has, too, change of a lease.

    Options about the end apply to every reservation that was asked for.

    :raises: CommandError
    """
    ending = what.end_actions(args)
    by_id: dict[str, dict[str, Any]] = {
        each['id']: dict(ending) for each in asked_for(lease) if ending
    }

    def change(reservation: Mapping[str, Any], **fields: Any) -> None:
        by_id.setdefault(reservation['id'], {}).update(fields)

    if args.hosts:
        minimum, maximum = args.hosts
        hosts = _one(lease, {'physical:host'}, '--hosts')
        change(hosts, min=minimum, max=maximum)
    if args.properties:
        change(
            _one(lease, {'physical:host', 'virtual:instance'}, '--property'),
            resource_properties=what.expression(args.properties),
        )
    if args.amount is not None:
        change(_with_amount(lease), amount=args.amount)
    return what.given(
        name=args.name,
        **_moved(args, lease),
        reservations=[{'id': key, **fields} for key, fields in by_id.items()]
        or None,
    )


def _moved(
    args: argparse.Namespace, lease: Mapping[str, Any]
) -> dict[str, str | None]:
    """Return new dates by durations.

    :raises: CommandError
    """
    if args.later and args.earlier:
        raise exceptions.CommandError('Give --later or --earlier, not both')
    if args.extend and args.shorten:
        raise exceptions.CommandError('Give --extend or --shorten, not both')
    both = (args.later or _ZERO) - (args.earlier or _ZERO)
    longer = (args.extend or _ZERO) - (args.shorten or _ZERO)
    return {
        'start_date': _later(lease['start_date'], both),
        'end_date': _later(lease['end_date'], both + longer),
    }


def _later(date: str, length: datetime.timedelta) -> str | None:
    return (dates.parsed(date) + length).isoformat() if length else None


def _times(
    args: argparse.Namespace, lease: Mapping[str, Any], clock: dates.Clock
) -> dict[str, str]:
    """Return new dates by times.

    :raises: CommandError
    """
    by_time = [args.start, args.end, args.move_to]
    by_length = [args.later, args.earlier, args.extend, args.shorten]
    if any(by_time) and any(by_length):
        raise exceptions.CommandError(
            'Give new times, by --start, --end or --move-to, or durations, by '
            '--later, --earlier, --extend or --shorten, not both'
        )
    if not args.move_to:
        start = (
            clock.moment(args.start)
            if args.start
            else dates.parsed(lease['start_date'])
        )
        later = clock.after(max(start, clock.now))
        return {
            **clock.given(start_date=args.start),
            **later.given(end_date=args.end),
        }
    if args.start or args.end:
        raise exceptions.CommandError(
            '--move-to keeps the length of the lease: leave out --start and '
            '--end'
        )
    start = clock.moment(args.move_to)
    length = dates.parsed(lease['end_date']) - dates.parsed(
        lease['start_date']
    )
    return {
        'start_date': clock.sent(args.move_to),
        'end_date': (start + length).isoformat(timespec='seconds'),
    }


def asked_for(lease: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the reservations of a lease that are not parts of others."""
    return [
        each
        for each in lease.get('reservations') or ()
        if not each.get('part_of')
    ]


def _one(
    lease: Mapping[str, Any], kinds: set[str], option: str
) -> dict[str, Any]:
    """Return the only reservation of these types.

    :raises: CommandError unless there is exactly one
    """
    found = [
        each for each in asked_for(lease) if each.get('resource_type') in kinds
    ]
    return _only(found, option)


def _with_amount(lease: Mapping[str, Any]) -> dict[str, Any]:
    """:raises: CommandError unless one reservation has an amount"""
    found = [each for each in asked_for(lease) if 'amount' in each]
    slots = [each for each in found if each['resource_type'] in _SLOTS]
    return _only(slots or found, '--amount')


def _only(found: list[dict[str, Any]], option: str) -> dict[str, Any]:
    if len(found) == 1:
        return found[0]
    if not found:
        raise exceptions.CommandError(
            f'{option}: the lease has nothing that it could change: '
            '"openstack lease show" says what it has'
        )
    ids = ', '.join(each['id'] for each in found)
    raise exceptions.CommandError(
        f'{option}: it is not clear which of {len(found)} reservations is '
        f'meant: {ids}. Give a --reservation with the id of one'
    )


def delays(args: argparse.Namespace) -> bool:
    """Return whether the options make leases end later."""
    return bool(args.later or args.extend)
