# SPDX-License-Identifier: Apache-2.0
"""Watts that a host may draw, as nova-compute counts them."""

import decimal

from oslo_config import cfg

from nova_reservations.compute import resources
from nova_reservations.tracking import extra_specs


class Power(resources.Quantity):
    def __init__(self, conf: cfg.ConfigOpts) -> None:
        super().__init__(conf)
        conf.register_opt(cfg.IntOpt('limit', default=0), group='power')

    def capacity(self, host: resources.Host) -> int:
        if not self.conf.power.limit:
            raise resources.Unavailable('[power] limit is not set')
        return self.conf.power.limit

    def amount(self, usage: resources.Usage) -> decimal.Decimal:
        # What the flavor does not name is drawn all the same: 5 W by CPU.
        watts = extra_specs.amount(usage.extra_specs, 'power')
        return watts or decimal.Decimal(5 * usage.vcpus)
