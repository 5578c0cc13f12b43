# SPDX-License-Identifier: Apache-2.0
"""Options of the commands, and the request bodies made from them."""

import argparse
import json
from typing import Any

from osc_lib import exceptions

from osc_nova_reservations import dates

_PERIODS = {'daily': 'P1D', 'weekly': 'P1W'}

_DATES = frozenset({'start', 'end', 'before_end_date', 'start_before'})
"""Options of a new lease that are dates."""

_DURATION = '1d'
"""The duration of a lease that is given no end, as in python-blazarclient."""


def host_range(text: str) -> tuple[int, int]:
    """Return the minimum and maximum in ``3`` or ``2-5``.

    :raises: ArgumentTypeError
    """
    minimum, dash, maximum = text.partition('-')
    try:
        return int(minimum), int(maximum) if dash else int(minimum)
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f'{text} is neither a number of hosts, such as 3, nor a range, '
            'such as 2-5'
        ) from error


def add_lease(parser: argparse.ArgumentParser, **more: Any) -> None:
    parser.add_argument(
        'lease', metavar='<lease>', help='Name or ID of the lease', **more
    )


def add_project(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--project',
        metavar='<project>',
        help='Whose lease it is to be, by name or ID (administrators; '
        'default: the own project)',
    )


def add_dates(
    parser: argparse.ArgumentParser, start: str | None = None
) -> None:
    """:param start: the default of ``--start``, if it has one"""
    parser.add_argument(
        '--start',
        default=start,
        type=dates.typed,
        metavar='<date>',
        help='Start of the lease, in UTC: "2050-12-26 12:00", or now'
        + (' (default)' if start else ''),
    )
    parser.add_argument(
        '--end',
        type=dates.typed,
        metavar='<date>',
        help='End of the lease, in UTC; a day without a time is its midnight',
    )
    parser.add_argument(
        '--before-end-date',
        type=dates.typed,
        metavar='<date>',
        help='Time of the action named by --before-end, in UTC',
    )


def add_hosts(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--hosts',
        type=host_range,
        metavar='<min>[-<max>]',
        help='Reserve this number of whole hosts',
    )
    for kind in ('hypervisor', 'resource'):
        parser.add_argument(
            f'--{kind}-properties',
            metavar='<expression>',
            help=f'With --hosts, {kind} properties that they must have, '
            'for example [">=", "$vcpus", "16"]',
        )
    parser.add_argument(
        '--consume',
        choices=['open', 'targeted'],
        help='With --hosts, who uses them: new servers of the project (open), '
        'or only those that ask for the reservation (targeted, the default)',
    )


def add_end_actions(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--before-end',
        metavar='<action>',
        help='Action before the end, for example snapshot',
    )
    parser.add_argument(
        '--end-action',
        metavar='<action>',
        help='What becomes of servers at the end: delete, shelve or migrate',
    )
    parser.add_argument(
        '--end-grace',
        type=int,
        metavar='<minutes>',
        help='Time that servers have to stop before that',
    )


def add_reservations(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--reservation',
        dest='reservations',
        action='append',
        type=_json_object,
        default=[],
        metavar='<json>',
        help='A reservation as the API takes it, a JSON object; repeat the '
        'option for several',
    )


def add_repeat(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--repeat',
        choices=[*_PERIODS],
        help='Create a series of leases: one each day or week, at the same '
        'local time',
    )
    parser.add_argument(
        '--count',
        type=int,
        metavar='<count>',
        help='With --repeat, the number of leases, up to 64',
    )
    parser.add_argument(
        '--timezone',
        metavar='<timezone>',
        help='Zone that all dates without an offset are in, and whose local '
        'time --repeat keeps, in place of UTC: Europe/Rome',
    )
    parser.add_argument(
        '--partial',
        action='store_true',
        help='With --repeat, create those leases for which there is room, if '
        'there is not for all',
    )


def _repeat(args: argparse.Namespace) -> dict[str, Any] | None:
    """Return how the lease repeats.

    :raises: CommandError
    """
    if not args.repeat:
        if args.count is not None or args.partial:
            raise exceptions.CommandError(
                '--count and --partial need --repeat'
            )
        return None
    if args.count is None:
        raise exceptions.CommandError('--repeat needs --count')
    if args.first_free:
        raise exceptions.CommandError(
            '--first-free is for a single lease, without --repeat'
        )
    return _given(
        every=_PERIODS[args.repeat],
        count=args.count,
        timezone=args.timezone,
        partial=args.partial or None,
    )


def series(made: dict[str, Any]) -> dict[str, Any]:
    """Return what to show of a series beside its first lease.

    :param made: as the API answers it
    """
    return {
        'leases': '\n'.join(
            f'{each["id"]} {each["start_date"]}' for each in made['leases']
        ),
        'refused': '\n'.join(
            f'{each["start_date"]} {each["reason"]}'
            # If an earlier request has made the series, the answer lacks
            # the refusals.
            for each in made.get('refused', ())
        ),
    }


def add_dry_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--dry-run',
        action='store_true',
        help='Show what would be, or why it is refused, and do nothing',
    )


def in_zone(args: argparse.Namespace) -> argparse.Namespace:
    """Return the options with their dates in the zone that they name.

    :raises: CommandError
    """
    if not args.timezone:
        return args
    local = dates.zone(args.timezone)
    given = {
        name: dates.within(value, local)
        for name, value in vars(args).items()
        if name in _DATES and value
    }
    return argparse.Namespace(**vars(args) | given)


def query(args: argparse.Namespace) -> dict[str, str]:
    """Return the query of a request that creates or changes a lease."""
    return {'dry_run': 'true'} if args.dry_run else {}


def _json_object(text: str) -> dict[str, Any]:
    """:raises: ArgumentTypeError"""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f'not JSON: {error}') from error
    if not isinstance(found, dict):
        raise argparse.ArgumentTypeError('not a JSON object')
    return found


def create_body(args: argparse.Namespace) -> dict[str, Any]:
    """Return the body of the request that creates a lease.

    :raises: CommandError
    """
    endless = not (args.end or args.duration)
    return {
        **_given(
            name=args.name,
            lease_type=args.type,
            max_retries=args.max_retries,
            start_date=args.start,
            end_date=args.end,
            duration=_DURATION if endless else args.duration,
            before_end_date=args.before_end_date,
            repeat=_repeat(args),
        ),
        'reservations': _reservations(args),
    }


def offers_body(
    args: argparse.Namespace, after: str, limit: int | None
) -> dict[str, Any]:
    """Return the body of the request for windows in which there is room.

    :raises: CommandError
    """
    if not args.duration:
        raise exceptions.CommandError('--first-free needs --duration')
    return {
        **_given(
            duration=args.duration,
            start_after=after,
            start_before=args.start_before,
            limit=limit,
        ),
        'reservations': _reservations(args),
    }


def _reservations(args: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the reservations of the request for a lease.

    :raises: CommandError
    """
    reservations = list(args.reservations)
    if args.hosts:
        minimum, maximum = args.hosts
        reservations.append(
            {
                'resource_type': 'physical:host',
                'min': minimum,
                'max': maximum,
                'hypervisor_properties': args.hypervisor_properties or '',
                'resource_properties': args.resource_properties or '',
                **_given(consume=args.consume),
            }
        )
    elif args.hypervisor_properties or args.resource_properties:
        raise exceptions.CommandError(
            '--hypervisor-properties and --resource-properties need --hosts'
        )
    elif args.consume:
        raise exceptions.CommandError('--consume needs --hosts')
    if not reservations:
        raise exceptions.CommandError('Give --hosts, or a --reservation')
    ending = _end_actions(args)
    return [ending | each for each in reservations]


def update_body(
    args: argparse.Namespace, lease: dict[str, Any]
) -> dict[str, Any]:
    """Return the body of the request that updates a lease.

    Options about the end apply to every reservation that was asked for.

    :param lease: the lease as the API shows it
    :raises: CommandError
    """
    ids = [each['id'] for each in asked_for(lease)]
    ending = _end_actions(args)
    reservations = {each: {'id': each} | ending for each in ids if ending}
    for each in args.reservations:
        if 'id' not in each:
            raise exceptions.CommandError(
                'A --reservation needs the "id" of the one to change: '
                + ', '.join(ids)
            )
        reservations[each['id']] = reservations.get(each['id'], {}) | each
    if args.released:
        key = _of_hosts(lease)
        reservations.setdefault(key, {'id': key})
        reservations[key]['release_hosts'] = args.released
    body = _given(
        name=args.name,
        start_date=args.start,
        end_date=args.end,
        before_end_date=args.before_end_date,
        reservations=[*reservations.values()] or None,
        replace_failed=args.replace_failed or None,
    )
    if not body:
        raise exceptions.CommandError('Nothing to change was given')
    return body


def asked_for(lease: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the reservations of a lease that are not parts of others."""
    return [each for each in lease['reservations'] if not each.get('part_of')]


def _of_hosts(lease: dict[str, Any]) -> str:
    """Return the ID of the only reservation of hosts.

    :raises: CommandError unless there is exactly one
    """
    found = [
        each['id']
        for each in asked_for(lease)
        if each.get('resource_type') == 'physical:host'
    ]
    if len(found) != 1:
        raise exceptions.CommandError(
            f'--release-host is for leases with one reservation of hosts, '
            f'and this has {len(found)}: give release_hosts in a --reservation'
        )
    return str(found[0])


def _end_actions(args: argparse.Namespace) -> dict[str, Any]:
    return _given(
        before_end=args.before_end,
        end_action=args.end_action,
        end_grace=args.end_grace,
    )


def _given(**values: Any) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}
