# SPDX-License-Identifier: Apache-2.0
"""Options that say what is leased, and the reservations made from them."""

import argparse
from collections.abc import Iterator
import json
import pathlib
from typing import Any

from osc_lib import exceptions
from osc_lib.cli import parseractions

from osc_nova_reservations import names
from osc_nova_reservations import values

_NEEDS = {
    'consume': ('--consume', '--hosts or slots'),
    'properties': ('--property', '--hosts or slots'),
    'hypervisor_properties': ('--hypervisor-properties', '--hosts'),
    'resource_properties': ('--resource-properties', '--hosts or slots'),
    'amount': ('--amount', '--flavor, or --vcpus, --memory and --disk'),
    'affinity': ('--affinity and --anti-affinity', '--flavor or --vcpus'),
    'parameters': ('--parameter', '--template'),
    'physical_network': ('--physical-network', '--network'),
}


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of all that can be leased."""
    add_hosts(parser)
    _add_slots(parser)
    _add_others(parser)
    add_end_actions(parser)


def add_hosts(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group('hosts')
    group.add_argument(
        '--hosts',
        type=values.host_range,
        metavar='<min>[-<max>]',
        help='Lease this number of whole hosts',
    )
    add_properties(group)
    group.add_argument(
        '--consume',
        choices=['open', 'targeted'],
        help='With --hosts or slots, who uses them: new servers of the '
        'project (open), or only those that ask for the lease (targeted, the '
        'default)',
    )
    group.add_argument(
        '--resource-properties',
        metavar='<expression>',
        help='Other requirements, as an expression of the API: '
        '["or", ["==", "$gpu", "a100"], ["==", "$gpu", "h100"]]',
    )
    group.add_argument(
        '--hypervisor-properties',
        metavar='<expression>',
        help='The same, by the other name that the API has for it',
    )


def add_properties(parser: Any) -> None:
    parser.add_argument(
        '--property',
        dest='properties',
        action='append',
        type=values.compared,
        default=[],
        metavar='<key>=<value>',
        help='Only hosts with this property: gpu=a100, gpu!=a100, '
        '"vcpus>=16"; repeat the option for several. "openstack lease '
        'property list" shows the properties there are',
    )


def _add_slots(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        'slots, which are room for servers on hosts that others use, too'
    )
    group.add_argument(
        '--flavor', metavar='<flavor>', help='Lease slots for this flavor'
    )
    for name, kind, metavar, text in (
        ('vcpus', values.whole, '<number>', 'VCPUs of each slot'),
        ('memory', values.memory, '<size>', 'Memory of each slot: 8G, 512M'),
        (
            'disk',
            values.disk,
            '<size>',
            'Disk of each slot: 20G (default: 0)',
        ),
        ('amount', values.whole, '<number>', 'Number of slots (default: 1)'),
    ):
        group.add_argument(f'--{name}', type=kind, metavar=metavar, help=text)
    where = group.add_mutually_exclusive_group()
    where.add_argument(
        '--affinity',
        action='store_true',
        default=None,
        help='All slots on the same host',
    )
    where.add_argument(
        '--anti-affinity',
        dest='affinity',
        action='store_false',
        help='Each slot on another host',
    )


def _add_others(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group('what else this cloud may lease')
    group.add_argument(
        '--floating-ip',
        dest='floating_ips',
        action='append',
        default=[],
        metavar='<network>[:<number>]',
        help='Floating IPs of an external network (default: 1)',
    )
    group.add_argument(
        '--network',
        dest='networks',
        action='append',
        default=[],
        metavar='<name>',
        help='A network, which gets this name',
    )
    group.add_argument(
        '--physical-network',
        metavar='<name>',
        help='With --network, the physical network that it is in',
    )
    group.add_argument(
        '--volume',
        dest='volumes',
        action='append',
        default=[],
        metavar='<size>[:<type>]',
        help='A volume of this size in GiB, and of this volume type; repeat '
        'the option for several',
    )
    group.add_argument(
        '--template', metavar='<file>', help='A stack of this template of Heat'
    )
    group.add_argument(
        '--parameter',
        dest='parameters',
        action=parseractions.KeyValueAction,
        metavar='<key>=<value>',
        help='A parameter of the template; repeat the option for several',
    )
    group.add_argument(
        '--resource',
        dest='resources',
        action='append',
        type=values.typed,
        default=[],
        metavar='<type>,<key>=<value>',
        help='What a plugin offers: licence,seats=5; repeat the option for '
        'several',
    )
    group.add_argument(
        '--reservation',
        dest='reservations',
        action='append',
        type=values.json_object,
        default=[],
        metavar='<json>',
        help='A reservation as the API takes it, a JSON object, for scripts',
    )


def add_end_actions(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group('the end')
    group.add_argument(
        '--before-end',
        metavar='<action>',
        help='Action before the end: snapshot, email, or another that this '
        'cloud offers',
    )
    group.add_argument(
        '--end-action',
        metavar='<action>',
        help='What becomes of servers at the end: delete, shelve or migrate',
    )
    group.add_argument(
        '--end-grace',
        type=values.whole,
        metavar='<minutes>',
        help='Minutes that servers have at the end to shut down by '
        'themselves, before the action of --end-action',
    )


def end_actions(args: argparse.Namespace) -> dict[str, Any]:
    return given(
        before_end=args.before_end,
        end_action=args.end_action,
        end_grace=args.end_grace,
    )


def given(**values: Any) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def expression(comparisons: list[list[str]], more: str | None = None) -> str:
    """Return the requirements as the API takes them.

    :param more: an expression that must hold, too
    :raises: CommandError
    """
    found: list[Any] = list(comparisons)
    if more and not found:
        return more
    if more:
        try:
            found.append(json.loads(more))
        except ValueError as error:
            raise exceptions.CommandError(
                f'--resource-properties: not JSON: {error}'
            ) from error
    if not found:
        return ''
    return json.dumps(found[0] if len(found) == 1 else ['and', *found])


def reservations(
    args: argparse.Namespace, known: names.Names
) -> list[dict[str, Any]]:
    """Return the reservations of the request for a lease.

    :raises: CommandError
    """
    found = [*_of_servers(args, known), *_of_others(args, known)]
    _check_needs(args, {each['resource_type'] for each in found})
    if not found:
        raise exceptions.CommandError(
            'Say what to lease: --hosts 2, or --flavor m1.small --amount 3, '
            'or another option that --help lists'
        )
    ending = end_actions(args)
    return [ending | each for each in found]


def _of_servers(
    args: argparse.Namespace, known: names.Names
) -> Iterator[dict[str, Any]]:
    required = expression(args.properties, args.resource_properties)
    if args.hosts:
        minimum, maximum = args.hosts
        yield {
            'resource_type': 'physical:host',
            'min': minimum,
            'max': maximum,
            'hypervisor_properties': args.hypervisor_properties or '',
            'resource_properties': required,
            **given(consume=args.consume),
        }
    slots = {
        'amount': 1 if args.amount is None else args.amount,
        'affinity': args.affinity,
        **given(consume=args.consume),
    }
    sizes = given(vcpus=args.vcpus, memory=args.memory, disk=args.disk)
    if args.flavor and sizes:
        raise exceptions.CommandError(
            'Give the size of slots by --flavor, or by --vcpus, --memory and '
            '--disk'
        )
    if args.flavor:
        if required and not args.hosts:
            raise exceptions.CommandError(
                '--property goes with --hosts or with slots of a size, by '
                '--vcpus and --memory: a flavor says itself which hosts it '
                'needs'
            )
        yield {
            'resource_type': 'flavor:instance',
            'flavor_id': known.flavor(args.flavor),
            **slots,
        }
    if sizes:
        if not {'vcpus', 'memory'} <= sizes.keys():
            raise exceptions.CommandError(
                'The size of slots needs both --vcpus and --memory'
            )
        yield {
            'resource_type': 'virtual:instance',
            'vcpus': args.vcpus,
            'memory_mb': args.memory,
            'disk_gb': args.disk or 0,
            'resource_properties': required,
            **slots,
        }


def _of_others(
    args: argparse.Namespace, known: names.Names
) -> Iterator[dict[str, Any]]:
    for text in args.floating_ips:
        network, number = _counted('--floating-ip', text, 'public:2')
        yield {
            'resource_type': 'virtual:floatingip',
            'network_id': known.network(network),
            'amount': number,
        }
    for name in args.networks:
        yield {
            'resource_type': 'virtual:network',
            'network_name': name,
            **_segment(args.physical_network),
        }
    for text in args.volumes:
        size, _, volume_type = text.partition(':')
        try:
            gib = values.disk(size)
        except argparse.ArgumentTypeError as error:
            raise exceptions.CommandError(f'--volume: {error}') from error
        yield {
            'resource_type': 'virtual:volume',
            'size_gb': gib,
            'amount': 1,
            **given(volume_type=volume_type or None),
        }
    if args.template:
        yield {
            'resource_type': 'virtual:stack',
            'template': _read(args.template),
            'parameters': args.parameters or {},
        }
    for kind, fields in args.resources:
        yield {'resource_type': kind, **fields}
    for each in args.reservations:
        if 'resource_type' not in each:
            raise exceptions.CommandError(
                'A --reservation needs a "resource_type", such as '
                '"physical:host"'
            )
        yield each


def _segment(physical_network: str | None) -> dict[str, str]:
    if not physical_network:
        return {}
    wanted = ['==', '$physical_network', physical_network]
    return {'network_properties': expression([wanted])}


def _counted(option: str, text: str, such: str) -> tuple[str, int]:
    """:raises: CommandError"""
    name, colon, number = text.rpartition(':')
    if not colon:
        return text, 1
    try:
        return name, values.whole(number)
    except argparse.ArgumentTypeError as error:
        raise exceptions.CommandError(
            f'{option} {text}: give a name, or a name and a number, such as '
            f'{such}'
        ) from error


def _read(file: str) -> str:
    """:raises: CommandError"""
    try:
        return pathlib.Path(file).read_text(encoding='utf-8')
    except (OSError, UnicodeDecodeError) as error:
        raise exceptions.CommandError(
            f'--template {file} can not be read: {error}'
        ) from error


def _check_needs(args: argparse.Namespace, kinds: set[str]) -> None:
    """Refuse options that nothing which is asked for would use.

    :raises: CommandError
    """
    hosts = 'physical:host' in kinds
    slots = bool({'flavor:instance', 'virtual:instance'} & kinds)
    fits = {
        'consume': hosts or slots,
        'properties': hosts or slots,
        'hypervisor_properties': hosts,
        'resource_properties': hosts or slots,
        'amount': slots,
        'affinity': slots,
        'parameters': 'virtual:stack' in kinds,
        'physical_network': 'virtual:network' in kinds,
    }
    for name, fitting in fits.items():
        if not fitting and getattr(args, name) not in (None, []):
            option, needed = _NEEDS[name]
            raise exceptions.CommandError(f'{option} needs {needed}')
