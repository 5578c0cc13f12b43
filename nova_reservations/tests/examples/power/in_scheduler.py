# SPDX-License-Identifier: Apache-2.0
"""Watts that hosts have left, as nova-scheduler reads them."""

import decimal

from nova import objects

from nova_reservations.scheduler.consumers import base
from nova_reservations.tracking import extra_specs


class Power(base.QuantityConsumer):
    def asked(self, flavor: objects.Flavor) -> decimal.Decimal:
        watts = extra_specs.amount(base.extra_specs(flavor), self.name)
        return watts or decimal.Decimal(5 * flavor.vcpus)
