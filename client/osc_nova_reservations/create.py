# SPDX-License-Identifier: Apache-2.0
"""Commands ``openstack lease create`` and ``offer list``."""

import argparse
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
from typing import Any
import uuid

from keystoneauth1 import exceptions as session_exceptions
from openstack import exceptions as sdk_exceptions
from osc_lib import exceptions
from osc_lib.command import command

from osc_nova_reservations import api
from osc_nova_reservations import base
from osc_nova_reservations import dates
from osc_nova_reservations import names
from osc_nova_reservations import shown
from osc_nova_reservations import values
from osc_nova_reservations import waiting
from osc_nova_reservations import what
from osc_nova_reservations import when
from osc_nova_reservations.sdk import lease as sdk_lease
from osc_nova_reservations.sdk import pool
from osc_nova_reservations.sdk import proxy

_ATTEMPTS = 3
"""The most offers to ask for, if other leases take them first."""


class CreateLease(base.Timed, command.ShowOne):
    """Lease hosts, room for servers, or other resources, for a time

    With --repeat a series of leases. All that is asked for is granted, or
    nothing.
    """

    example = (
        'openstack lease create workshop --hosts 2 --start "tomorrow 9:00" '
        '--duration 8h'
    )

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('name', metavar='<name>', help='Name of the lease')
        parser.add_argument(
            '--share-with',
            metavar='<project>[,<project>]',
            help='Let servers of these projects into the lease, too',
        )
        add_dry_run(parser)
        waiting.add(parser)
        parser.add_argument(
            '--type',
            metavar='<type>',
            help='Type of the lease: immediate, scheduled, retry (waits for '
            'room) or best_effort (other hosts are emptied for it) (default: '
            'immediate if it starts now, else scheduled)',
        )
        parser.add_argument(
            '--max-retries',
            type=values.whole,
            metavar='<number>',
            help='Number of intervals, of a minute unless the operator says '
            'otherwise, that a lease of type retry waits at most (default: '
            'as long as the operator allows)',
        )
        add_project(parser)
        parser.add_argument(
            '--idempotency-key',
            metavar='<key>',
            help='Text by which the command may be repeated: with the same '
            'one, the same command within a day makes no second lease '
            '(default: a new one)',
        )
        when.add(parser)
        when.add_repeat(parser)
        what.add(parser)
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Sequence[Any]]:
        clock = self.clock(parsed_args)
        known = names.Names(self)
        body = body_of(parsed_args, clock, known)
        projects = [
            known.project(name)
            for name in (parsed_args.share_with or '').split(',')
            if name
        ]
        if parsed_args.wait and parsed_args.repeat:
            raise exceptions.CommandError(
                '--wait is for a single lease, without --repeat'
            )
        if parsed_args.dry_run:
            body['dry_run'] = True
        client = api.client_of(self)
        with _told_values(client, parsed_args):
            if parsed_args.repeat:
                made = _created(client.create_series, body, parsed_args)
            elif parsed_args.first_free:
                made = _create_first(client, parsed_args, clock, body)
            else:
                made = _created(client.create_lease, body, parsed_args)
        if parsed_args.dry_run:
            self.app.stderr.write('Nothing is done; this would be made:\n')
            return self._shown(made, clock, known, parsed_args)
        if projects:
            _share(client, made, projects, parsed_args)
        if parsed_args.wait:
            made = waiting.wait(self, client, made, clock, parsed_args)
        return self._shown(made, clock, known, parsed_args)

    def _shown(
        self,
        made: Any,
        clock: dates.Clock,
        known: names.Names,
        args: argparse.Namespace,
    ) -> shown.Row:
        is_made = not args.dry_run
        if args.repeat:
            return shown.series(made, clock, args, is_made=is_made)
        return shown.lease(made.shown(), clock, known, args, is_made=is_made)


def add_dry_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--dry-run',
        action='store_true',
        help='Show what would be, or why it is refused, and do nothing',
    )


def add_project(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--project',
        metavar='<project>',
        help='Whose lease it is to be, by name or ID (administrators; '
        'default: the own project)',
    )


def body_of(
    args: argparse.Namespace, clock: dates.Clock, known: names.Names
) -> dict[str, Any]:
    """Return the request for a lease.

    :raises: CommandError
    """
    if args.first_free and not args.duration:
        raise exceptions.CommandError('--first-free needs --duration')
    if args.first_free and args.idempotency_key:
        raise exceptions.CommandError(
            '--idempotency-key does not go with --first-free: the same '
            'command may ask for another window'
        )
    if args.start_before and not args.first_free:
        raise exceptions.CommandError('--start-before needs --first-free')
    return {
        'name': args.name,
        **what.given(
            lease_type=args.type,
            max_retries=args.max_retries,
            repeat=when.repeat(args, clock),
            project_id=known.project(args.project) if args.project else None,
        ),
        **when.window(args, clock),
        'reservations': what.reservations(args, known),
    }


def _created(
    create: Any, body: dict[str, Any], args: argparse.Namespace
) -> Any:
    """Create a lease, or a series, unless an earlier request with the key
    has, and return it.

    :raises: CommandError, openstack.exceptions.HttpException
    """
    key = args.idempotency_key or str(uuid.uuid4())
    try:
        return create(**body, idempotency_key=key)
    except session_exceptions.ConnectionError as error:
        raise exceptions.CommandError(
            f'{error}\nThe lease may have been made. To be sure, give the '
            f'same command with --idempotency-key {key}: it makes no second '
            'one'
        ) from error


@contextlib.contextmanager
def _told_values(
    client: proxy.Proxy, args: argparse.Namespace
) -> Iterator[None]:
    """Say which values there are if no host has a property that is asked for.

    :raises: CommandError
    """
    try:
        yield
    except sdk_exceptions.BadRequestException as error:
        if not args.properties:
            raise
        found = {each.name: each.values for each in _properties(client)}
        said = [*_missing(args.properties, found)]
        raise exceptions.CommandError('\n'.join([error.message, *said])) from (
            error
        )


def _missing(
    wanted: Sequence[Sequence[str]], found: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    """Yield what no host has.

    :param wanted: comparisons of properties
    :param found: property -> its values
    """
    for how, name, value in wanted:
        key = name.removeprefix('$')
        if key not in found:
            there = ', '.join(sorted(found)) or 'none'
            yield f'{key} is no property of hosts; there are: {there}'
        elif how == '==' and value not in found[key]:
            there = f', {key}='.join(found[key])
            yield f'No host has {key}={value}; there are: {key}={there}'


def _properties(client: proxy.Proxy) -> Iterator[pool.Property]:
    try:
        yield from client.host_properties(detail='true')
    except sdk_exceptions.ForbiddenException:
        # Not every cloud shows values to everybody.
        return


def _create_first(
    client: proxy.Proxy,
    args: argparse.Namespace,
    clock: dates.Clock,
    body: dict[str, Any],
) -> sdk_lease.Lease:
    """Create a lease in the first window that is offered for it.

    :raises: CommandError
    """
    wanted = {
        'duration': body['duration'],
        'reservations': body['reservations'],
        'start_after': body['start_date'],
        'limit': 1,
        **what.given(
            **clock.given(start_before=args.start_before),
            project_id=body.get('project_id'),
        ),
    }
    for attempts_left in reversed(range(_ATTEMPTS)):
        offers = client.lease_offers(**wanted)
        if not offers:
            raise exceptions.CommandError(
                'No window was found in which there is room for the lease. '
                + why_not(client, wanted)
            )
        body = body | {'start_date': offers[0].start_date}
        try:
            return client.create_lease(**body)
        except sdk_exceptions.HttpException:
            # Another lease may have taken the window meanwhile.
            if not attempts_left:
                raise
    raise AssertionError


def why_not(client: proxy.Proxy, wanted: dict[str, Any]) -> str:
    """Return why a lease is refused in the first window that was asked
    for."""
    try:
        client.create_lease(
            dry_run=True,
            name='offer',
            start_date=wanted['start_after'],
            duration=wanted['duration'],
            reservations=wanted['reservations'],
            **what.given(project_id=wanted.get('project_id')),
        )
    except sdk_exceptions.HttpException as error:
        return f'At its begin: {error.message}'
    return 'There is room at its begin now: ask again'


def _share(
    client: proxy.Proxy,
    made: Any,
    projects: Sequence[str],
    args: argparse.Namespace,
) -> None:
    """Share what was made; if that fails, say how to do it later.

    :raises: CommandError
    """
    words = 'lease series' if args.repeat else 'lease'
    try:
        if args.repeat:
            client.share_series(made, projects)
        else:
            client.share_lease(made, projects)
    except sdk_exceptions.HttpException as error:
        raise exceptions.CommandError(
            f'It is made, but not shared: {error.message}\nTo share it: '
            f'openstack {words} add project {made.id} '
            + args.share_with.replace(',', ' ')
        ) from error


class ListOffer(base.Timed, command.Lister):
    """List times at which a lease would be accepted now

    Each is the first start of a time in which there is room: a later start may
    be accepted, too.
    """

    example = (
        'openstack lease offer list --hosts 2 --duration 8h --start-after '
        'monday'
    )

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--duration',
            required=True,
            type=dates.duration,
            metavar='<duration>',
            help=f'Time from start to end: {dates.DURATION_HELP}',
        )
        parser.add_argument(
            '--start-after',
            default=dates.NOW,
            metavar='<time>',
            help=f'Earliest start: {dates.HELP} (default: now)',
        )
        parser.add_argument(
            '--start-before',
            metavar='<time>',
            help='Latest start (default: there is none)',
        )
        parser.add_argument(
            '--limit',
            type=values.whole,
            metavar='<number>',
            help='Maximum number of times, up to 20 (default: 5)',
        )
        add_project(parser)
        what.add(parser)
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Any]:
        clock = self.clock(parsed_args)
        client = api.client_of(self)
        wanted = offers_of(parsed_args, clock, names.Names(self))
        found = client.lease_offers_page(**wanted)
        base.say_zone(self, clock, parsed_args)
        if not found['offers']:
            self.app.stderr.write(
                f'There is no such time. {why_not(client, wanted)}\n'
            )
        if found['truncated']:
            self.app.stderr.write(
                'There may be more: not all was looked at, for that would '
                'have taken too long\n'
            )
        column = dates.columns_of(clock)
        return ['Start', 'End'], [
            (column(offer['start_date']), column(offer['end_date']))
            for offer in found['offers']
        ]


def offers_of(
    args: argparse.Namespace, clock: dates.Clock, known: names.Names
) -> dict[str, Any]:
    """Return the request for times at which there is room.

    :raises: CommandError
    """
    return {
        'duration': dates.sent_duration(args.duration),
        'start_after': clock.sent(args.start_after),
        **what.given(
            **clock.given(start_before=args.start_before),
            limit=args.limit,
            project_id=known.project(args.project) if args.project else None,
        ),
        'reservations': what.reservations(args, known),
    }
