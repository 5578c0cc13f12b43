# SPDX-License-Identifier: Apache-2.0
"""Every number that plugins are given, with its unit: a table."""

from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True, slots=True)
class Measure:
    """:ivar kind: the method by which it is given, without ``on_``.

    :ivar unit: '' is a number of things.
    :ivar counter: whether it only grows, until its subject starts anew.
    """

    kind: str
    key: str
    unit: str
    counter: bool
    text: str

    @property
    def name(self) -> str:
        return f'{self.kind}.{self.key}'


def _counted(kind: str, key: str, unit: str, text: str) -> tuple[Measure, ...]:
    """Return a counter and its rate."""
    return (
        Measure(kind, key, unit, True, text),
        Measure(
            kind, f'{key}_rate', f'{unit}/s', False, f'{text}, per second'
        ),
    )


MEASURES = (
    Measure('cpu', 'time', 'ns', True, 'CPU time used'),
    Measure('cpu', 'percent', '%', False, 'CPU in use, of all vcpus'),
    Measure('cpu', 'vcpus', '', False, 'vcpus; CPUs of the host'),
    Measure('ram', 'total', 'B', False, 'memory, at most'),
    Measure('ram', 'balloon', 'B', False, 'memory, at the moment'),
    Measure('ram', 'used', 'B', False, 'memory in use, as the guest tells'),
    Measure('ram', 'resident', 'B', False, "the host's memory occupied"),
    Measure('ram', 'percent', '%', False, 'memory in use, of total'),
    *_counted('volume', 'read_bytes', 'B', 'read from disks'),
    *_counted('volume', 'write_bytes', 'B', 'written to disks'),
    *_counted('volume', 'read_requests', '', 'reads from disks'),
    *_counted('volume', 'write_requests', '', 'writes to disks'),
    *_counted('bandwidth', 'in_bytes', 'B', 'received by interfaces'),
    *_counted('bandwidth', 'out_bytes', 'B', 'sent by interfaces'),
    *_counted('bandwidth', 'in_packets', '', 'packets received'),
    *_counted('bandwidth', 'out_packets', '', 'packets sent'),
)

BY_NAME = {measure.name: measure for measure in MEASURES}

BY_KIND = {
    kind: tuple(measure for measure in MEASURES if measure.kind == kind)
    for kind in dict.fromkeys(measure.kind for measure in MEASURES)
}


def numbers(
    kind: str, measured: Mapping[str, Any]
) -> Iterator[tuple[Measure, float]]:
    """Yield the known measures of a dict that was given by ``on_`` + kind.

    Volumes that Nova polls are left out: their disks are counted already.
    """
    if measured.get('kind') == 'volume':
        return
    for measure in BY_KIND[kind]:
        value = measured.get(measure.key)
        if value is not None:
            yield measure, value
