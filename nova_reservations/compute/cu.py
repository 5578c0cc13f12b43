# SPDX-License-Identifier: Apache-2.0
"""The resource ``cu``: compute units, a share of the host's CPU power.

A processor that is twice as fast has twice the units: unlike vcpus, they
mean the same on every host.
"""

import decimal
import functools
import hashlib
import time

from oslo_config import cfg
from oslo_log import log

from nova_reservations.compute import resources
from nova_reservations.tracking import extra_specs

LOG = log.getLogger(__name__)

RESOURCE_CLASS = 'CUSTOM_CU'

UNITS_PER_MB = 100 / 1000
"""A core that hashes 1000 MB in a second has 100 units."""

_NONE = decimal.Decimal(0)
_WHOLE = decimal.Decimal(1)

_BLOCK = bytes(1_000_000)
_BLOCKS = 4
_RUNS = 5


class ComputeUnits(resources.Quantity):
    """Compute units: a share of the host's CPU power.

    A flavor asks for them with ``reservations:cu``; or with
    ``resources:CUSTOM_CU``, where Nova's own claim in placement shall guard
    them, too. Placement knows whole units only.
    """

    resource_classes = frozenset({RESOURCE_CLASS})

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        super().__init__(conf)
        self._configured = decimal.Decimal(
            str(conf.resource_plugins.cu_capacity)
        )
        self._reserved = _NONE

    def capacity(self, host: resources.Host) -> decimal.Decimal:
        if self._configured:
            return self._configured
        return measured_core() * host.reported['vcpus']

    def reserved(self, host: resources.Host) -> decimal.Decimal:
        cpus = host.reported['vcpus']
        reserved = min(self.conf.reserved_host_cpus, cpus)
        return self.capacity(host) * reserved / cpus if reserved else _NONE

    def amount(self, usage: resources.Usage) -> decimal.Decimal:
        return extra_specs.cu(usage.extra_specs)

    def reset(self, host: resources.Host) -> None:
        super().reset(host)
        self._reserved = self.used

    def inventory(self) -> resources.Inventory:
        total = int(self.total)
        if total < 1:
            return resources.Inventory()
        return resources.Inventory(
            {
                RESOURCE_CLASS: {
                    'total': total,
                    'reserved': min(total, _up(self._reserved)),
                    'max_unit': total,
                }
            }
        )


def _up(value: decimal.Decimal) -> int:
    return int(value.to_integral_value(rounding=decimal.ROUND_CEILING))


@functools.cache
def measured_core() -> decimal.Decimal:
    """Return the units of one core of this host.

    The best of several runs counts, by the CPU time of this thread. So other
    load on the host has little influence, and the same host has the same units
    after a restart. An operator who wants to be sure sets cu_capacity in the
    configuration.
    """
    speed = max(_speed() for _ in range(_RUNS))
    units = decimal.Decimal(speed * UNITS_PER_MB).quantize(_WHOLE)
    LOG.info(
        'A core of this host was measured as %d compute units; '
        '[resource_plugins] cu_capacity fixes those of the host',
        units,
    )
    return max(units, _WHOLE)


def _speed() -> float:
    """Return MB of hashes in a second."""
    start = time.thread_time()
    digest = hashlib.blake2b()
    for _ in range(_BLOCKS):
        digest.update(_BLOCK)
    digest.digest()
    return _BLOCKS / max(time.thread_time() - start, 1e-6)
