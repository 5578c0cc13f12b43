# SPDX-License-Identifier: Apache-2.0
"""The load of a sandbox's servers, which a story writes to a file.

The file has id of a server -> ``cpu_percent`` of its vcpus and
``out_bytes_rate``. A server that is not in the file has no load.
"""

from collections.abc import Mapping
import json
import os
import pathlib

_FILE = 'load.json'

_NANO = 1_000_000_000


def write(directory: pathlib.Path, load: Mapping[str, object]) -> None:
    """Set the load of all servers from now on."""
    file = directory / f'{_FILE}.new'
    file.write_text(json.dumps(load))
    os.replace(file, directory / _FILE)


def read(directory: pathlib.Path, server: str) -> Mapping[str, float]:
    """Return the load of a server."""
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
        """Return the server's diagnostics, in libvirt's format.

        :param load: the load since the last call
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
