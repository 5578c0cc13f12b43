# SPDX-License-Identifier: Apache-2.0
"""The shipped consumers of counted resources; each has the name and the rules
of its plugin in nova-compute."""

# Nova's objects get their names only when the process registers them.
from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import decimal
from typing import Any
from typing import NamedTuple

from nova import objects

from nova_reservations.scheduler.consumers import base
from nova_reservations.tracking import extra_specs


class ComputeUnits(base.QuantityConsumer):
    """Compute units, by ``reservations:cu``, or ``resources:CUSTOM_CU`` where
    placement guards them."""

    def asked(self, flavor: objects.Flavor) -> decimal.Decimal:
        return extra_specs.cu(base.extra_specs(flavor))


class Vcpu(base.QuantityConsumer):
    """Virtual CPUs, as the flavor has them for Nova."""

    def asked(self, flavor: objects.Flavor) -> int:
        return int(flavor.vcpus)


class Memory(base.QuantityConsumer):
    """Memory, as the flavor has it for Nova, in MiB."""

    def asked(self, flavor: objects.Flavor) -> int:
        return int(flavor.memory_mb)


class Cache(base.QuantityConsumer):
    """KiB of the last level of cache, by ``reservations:cache``."""


class MemoryBandwidth(base.QuantityConsumer):
    """Bandwidth to memory, by ``reservations:memory_bandwidth``, in the units
    of the host's ``schemata``."""


class Ways(NamedTuple):
    """Mbit/s in each direction."""

    inbound: decimal.Decimal
    outbound: decimal.Decimal


@dataclasses.dataclass(frozen=True, slots=True)
class Links:
    """:ivar total: Mbit/s in each direction."""

    total: decimal.Decimal
    used: Ways

    @property
    def free(self) -> decimal.Decimal:
        """The free bandwidth of the direction that has less."""
        return self.total - max(self.used)

    def less(self, amount: Ways) -> Links:
        return Links(
            self.total,
            Ways(
                self.used.inbound + amount.inbound,
                self.used.outbound + amount.outbound,
            ),
        )


class Bandwidth(base.QuantityConsumer):
    """Mbit/s, each direction by itself: ``reservations:bandwidth`` in both, or
    what ``quota:vif_inbound_average`` and ``quota:vif_outbound_average`` limit
    an interface to."""

    def asked(self, flavor: objects.Flavor) -> Ways | None:
        ways = Ways(*extra_specs.bandwidth(base.extra_specs(flavor)))
        return ways if any(ways) else None

    def quantity(self, figures: Mapping[str, Any]) -> Links:
        return Links(
            self.number(figures, 'total'),
            Ways(
                self.number(figures, 'inbound'),
                self.number(figures, 'outbound'),
            ),
        )

    def lacking(self, quantity: Links, amount: Ways) -> str | None:
        for name, wanted, used in zip(
            ('in', 'out'), amount, quantity.used, strict=True
        ):
            free = quantity.total - used
            if wanted and wanted > free:
                return (
                    f'{wanted} Mbit/s {name} asked, {free} of '
                    f'{quantity.total} free'
                )
        return None
