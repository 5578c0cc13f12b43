# SPDX-License-Identifier: Apache-2.0
"""Cordons: operators keep new leases off a resource of any type, and leases
that were promised it move to other resources."""

from collections.abc import Collection
import dataclasses
import datetime

from oslo_log import log

from nova_reservations.db import api
from nova_reservations.db import tasks
from nova_reservations.db.holdings import cordons as cordon_rows
from nova_reservations.db.holdings import healing as healing_db
from nova_reservations.db.leases import freed_capacity
from nova_reservations.engine import transactions
from nova_reservations.engine.healing import healing
from nova_reservations.objects import states

LOG = log.getLogger(__name__)

AT_ONCE = 100
"""The number of leases that one request moves off a resource; healing moves
the others before they start."""


@dataclasses.dataclass(eq=False)
class Cordons:
    database: api.Database
    healer: healing.Healing

    def set(
        self,
        resource_id: int,
        now: datetime.datetime,
        statuses: Collection[states.Lease],
        empties: bool | None = None,
    ) -> None:
        """Keep new leases off the resource; where possible, give leases in
        these states another resource.

        :param empties: whether servers of leases are to leave it, too; None:
            leave that as it is
        :raises: NotFound, Contended
        """
        self._write(resource_id, now, now, empties)
        with self.database.reader() as session:
            found = cordon_rows.find(session, resource_id)
        ids = dict.fromkeys(
            each.lease_id
            for each in found
            if each.status in statuses and not each.is_leaving
        )
        for lease_id in list(ids)[:AT_ONCE]:
            self.healer.heal_lease(lease_id, now, drained=[resource_id])

    def lift(self, resource_id: int, now: datetime.datetime) -> None:
        """Let new leases have the resource again.

        :raises: NotFound, Contended
        """
        self._write(resource_id, None, now, False)

    def _write(
        self,
        resource_id: int,
        cordoned_at: datetime.datetime | None,
        now: datetime.datetime,
        empties: bool | None,
    ) -> None:
        def write(session: api.Session) -> bool:
            before = cordon_rows.cordoned_at(session, resource_id)
            if empties is not None:
                # In one transaction with the cordon: otherwise a crash in
                # between could leave a host that servers leave while new
                # leases come.
                cordon_rows.set_emptied(
                    session, resource_id, now if empties else None, now
                )
            if (before is None) == (cordoned_at is None):
                return False
            cordon_rows.set_cordoned(session, resource_id, cordoned_at, now)
            if cordoned_at is None:
                freed_capacity.freed(session, now, [resource_id])
                # Healing lets leases that were to leave it keep it.
                tasks.hurry(session, healing_db.HEAL, now)
            return True

        if transactions.write(self.database, write):
            LOG.info(
                'Resource %(id)s is %(what)s',
                {
                    'id': resource_id,
                    'what': 'cordoned'
                    if cordoned_at
                    else 'not cordoned any more',
                },
            )
