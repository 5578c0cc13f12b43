# SPDX-License-Identifier: Apache-2.0
"""Enforcement of another package: hosts that are scarce are leased for a day
at most, by whomever."""

import datetime

from oslo_config import cfg

from nova_reservations import exception
from nova_reservations.plugins.enforcement import base

OPTS = [
    cfg.StrOpt('property', default='gpu', help='What scarce hosts have.'),
    cfg.IntOpt('hours', default=24, min=1, help='The longest lease.'),
]


class Scarce(base.Enforcement):
    def __init__(self, conf: cfg.ConfigOpts) -> None:
        super().__init__(conf)
        conf.register_opts(OPTS, group='scarce')

    def check_create(self, planned: base.Planned) -> None:
        self._check(planned)

    def check_update(
        self, current: base.Planned, planned: base.Planned
    ) -> None:
        self._check(planned)

    def _check(self, planned: base.Planned) -> None:
        lease, most = planned.lease, self.conf.scarce.hours
        longest = datetime.timedelta(hours=most)
        if lease.end_date - lease.start_date <= longest:
            return
        for hosts in planned.hosts.values():
            if any(
                self.conf.scarce.property in each.properties for each in hosts
            ):
                raise exception.OverLimit(
                    reason=f'hosts with a {self.conf.scarce.property} are '
                    f'leased for {most} hours at most'
                )
