# SPDX-License-Identifier: Apache-2.0
"""The statistics of a server in the two forms of virt drivers; pure.

libvirt gives numbers below zero for what it does not know.
"""

from collections.abc import Mapping
import dataclasses
from typing import Any

_KIB = 1024
_MIB = 1024 * 1024

#: Suffix of a counter of libvirt -> what it counts for, and our name for it.
_SUFFIXES = {
    'read': ('disks', 'read_bytes'),
    'read_req': ('disks', 'read_requests'),
    'write': ('disks', 'write_bytes'),
    'write_req': ('disks', 'write_requests'),
    'rx': ('nics', 'in_bytes'),
    'rx_packets': ('nics', 'in_packets'),
    'tx': ('nics', 'out_bytes'),
    'tx_packets': ('nics', 'out_packets'),
}


@dataclasses.dataclass(frozen=True, slots=True)
class Reading:
    """:ivar cpus: vcpu -> 'time' -> ns.

    :ivar disks: device -> counter -> value.
    :ivar nics: interface -> counter -> value.
    :ivar ram: total, balloon, used, resident: bytes, as far as known.
    """

    cpus: dict[str, dict[str, int]] = dataclasses.field(default_factory=dict)
    disks: dict[str, dict[str, int]] = dataclasses.field(default_factory=dict)
    nics: dict[str, dict[str, int]] = dataclasses.field(default_factory=dict)
    ram: dict[str, int] = dataclasses.field(default_factory=dict)

    @property
    def empty(self) -> bool:
        return not (self.cpus or self.disks or self.nics or self.ram)


def from_dict(diagnostics: Mapping[str, Any]) -> Reading:
    """Read the dict of libvirt's ``get_diagnostics``.

    That names disks and interfaces, and knows of the balloon; sizes of
    memory are in KiB.
    """
    reading = Reading()
    parts = {'disks': reading.disks, 'nics': reading.nics}
    for key, value in diagnostics.items():
        name, _, last = key.rpartition('_')
        if not name or not isinstance(value, int) or value < 0:
            continue
        if last == 'time' and name.startswith('cpu'):
            reading.cpus[name[3:]] = {'time': value}
            continue
        if last in ('req', 'packets'):
            name, _, first = name.rpartition('_')
            last = f'{first}_{last}'
        if name and last in _SUFFIXES:
            kind, counter = _SUFFIXES[last]
            parts[kind].setdefault(name, {})[counter] = value
    memory = {
        key: diagnostics[key] * _KIB
        for key in (
            'memory',
            'memory-actual',
            'memory-available',
            'memory-unused',
            'memory-rss',
        )
        if isinstance(diagnostics.get(key), int) and diagnostics[key] >= 0
    }
    for ours, libvirt_name in (
        ('total', 'memory'),
        ('balloon', 'memory-actual'),
        ('resident', 'memory-rss'),
    ):
        if libvirt_name in memory:
            reading.ram[ours] = memory[libvirt_name]
    if {'memory-available', 'memory-unused'} <= memory.keys():
        used = memory['memory-available'] - memory['memory-unused']
        reading.ram['used'] = max(0, used)
    return reading


def from_object(diagnostics: Any) -> Reading:
    """Read the object of ``get_instance_diagnostics``.

    Disks have no names there, and interfaces their MAC address. Sizes of
    memory are in MiB.
    """
    return Reading(
        cpus={
            str(number): known
            for number, cpu in enumerate(diagnostics.cpu_details)
            if (known := _known(cpu, time='time'))
        },
        disks={
            str(number): known
            for number, disk in enumerate(diagnostics.disk_details)
            if (
                known := _known(
                    disk,
                    read_bytes='read_bytes',
                    read_requests='read_requests',
                    write_bytes='write_bytes',
                    write_requests='write_requests',
                )
            )
        },
        nics={
            str(nic.mac_address): known
            for nic in diagnostics.nic_details
            if (
                known := _known(
                    nic,
                    in_bytes='rx_octets',
                    in_packets='rx_packets',
                    out_bytes='tx_octets',
                    out_packets='tx_packets',
                )
            )
        },
        ram={
            key: value * _MIB
            for key, value in _known(
                diagnostics.memory_details, total='maximum', used='used'
            ).items()
            # No server has 0 bytes: the driver does not know the value.
            if value
        },
    )


def _known(details: Any, **names: str) -> dict[str, int]:
    """Return our name -> value of the details that are known."""
    return {
        ours: value
        for ours, attribute in names.items()
        if (value := getattr(details, attribute, None)) is not None
        and value >= 0
    }
