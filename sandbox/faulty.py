# SPDX-License-Identifier: Apache-2.0
"""A resource plugin that fails and lies, to test that Nova survives it."""

import decimal
from typing import Any

from nova_reservations.compute import resources


class Faulty(resources.Quantity):
    """Fails in each of its methods. Not for use."""

    resource_classes = frozenset({'CUSTOM_FAULTY'})

    def capacity(self, host: resources.Host) -> decimal.Decimal:
        return decimal.Decimal(1)

    def amount(self, usage: resources.Usage) -> decimal.Decimal:
        raise RuntimeError(f'no idea what {usage.flavor} takes')

    def write(self) -> dict[str, Any]:
        return {'total': float('nan'), 'words': 'x' * 100_000}

    def inventory(self) -> resources.Inventory:
        return resources.Inventory({'VCPU': {'total': -1}})
