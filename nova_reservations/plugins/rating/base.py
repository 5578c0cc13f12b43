# SPDX-License-Identifier: Apache-2.0
"""Base class of what puts an amount to the usage of a lease.

Entry points of ``nova_reservations.rating`` are classes of this kind.
"""

import abc
import decimal

from oslo_config import cfg

from nova_reservations.objects import usage_reports

LeaseUsage = usage_reports.LeaseUsage

HOUR = decimal.Decimal(3600)
"""Seconds; usage is in unit-seconds."""


class Rating(abc.ABC):
    """Rates leases.

    It keeps no state: it is made in each process, and called in any thread,
    for each lease of each report. So the same usage must cost the same
    whenever it is asked.

    :ivar unit: of its amounts, such as EUR or credits.
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self.conf = conf
        self.unit: str = conf.reservations.rating_unit

    @abc.abstractmethod
    def rate(self, usage: LeaseUsage) -> decimal.Decimal:
        """Return what a lease costs for its usage in a window.

        :returns: the exact amount: it is rounded to ``rating_digits``
            afterwards, half up
        """
