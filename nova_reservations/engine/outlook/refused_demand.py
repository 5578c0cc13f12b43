# SPDX-License-Identifier: Apache-2.0
"""Demand that was refused for lack of room: what an operator could sell.

It is written after the refusal, in a transaction of its own. A project can be
refused again and again, so all but the first refusals of a day cost only one
short read.

Decision 0038: doc/source/decisions/0038-demand-is-what-was-refused
"""

import dataclasses
import datetime

from oslo_log import log

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db.record import refused_leases
from nova_reservations.engine import settings
from nova_reservations.objects import refusal as refusals

LOG = log.getLogger(__name__)

MOST = 50
"""The most refused requests of a project that are kept for one day."""

BATCH = 1000
"""The number of refusals that are forgotten in one transaction."""


@dataclasses.dataclass(eq=False)
class RefusedDemand:
    database: api.Database
    options: settings.Settings

    def record(self, lease: objects.Lease, now: datetime.datetime) -> None:
        """Remember that a lease was refused, unless the same request of the
        project is already remembered for today."""
        refusal = refusals.Refusal.of(lease, now)
        if not (refusal.parts and refusal.is_short):
            return
        try:
            with self.database.reader() as session:
                known = refused_leases.digests(
                    session, refusal.project_id, now.date(), MOST
                )
            if len(known) < MOST and refusal.digest not in known:
                with self.database.writer() as session:
                    refused_leases.insert(session, refusal)
        except exception.Conflict:
            # The same request was refused and recorded at the same moment.
            pass
        except exception.DatabaseUnavailable as error:
            # The caller must see the refusal, and not this error.
            LOG.warning('A refusal is not remembered: %s', error)

    def find(self, query: refusals.RefusalQuery) -> list[refusals.Refusal]:
        """Return a page of refusals, the oldest first.

        :raises: InvalidInput if the marker is none of them
        """
        with self.database.reader() as session:
            return refused_leases.find(session, query)

    def forget(self, now: datetime.datetime) -> None:
        """Forget refusals that are older than the options say."""
        before = now - self.options.demand_history
        removed = BATCH
        while removed == BATCH:
            with self.database.writer() as session:
                removed = refused_leases.remove(session, before, BATCH)
