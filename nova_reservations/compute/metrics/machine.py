# SPDX-License-Identifier: Apache-2.0
"""The counters that the kernel of this host keeps."""

import pathlib

import psutil

_NET = pathlib.Path('/sys/class/net')

_LOOPBACK = 'lo'


def nics() -> dict[str, dict[str, int]]:
    """Return interface -> counter -> value of those with hardware.

    Bridges, bonds, virtual functions and the servers' own interfaces carry the
    same bytes once more. In a container, where no interface has hardware, all
    but the loopback count.
    """
    found = psutil.net_io_counters(pernic=True, nowrap=False)
    real = {
        name
        for name in found
        if _NET.joinpath(name, 'device').exists()
        and not _NET.joinpath(name, 'device', 'physfn').exists()
    } or {name for name in found if name != _LOOPBACK}
    return {
        name: {
            'in_bytes': found[name].bytes_recv,
            'in_packets': found[name].packets_recv,
            'out_bytes': found[name].bytes_sent,
            'out_packets': found[name].packets_sent,
        }
        for name in sorted(real)
    }
