# SPDX-License-Identifier: Apache-2.0
"""The resource ``memory``: memory as Nova counts it. To be copied."""

import decimal

from nova_reservations.compute import resources


class Memory(resources.Quantity):
    """Memory as Nova counts it, in MiB; what Nova reserves counts as used."""

    def capacity(self, host: resources.Host) -> decimal.Decimal:
        reserved = self.reserved(host)
        ratio = decimal.Decimal(str(host.ram_allocation_ratio))
        return (host.reported['memory_mb'] - reserved) * ratio + reserved

    def reserved(self, host: resources.Host) -> int:
        return int(self.conf.reserved_host_memory_mb)

    def amount(self, usage: resources.Usage) -> int:
        return usage.memory_mb
