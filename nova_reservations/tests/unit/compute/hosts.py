# SPDX-License-Identifier: Apache-2.0
"""Hosts and servers for plugins, without Nova."""

from typing import Any

from nova_reservations.compute import resources


def host(**reported: Any) -> resources.Host:
    return resources.Host(
        name='host1',
        reported={'vcpus': 8, 'memory_mb': 16384, 'local_gb': 100, **reported},
        cpu_allocation_ratio=4.0,
        ram_allocation_ratio=1.5,
        driver=None,
    )


def usage(server: str = 'server', **values: Any) -> resources.Usage:
    return resources.Usage(
        **{
            'server': server,
            'project': 'project',
            'flavor': 'small',
            'vcpus': 2,
            'memory_mb': 512,
            'root_gb': 1,
            'ephemeral_gb': 0,
            'swap_mb': 0,
            'extra_specs': {},
            **values,
        }
    )
