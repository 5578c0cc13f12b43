# SPDX-License-Identifier: Apache-2.0
"""``nova-reservations-manage host cordon``, ``uncordon``, ``drain`` and
``maintain``."""

from collections.abc import Callable
import datetime
import json
import sys
from typing import Any

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.api import dates
from nova_reservations.api.views import hosts as view
from nova_reservations.cmd import parsers
from nova_reservations.engine import assembly
from nova_reservations.engine.leases import maintenance

OPERATORS = 'operators'
"""The owner of the maintenance leases that this command creates; it is no
project of keystone."""

_TEXTS = {
    'cordon': 'give hosts to no new lease; leases that have not begun get '
    'others, where there are any',
    'uncordon': 'let new leases have hosts again',
    'drain': 'as cordon; leases that have begun get others, too',
    'maintain': 'keep hosts without leases in a window; 1 if a lease that '
    'can not be moved has one then',
}


def add_parsers(group: Any) -> None:
    for action, text in _TEXTS.items():
        parser = parsers.command(group, action, text, _act)
        parsers.add_hosts(parser)
        parsers.add_format(parser)
        if action == 'drain':
            parser.add_argument(
                '--servers',
                choices=('migrate', 'list'),
                default='list',
                help='migrate: move the servers of these leases there, live '
                'if they run; what could not be moved is tried again',
            )
        if action == 'maintain':
            for name, help_text in (
                ('--from', 'its begin: a date in UTC as 2050-12-26 12:00'),
                ('--until', 'its end'),
            ):
                parser.add_argument(
                    name,
                    dest=name.strip('-') + '_date',
                    required=True,
                    metavar='DATE',
                    help=help_text,
                )


def _act(services: assembly.Services, arguments: Any) -> int:
    exit_code = 0
    shown = []
    for name in arguments.names:
        try:
            now = services.clock.now()
            host = parsers.host(services, name)
            held = _ACTIONS[arguments.action](services, host, arguments, now)
        except exception.ReservationsError as error:
            print(f'{name}: {error}', file=sys.stderr)
            exit_code = 1
            continue
        shown.append(_shown(held))
        if arguments.format == 'text':
            _print(arguments.action, held)
    if arguments.format == 'json':
        print(json.dumps(shown))
    return exit_code


def _maintain(
    services: assembly.Services,
    host: objects.Host,
    arguments: Any,
    now: datetime.datetime,
) -> maintenance.Affected:
    """:raises: InvalidInput, HostInUse, Contended"""
    start, end = (
        dates.parse(text, now)
        for text in (arguments.from_date, arguments.until_date)
    )
    window = maintenance.Window(start, end, OPERATORS, OPERATORS)
    return services.maintenance.maintain(host.id, window, now)


_ACTIONS: dict[str, Callable[..., maintenance.Affected]] = {
    'cordon': lambda services, host, _, now: services.maintenance.cordon(
        host.id, now
    ),
    'uncordon': lambda services, host, _, now: services.maintenance.uncordon(
        host.id, now
    ),
    'drain': lambda services, host, asked, now: services.maintenance.drain(
        host.id, now, asked.servers == 'migrate'
    ),
    'maintain': _maintain,
}

_DONE = {
    'cordon': 'is cordoned',
    'uncordon': 'is not cordoned',
    'drain': 'is cordoned',
    'maintain': 'has no lease in this window',
}


def _print(action: str, held: maintenance.Affected) -> None:
    name = held.host.facts.service_host
    if held.window is not None:
        print(f'Host {name} {_DONE[action]}; it is lease {held.window.id}')
        return
    print(f'Host {name} {_DONE[action]}')
    for each in held.occupants:
        where = 'is leaving' if each.is_leaving else 'has it still'
        print(
            f'  lease {each.lease_id} of project {each.project_id} {where}: '
            f'{each.status}, {dates.show(each.start_date)} to '
            f'{dates.show(each.end_date)}'
        )
        if each.stays_because:
            print(f'    {each.stays_because}')
    for server in held.servers:
        print(f'  server {server} is on it')


def _shown(held: maintenance.Affected) -> dict[str, Any]:
    return {
        'id': held.host.id,
        'host': held.host.facts.service_host,
        'cordoned': held.host.cordoned_at is not None,
        'lease_id': held.window and held.window.id,
        'servers': [*held.servers],
        'leases': [view.occupant(each) for each in held.occupants],
    }
