# SPDX-License-Identifier: Apache-2.0
"""Ratings that come with the package: by lease, by reserved resources, by
used resources."""

from collections.abc import Mapping
import decimal

from oslo_config import cfg

from nova_reservations.plugins.rating import base


class Flat(base.Rating):
    """Each lease has the same price, whatever it reserves.

    The price is due once, in the window in which the lease began.
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        super().__init__(conf)
        self.price = decimal.Decimal(conf.reservations.rating_flat_price)

    def rate(self, usage: base.LeaseUsage) -> decimal.Decimal:
        return self.price if usage.begins else decimal.Decimal(0)


class _ByClass(base.Rating):
    """:ivar prices: resource class -> price of a unit for an hour."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        super().__init__(conf)
        self.prices: Mapping[str, decimal.Decimal] = {
            name: decimal.Decimal(price)
            for name, _, price in (
                text.rpartition('=')
                for text in conf.reservations.rating_prices
            )
        }

    def cost(self, units: Mapping[str, int]) -> decimal.Decimal:
        """:param units: resource class -> unit-seconds"""
        total = sum(
            (
                units.get(name, 0) * price
                for name, price in self.prices.items()
            ),
            decimal.Decimal(0),
        )
        return total / base.HOUR


class Reserved(_ByClass):
    """A lease costs the resources that it held, whether used or not."""

    def rate(self, usage: base.LeaseUsage) -> decimal.Decimal:
        cost = self.cost(usage.reserved)
        if not self.conf.reservations.rating_degraded:
            cost -= self.cost(usage.degraded)
        return cost


class Used(_ByClass):
    """A lease costs the resources that its servers used, by their flavors."""

    def rate(self, usage: base.LeaseUsage) -> decimal.Decimal:
        return self.cost(usage.used)
