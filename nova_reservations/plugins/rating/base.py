# SPDX-License-Identifier: Apache-2.0
"""Base class of ratings, which compute the cost of a lease's usage.

Entry points of ``nova_reservations.rating`` are classes of this kind.
"""

import abc
import decimal

from oslo_config import cfg

from nova_reservations.objects import usage_reports

LeaseUsage = usage_reports.LeaseUsage

HOUR = decimal.Decimal(3600)
"""Seconds in an hour; usage is in unit-seconds."""


class Rating(abc.ABC):
    """Rates leases.

    A rating keeps no state: each process has its own, and any thread calls it,
    for each lease of each report. So the same usage must always cost the
    same.

    :ivar unit: the unit of its amounts, such as EUR or credits.
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self.conf = conf
        self.unit: str = conf.reservations.rating_unit

    @abc.abstractmethod
    def rate(self, usage: LeaseUsage) -> decimal.Decimal:
        """Return the cost of a lease for its usage in a window.

        :returns: the exact amount; the caller rounds it to ``rating_digits``,
            half up
        """
