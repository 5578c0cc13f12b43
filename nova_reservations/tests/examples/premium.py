# SPDX-License-Identifier: Apache-2.0
"""Rating of another package: what was reserved and not used costs more."""

import decimal

from oslo_config import cfg

from nova_reservations.plugins.rating import base

OPTS = [
    cfg.StrOpt('vcpu_hour', default='0.02', help='The price if it is used.'),
    cfg.StrOpt('idle', default='0.01', help='What it costs more if not.'),
]


class Premium(base.Rating):
    def __init__(self, conf: cfg.ConfigOpts) -> None:
        super().__init__(conf)
        conf.register_opts(OPTS, group='premium')
        self.price = decimal.Decimal(conf.premium.vcpu_hour)
        self.idle = decimal.Decimal(conf.premium.idle)

    def rate(self, usage: base.LeaseUsage) -> decimal.Decimal:
        reserved = usage.reserved.get('VCPU', 0)
        idle = max(reserved - usage.used.get('VCPU', 0), 0)
        return (reserved * self.price + idle * self.idle) / base.HOUR
