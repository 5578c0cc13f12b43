# SPDX-License-Identifier: Apache-2.0
"""Samples for plugins, made of the present and the former readings; pure."""

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
from typing import Any

from nova_reservations.compute.metrics import driver_stats
from nova_reservations.compute.metrics import rates

DISK_COUNTERS = (
    'read_bytes',
    'read_requests',
    'write_bytes',
    'write_requests',
)
NIC_COUNTERS = ('in_bytes', 'in_packets', 'out_bytes', 'out_packets')
HOST_TIMES = ('kernel', 'user', 'idle', 'iowait')

_NANO = 1_000_000_000
_MIB = 1024 * 1024


@dataclasses.dataclass(frozen=True, slots=True)
class Moment:
    """:ivar at: seconds since the epoch, for people.

    :ivar monotonic: seconds of a clock that nobody sets, for rates.
    """

    at: float
    monotonic: float


class History:
    """Remembers the previous reading of each server, and of the host."""

    def __init__(self) -> None:
        self._before: dict[str, tuple[float, Any]] = {}

    def swap(self, key: str, now: float, reading: Any) -> tuple[float, Any]:
        """Return the seconds since the reading before, and that one.

        At the first look that is the reading itself, and 0 seconds.
        """
        then, before = self._before.get(key, (now, reading))
        self._before[key] = (now, reading)
        return now - then, before

    def keep(self, keys: Iterable[str]) -> None:
        """Forget the readings of all other keys."""
        kept = self._before.keys() & {*keys}
        self._before = {key: self._before[key] for key in kept}


def of_server(
    reading: driver_stats.Reading,
    before: driver_stats.Reading,
    seconds: float,
    vcpus: int,
    at: float,
) -> list[tuple[str, dict[str, Any]]]:
    """Return (method, dict) for the readings of a server."""
    found: list[tuple[str, dict[str, Any]]] = []
    if reading.cpus:
        cpu = rates.counters(reading.cpus, before.cpus, seconds, ('time',))
        busy = cpu['time_rate']
        percent = None
        if busy is not None and vcpus:
            percent = 100 * busy / (_NANO * vcpus)
        found.append(
            (
                'on_cpu',
                {
                    'at': at,
                    'time': cpu['time'],
                    'vcpus': vcpus,
                    'percent': percent,
                },
            )
        )
    if reading.ram:
        found.append(('on_ram', _ram(at, **reading.ram)))
    if reading.disks:
        found.append(
            ('on_volume', of_volumes('disk', reading, before, seconds, at))
        )
    if reading.nics:
        found.append(
            ('on_bandwidth', of_nics(reading.nics, before.nics, seconds, at))
        )
    return found


def of_volumes(
    kind: str,
    reading: driver_stats.Reading,
    before: driver_stats.Reading,
    seconds: float,
    at: float,
) -> dict[str, Any]:
    """:param kind: ``disk`` or ``volume``."""
    return {'at': at, 'kind': kind} | rates.counters(
        reading.disks, before.disks, seconds, DISK_COUNTERS
    )


def of_nics(
    now: rates.Parts, before: rates.Parts, seconds: float, at: float
) -> dict[str, Any]:
    return {'at': at} | rates.counters(now, before, seconds, NIC_COUNTERS)


def of_host_cpu(
    now: Mapping[str, int],
    before: Mapping[str, int],
    seconds: float,
    cpus: int | None,
    at: float,
) -> dict[str, Any]:
    """Return on_cpu's dict of the host.

    :param now: what ``get_host_cpu_stats`` returned, ns since boot
    """
    grown = {
        key: rates.rate(before.get(key), now.get(key), seconds)
        for key in HOST_TIMES
    }
    known = {key: value for key, value in grown.items() if value is not None}
    percent = None
    # A driver need not have all counters, but none that it has may have
    # restarted.
    if {'idle'} <= known.keys() == now.keys() & {*HOST_TIMES}:
        whole = sum(known.values())
        idle = known['idle'] + known.get('iowait', 0)
        percent = 100 * (whole - idle) / whole if whole else None
    return {
        'at': at,
        'time': now.get('kernel', 0) + now.get('user', 0),
        'vcpus': cpus,
        'percent': percent,
        'frequency': now.get('frequency'),
        **{key: now.get(key) for key in HOST_TIMES},
    }


def of_host_ram(reported: Mapping[str, int], at: float) -> dict[str, Any]:
    """Return on_ram's dict of the host, from the report of its hypervisor."""
    return _ram(
        at,
        total=reported['memory_mb'] * _MIB,
        used=reported['memory_mb_used'] * _MIB,
    )


def _ram(
    at: float,
    total: int | None = None,
    balloon: int | None = None,
    used: int | None = None,
    resident: int | None = None,
) -> dict[str, Any]:
    percent = None
    if total and used is not None:
        percent = 100 * used / total
    return {
        'at': at,
        'total': total,
        'balloon': balloon,
        'used': used,
        'resident': resident,
        'percent': percent,
    }
