# SPDX-License-Identifier: Apache-2.0
"""The shipped consumers of what is counted; each has the name and the rules
of its plugin in nova-compute."""

# Nova's objects get their names only when the process registers them.
from __future__ import annotations

from nova import objects

from nova_reservations.scheduler.consumers import base


class ComputeUnits(base.QuantityConsumer):
    """``cu``: the extra spec ``reservations:cu`` alone counts."""


class Vcpu(base.QuantityConsumer):
    def asked(self, flavor: objects.Flavor) -> int:
        return int(flavor.vcpus)


class Memory(base.QuantityConsumer):
    """In MiB."""

    def asked(self, flavor: objects.Flavor) -> int:
        return int(flavor.memory_mb)
