# SPDX-License-Identifier: Apache-2.0
"""From the options of commands to the bodies of requests."""

import argparse
import json
from typing import Any

from osc_lib import exceptions


def count(text: str) -> tuple[int, int]:
    """Return the least and the most, of ``3`` or ``2-5``.

    :raises: ArgumentTypeError
    """
    least, dash, most = text.partition('-')
    try:
        return int(least), int(most) if dash else int(least)
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f'{text} is no number of hosts, as 3 or 2-5'
        ) from error


def add_lease(parser: argparse.ArgumentParser, **more: Any) -> None:
    parser.add_argument(
        'lease', metavar='<lease>', help='Name or id of the lease', **more
    )


def add_dates(
    parser: argparse.ArgumentParser, start: str | None = None
) -> None:
    parser.add_argument(
        '--start',
        default=start,
        metavar='<date>',
        help='When it starts, in UTC: "2050-12-26 12:00", or now'
        + (' (default)' if start else ''),
    )
    parser.add_argument('--end', metavar='<date>', help='When it ends')
    parser.add_argument(
        '--before-end-date',
        metavar='<date>',
        help='When what is asked for before the end is done',
    )


def add_endings(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--before-end',
        metavar='<action>',
        help='What is done before the end, for example snapshot',
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
        help='How long servers may take to stop before that',
    )


def add_reservations(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--reservation',
        dest='reservations',
        action='append',
        type=_object,
        default=[],
        metavar='<json>',
        help='One reservation as the API takes it, an object of JSON; may '
        'be repeated',
    )


def _object(text: str) -> dict[str, Any]:
    """:raises: ArgumentTypeError"""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f'no JSON: {error}') from error
    if not isinstance(found, dict):
        raise argparse.ArgumentTypeError('no object of JSON')
    return found


def new(asked: argparse.Namespace) -> dict[str, Any]:
    """Return the body that creates a lease.

    :raises: CommandError
    """
    reservations = list(asked.reservations)
    if asked.hosts:
        least, most = asked.hosts
        reservations.append(
            {
                'resource_type': 'physical:host',
                'min': least,
                'max': most,
                'hypervisor_properties': asked.hypervisor_properties or '',
                'resource_properties': asked.resource_properties or '',
            }
        )
    elif asked.hypervisor_properties or asked.resource_properties:
        raise exceptions.CommandError('Properties say which --hosts: how many')
    if not reservations:
        raise exceptions.CommandError('Give --hosts, or a --reservation')
    return {
        **_given(
            name=asked.name,
            lease_type=asked.type,
            max_retries=asked.max_retries,
            start_date=asked.start,
            end_date=asked.end,
            duration=asked.duration,
            before_end_date=asked.before_end_date,
        ),
        'reservations': [_endings(asked) | each for each in reservations],
    }


def changes(
    asked: argparse.Namespace, lease: dict[str, Any]
) -> dict[str, Any]:
    """Return the body that changes a lease.

    What is asked of the end is asked of all of its reservations.

    :raises: CommandError
    """
    reservations = {
        each['id']: {'id': each['id'], **_endings(asked)}
        for each in lease['reservations']
        if _endings(asked)
    }
    for each in asked.reservations:
        if 'id' not in each:
            raise exceptions.CommandError(
                'A --reservation that changes needs its "id": '
                + ', '.join(one['id'] for one in lease['reservations'])
            )
        reservations[each['id']] = reservations.get(each['id'], {}) | each
    body = _given(
        name=asked.name,
        start_date=asked.start,
        end_date=asked.end,
        before_end_date=asked.before_end_date,
        reservations=[*reservations.values()] or None,
        replace_failed=asked.replace_failed or None,
    )
    if not body:
        raise exceptions.CommandError('Say what shall change: see --help')
    return body


def _endings(asked: argparse.Namespace) -> dict[str, Any]:
    return _given(
        before_end=asked.before_end,
        end_action=asked.end_action,
        end_grace=asked.end_grace,
    )


def _given(**values: Any) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}
