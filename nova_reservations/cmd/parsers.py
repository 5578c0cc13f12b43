# SPDX-License-Identifier: Apache-2.0
"""The command line of ``nova-reservations-manage``: what its commands have in
common, and the hosts, properties and days that operators name in it."""

import argparse
from collections.abc import Callable
import datetime
from typing import Any

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.api import validation
from nova_reservations.api.schemas import hosts as schemas
from nova_reservations.engine import assembly


def group(commands: Any, name: str, text: str) -> Any:
    """Add a command that has commands itself; return their group."""
    parser = commands.add_parser(name, help=text, description=text)
    return parser.add_subparsers(dest='action', required=True)


def command(
    commands: Any,
    name: str,
    text: str,
    act: Callable[[assembly.Services, Any], int],
) -> argparse.ArgumentParser:
    """Add a command to a group; return its parser.

    :param act: acts on its arguments, and returns the exit code
    """
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=text, description=text
    )
    parser.set_defaults(act=act)
    return parser


def add_format(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '-f',
        '--format',
        choices=('text', 'json'),
        default='text',
        help='json: one object, or list, for programs',
    )


def add_hosts(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        'names',
        nargs='+',
        metavar='ID|NAME',
        help='number, service host or hypervisor hostname of an enrolled host',
    )


def host(services: assembly.Services, name: str) -> objects.Host:
    """Return the host with this number or name.

    :raises: NotFound, AmbiguousHost
    """
    if name.isdecimal() and len(name) < 10:
        return services.hosts.get(int(name))
    found = services.hosts.find(objects.HostQuery(name=name))
    if not found:
        raise exception.NotFound(kind='Host', id=name)
    if len(found) > 1:
        raise exception.AmbiguousHost(
            f'{len(found)} hosts are named {name}: use the ID of one of them, '
            'as "host list" shows it'
        )
    return found[0]


def add_properties(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--property',
        dest='properties',
        action='append',
        default=[],
        type=_property,
        metavar='NAME=VALUE',
        help='what users may ask for in resource_properties; may be repeated',
    )


def _property(text: str) -> tuple[str, str]:
    name, found, value = text.partition('=')
    try:
        if not found:
            raise exception.InvalidInput('NAME=VALUE is wanted')
        # The API accepts the same names and values.
        validation.check_storable({name: value})
        schemas.OWN_PROPERTIES.check({name: value})
    except exception.InvalidInput as error:
        raise argparse.ArgumentTypeError(f'"{text}": {error}') from error
    return name, value


def day(text: str) -> datetime.datetime:
    """Parse a day of the command line; return its beginning in UTC.

    :raises: argparse.ArgumentTypeError
    """
    try:
        begin = datetime.datetime.strptime(text, '%Y-%m-%d')
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f'"{text}": a day such as 2027-03-01 is wanted'
        ) from error
    return begin.replace(tzinfo=datetime.UTC)
