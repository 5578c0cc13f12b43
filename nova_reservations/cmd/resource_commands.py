# SPDX-License-Identifier: Apache-2.0
"""``nova-reservations-manage resource``: resources other than hosts."""

import argparse
from collections.abc import Callable
import json
import sys
from typing import Any

import prettytable

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.api import validation
from nova_reservations.api.views import resources as view
from nova_reservations.cmd import host_list
from nova_reservations.cmd import parsers
from nova_reservations.engine import assembly

COLUMNS = ('ID', 'Name', 'Inventories', 'Properties', 'Reservable')


def add_parsers(group: Any) -> None:
    listing = parsers.command(group, 'list', 'list those of a type', _list)
    listing.add_argument('type', metavar='TYPE', help='as its plugin names it')
    for name, text, act in (
        ('add', 'add one that can be leased', _add),
        ('set', 'change what is given, and nothing else', _set),
        ('show', 'show one, and which leases have it', _show),
        ('remove', 'remove one that no lease has', _remove),
    ):
        parser = parsers.command(group, name, text, act)
        parser.add_argument('type', metavar='TYPE')
        parser.add_argument('resource', metavar='NAME')
        if name in ('add', 'set'):
            _add_inventories(parser)
            parsers.add_properties(parser)
        if name == 'set':
            _add_changes(parser)
        parsers.add_format(parser)
    parsers.add_format(listing)


def _add_inventories(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--inventory',
        dest='inventories',
        action='append',
        default=[],
        type=_inventory,
        metavar='CLASS=N',
        help='so many units of a resource class; may be repeated',
    )


def _add_changes(parser: argparse.ArgumentParser) -> None:
    for name, metavar in (('inventory', 'CLASS'), ('property', 'NAME')):
        parser.add_argument(
            f'--no-{name}',
            dest=f'no_{name}',
            action='append',
            default=[],
            metavar=metavar,
            help='take it away; may be repeated',
        )
    cordon = parser.add_mutually_exclusive_group()
    cordon.add_argument(
        '--cordon',
        dest='cordoned',
        action='store_true',
        default=None,
        help='give it to no new lease; leases that have not begun get others, '
        'where there are any',
    )
    cordon.add_argument(
        '--uncordon',
        dest='cordoned',
        action='store_false',
        help='let new leases have it again',
    )


def _inventory(text: str) -> tuple[str, int]:
    name, _, units = text.partition('=')
    if not (name and units.isascii() and units.isdecimal()):
        raise argparse.ArgumentTypeError(f'"{text}": CLASS=N is wanted')
    return name, int(units)


def _list(services: assembly.Services, arguments: Any) -> int:
    def act() -> int:
        found = services.resources.find(objects.ResourceQuery(arguments.type))
        if arguments.format == 'json':
            print(json.dumps([view.show(each) for each in found]))
            return 0
        table = prettytable.PrettyTable(COLUMNS)
        table.align = 'l'
        for each in found:
            table.add_row(_row(each))
        print(table)
        return 0

    return _told(arguments.type, act)


def _row(known: objects.Inventoried) -> list[Any]:
    return [
        known.id,
        known.name,
        host_list.pairs(known.inventories),
        host_list.pairs(known.properties),
        host_list.reservable(known),
    ]


def _add(services: assembly.Services, arguments: Any) -> int:
    """Add a resource; like "host add", update one that exists already."""

    def act() -> int:
        validation.check_storable([arguments.type, arguments.resource])
        inventories = dict(arguments.inventories)
        properties = dict(arguments.properties)
        now = services.clock.now()
        try:
            known = services.resources.add(
                *(arguments.type, arguments.resource, now),
                *(inventories, properties),
            )
        except exception.ResourceExists as error:
            known = services.resources.update(
                error.values['id'], now, inventories, properties
            )
        return _print(arguments, known)

    return _told(arguments.resource, act)


def _set(services: assembly.Services, arguments: Any) -> int:
    def act() -> int:
        service = services.resources
        now = services.clock.now()
        known = service.named(arguments.type, arguments.resource)
        known = service.update(
            known.id,
            now,
            {
                **dict(arguments.inventories),
                **dict.fromkeys(arguments.no_inventory),
            },
            {
                **dict(arguments.properties),
                **dict.fromkeys(arguments.no_property),
            },
        )
        if arguments.cordoned is not None:
            act = service.cordon if arguments.cordoned else service.uncordon
            known = act(known.id, now)
        return _print(arguments, known)

    return _told(arguments.resource, act)


def _print(arguments: Any, known: objects.Inventoried) -> int:
    if arguments.format == 'json':
        print(json.dumps(view.show(known)))
        return 0
    _, name, inventories, properties, reservable = _row(known)
    print(
        f'Resource {name} of type {known.resource.resource_type}, as resource '
        f'{known.id}: {inventories or "as a whole"}'
        + (f'; {properties}' if properties else '')
        + ('' if reservable == 'True' else f'; reservable: {reservable}')
    )
    return 0


def _show(services: assembly.Services, arguments: Any) -> int:
    def act() -> int:
        service = services.resources
        known = service.named(arguments.type, arguments.resource)
        allocated = service.allocations(known.id, services.clock.now())
        shown = view.in_full(known, allocated)
        if arguments.format == 'json':
            print(json.dumps(shown))
            return 0
        _print(arguments, known)
        for each in shown['reservations']:
            amounts = ', '.join(
                f'{units} {key}' for key, units in each['amounts'].items()
            )
            print(
                f'  lease {each["lease_id"]} has {amounts or "all of it"}: '
                f'{each["start_date"]} to {each["end_date"]}'
            )
        return 0

    return _told(arguments.resource, act)


def _remove(services: assembly.Services, arguments: Any) -> int:
    def act() -> int:
        known = services.resources.named(arguments.type, arguments.resource)
        services.resources.remove(known.id)
        done = f'Resource {known.name} is no more'
        if arguments.format == 'json':
            print(json.dumps({'name': known.name, 'done': done}))
        else:
            print(done)
        return 0

    return _told(arguments.resource, act)


def _told(name: str, act: Callable[[], int]) -> int:
    """Return the exit code; print the reason of a refusal."""
    try:
        return act()
    except exception.ReservationsError as error:
        print(f'{name}: {error}', file=sys.stderr)
        return 1
