# SPDX-License-Identifier: Apache-2.0
"""``nova-reservations-manage demand replay``."""

import argparse
from collections.abc import Sequence
import json
import sys
from typing import Any

import prettytable

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.api import dates
from nova_reservations.cmd import parsers
from nova_reservations.engine import assembly
from nova_reservations.engine.outlook import replay
from nova_reservations.objects import refusal

MOST_HOSTS = 10_000
"""The maximum number of hosts that can be added for a replay."""


def add_parser(group: Any) -> None:
    parser = parsers.command(
        group,
        'replay',
        'tell which of them more hosts would have had room for, beside all '
        'that is booked; nothing is written',
        _act,
    )
    parser.add_argument(
        '--add-hosts',
        required=True,
        type=_count,
        metavar='N',
        help='this many hosts beside those that there are, up to '
        f'{MOST_HOSTS}',
    )
    parser.add_argument(
        '--like',
        metavar='ID|NAME',
        help='number, service host or hypervisor hostname of the host that '
        'they are like; without: of the first one that new leases can have',
    )
    for name, text in (
        ('start', 'only what was asked for on this day or later'),
        ('end', 'only what was asked for before this day'),
    ):
        parser.add_argument(
            f'--{name}', type=parsers.day, metavar='YYYY-MM-DD', help=text
        )
    parsers.add_format(parser)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) > MOST_HOSTS:
        raise argparse.ArgumentTypeError(
            f'"{text}": a number from 0 to {MOST_HOSTS} is wanted'
        )
    return int(text)


def _act(services: assembly.Services, arguments: Any) -> int:
    query = refusal.RefusalQuery(start=arguments.start, end=arguments.end)
    like = (
        parsers.host(services, arguments.like).id if arguments.like else None
    )
    more = arguments.add_hosts
    try:
        now, after = (
            services.replay.run(query, count, like, services.clock.now())
            for count in (0, more)
        )
    except exception.InvalidInput as error:
        print(error, file=sys.stderr)
        return 1
    if arguments.format == 'json':
        print(json.dumps(_as_json(more, now, after)))
        return 0
    _print(more, now, after)
    return 0


def _print(
    more: int, now: Sequence[replay.Tried], after: Sequence[replay.Tried]
) -> None:
    table = prettytable.PrettyTable(
        ('Asked', 'Project', 'Kind', 'Start', 'End', 'Now', f'+{more}')
    )
    table.align = 'l'
    for before, tried in zip(now, after, strict=True):
        asked = tried.refusal
        table.add_row(
            [
                f'{asked.asked_at:%Y-%m-%d %H:%M}',
                asked.project_id,
                asked.kind,
                f'{asked.start:%Y-%m-%d %H:%M}',
                f'{asked.end:%Y-%m-%d %H:%M}',
                _ACCEPTED[before.accepted],
                _ACCEPTED[tried.accepted],
            ]
        )
    print(table)
    print(f'Room for {_summary(now)} with the hosts that there are')
    print(f'Room for {_summary(after)} with {more} more')


def _as_json(
    more: int, now: Sequence[replay.Tried], after: Sequence[replay.Tried]
) -> dict[str, Any]:
    return {
        'add_hosts': more,
        'refusals': [
            {
                'asked_at': dates.show(tried.refusal.asked_at),
                'project_id': tried.refusal.project_id,
                'kind': tried.refusal.kind,
                'start_date': dates.show(tried.refusal.start),
                'end_date': dates.show(tried.refusal.end),
                'host_hours': tried.hours,
                'room_now': before.accepted,
                'room_then': tried.accepted,
            }
            for before, tried in zip(now, after, strict=True)
        ],
    }


_ACCEPTED = {True: 'yes', False: 'no', None: 'unknown type'}


def _summary(tried: Sequence[replay.Tried]) -> str:
    accepted = [each for each in tried if each.accepted]
    hours = sum(each.hours for each in tried)
    return (
        f'{len(accepted)} of {objects.plural(len(tried), "lease", "leases")}, '
        f'{sum(each.hours for each in accepted):.0f} of {hours:.0f} host-hours'
    )
