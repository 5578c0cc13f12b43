# SPDX-License-Identifier: Apache-2.0
"""The load of a sandbox's servers, as a story sets it in a file of the folder.

It has, for each server by its id, ``cpu_percent`` of its vcpus and
``out_bytes_rate``; a server that it does not have does nothing.
"""

from collections.abc import Mapping
import json
import os
import pathlib

_FILE = 'load.json'

_NANO = 1_000_000_000


def write(directory: pathlib.Path, load: Mapping[str, object]) -> None:
    """Have servers do this from now on."""
    file = directory / f'{_FILE}.new'
    file.write_text(json.dumps(load))
    os.replace(file, directory / _FILE)


def read(directory: pathlib.Path, server: str) -> Mapping[str, float]:
    """Return what a server is to do."""
    try:
        text = (directory / _FILE).read_text()
    except FileNotFoundError:
        return {}
    load: dict[str, dict[str, float]] = json.loads(text)
    return load.get(server, {})


class Machine:
    """A server's counters, which grow by what it does."""

    def __init__(self, vcpus: int, memory_mb: int, now: float) -> None:
        self._vcpus = vcpus
        self._memory_mb = memory_mb
        self._then = now
        self._cpu = 0.0
        self._out = 0.0

    def run(self, load: Mapping[str, float], now: float) -> dict[str, int]:
        """Return its diagnostics, as libvirt tells them.

        :param load: what it has done since the last time
        """
        elapsed, self._then = now - self._then, now
        self._cpu += elapsed * load.get('cpu_percent', 0) / 100 * _NANO
        self._out += elapsed * load.get('out_bytes_rate', 0)
        diagnostics = {
            f'cpu{number}_time': int(self._cpu)
            for number in range(self._vcpus)
        }
        return diagnostics | {
            'memory': self._memory_mb * 1024,
            'vda_read': 0,
            'vda_read_req': 0,
            'vda_write': 0,
            'vda_write_req': 0,
            'tap0_rx': 0,
            'tap0_rx_packets': 0,
            'tap0_tx': int(self._out),
            'tap0_tx_packets': int(self._out / 1500),
        }
