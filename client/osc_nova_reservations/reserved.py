# SPDX-License-Identifier: Apache-2.0
"""Reservations of leases, in words."""

from collections.abc import Iterator
from collections.abc import Mapping
import json
from typing import Any

from osc_lib.cli import format_columns

_TOLD = frozenset(
    {
        'id',
        'resource_type',
        'status',
        'min',
        'max',
        'amount',
        'hosts',
        'servers',
        # IDs that the lease, or this reservation, shows under other names.
        'lease_id',
        'resource_id',
        'flavor_id',
        'created_at',
        'updated_at',
        'part_of',
        'part_name',
    }
)
"""Keys of a reservation that are shown in words, or say nothing new."""

_DEFAULTS = {'before_end': 'default', 'consume': 'targeted', 'end_grace': 0}
"""What a reservation has unless it is asked for something else."""

_SIZES = frozenset({'vcpus', 'memory_mb', 'disk_gb', 'resource_properties'})
"""What slots of a flavor have from it."""

IDS = frozenset({'id', 'lease_id', 'resource_id', 'created_at', 'updated_at'})
"""Keys that a reservation which is not made can not have."""

_OF_SLOTS = frozenset({'virtual:instance', 'flavor:instance'})


def of_lease(lease: Mapping[str, Any]) -> str:
    """Return what a lease reserves, such as ``2 hosts, 4 slots of m1.big``.

    A reservation that has parts is described by its parts.
    """
    found = lease.get('reservations') or ()
    wholes = {each.get('part_of') for each in found} - {None}
    return ', '.join(
        _amount(each) for each in found if each.get('id') not in wholes
    )


class Column(format_columns.ListDictColumn):
    """The reservations of a lease: a line for each fact."""

    def human_readable(self) -> str:
        return '\n'.join(line for each in self._value for line in _lines(each))


def _lines(reservation: dict[str, Any]) -> Iterator[str]:
    """Yield the lines about a reservation; the first says what it is."""
    told = [_amount(reservation), reservation.get('status')]
    words = ', '.join(str(each) for each in told if each)
    # The API shows only the ID of a reservation that another project shares.
    if words:
        yield words
    if 'id' in reservation:
        yield f'  id: {reservation["id"]}'
    if reservation.get('part_of'):
        name, whole = reservation.get('part_name'), reservation['part_of']
        yield f'  part "{name}" of {whole}'
    for host in reservation.get('hosts', ()):
        yield f'  host {host["service_name"]} (ID {host["id"]})'
    for server in reservation.get('servers', ()):
        yield f'  server {server}'
    for key, value in sorted(reservation.items()):
        if key in _TOLD or value is None or value is False or value == '':
            continue
        if _DEFAULTS.get(key, ...) == value:
            continue
        if key in _SIZES and _is_flavor(reservation):
            # The name of the flavor is shown already.
            continue
        yield f'  {key}: {value}'


def _amount(reservation: dict[str, Any]) -> str:
    """Return the amount and the kind of what a reservation reserves."""
    kind = str(reservation.get('resource_type', ''))
    if 'min' in reservation and 'max' in reservation:
        least, most = reservation['min'], reservation['max']
        number = str(most) if least == most else f'{least}-{most}'
        return counted(number, 'host' if kind == 'physical:host' else kind)
    if 'on_end' in reservation:
        return counted(len(reservation.get('servers', ())), 'server')
    if 'amount' not in reservation:
        return kind
    if kind not in _OF_SLOTS:
        return counted(reservation['amount'], kind)
    size = _size(reservation)
    return counted(reservation['amount'], 'slot') + (size and f' of {size}')


def counted(number: object, what: str) -> str:
    return f'{number} {what}' + ('' if str(number) == '1' else 's')


def _is_flavor(reservation: dict[str, Any]) -> bool:
    return reservation.get('resource_type') == 'flavor:instance'


def _size(reservation: dict[str, Any]) -> str:
    """Return the size of the slots of a reservation, or '' if unknown."""
    try:
        if _is_flavor(reservation):
            # As in Blazar, the properties show the whole flavor.
            return str(json.loads(reservation['resource_properties'])['name'])
        return (
            f'{reservation["vcpus"]} VCPUs, {reservation["memory_mb"]} MiB, '
            f'{reservation["disk_gb"]} GiB'
        )
    except (KeyError, TypeError, ValueError):
        return ''
