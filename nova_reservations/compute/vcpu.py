# SPDX-License-Identifier: Apache-2.0
"""The resource ``vcpu``: virtual CPUs as Nova counts them. To be copied."""

import decimal

from nova_reservations.compute import resources


class Vcpu(resources.Quantity):
    """Virtual CPUs as Nova counts them; what Nova reserves counts as used."""

    def capacity(self, host: resources.Host) -> decimal.Decimal:
        reserved = self.reserved(host)
        ratio = decimal.Decimal(str(host.cpu_allocation_ratio))
        return (host.reported['vcpus'] - reserved) * ratio + reserved

    def reserved(self, host: resources.Host) -> int:
        return int(self.conf.reserved_host_cpus)

    def amount(self, usage: resources.Usage) -> int:
        return usage.vcpus
