# SPDX-License-Identifier: Apache-2.0
"""Moves servers of leases off hosts that an operator drains.

Nova's own records tell which moves were begun, so that any worker can go on. A
move that has failed is recorded, and tried again only if the operator asks
again.

Decision 0051: doc/source/decisions/0051-drained-hosts-lose-their-servers
"""

from collections.abc import Collection
import dataclasses
import datetime

from oslo_log import log

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db.holdings import allocations
from nova_reservations.db.holdings import cordons as cordon_rows
from nova_reservations.db.leases import leases
from nova_reservations.objects import states
from nova_reservations.plugins.event_actions import offered
from nova_reservations.types import base

LOG = log.getLogger(__name__)

NO_CREDENTIALS = 'no server can be moved without credentials in [service_user]'


def emptied(
    holdings: Collection[objects.Holding],
) -> dict[int, datetime.datetime]:
    """Return resource id -> when an operator asked to empty it, of resources
    that were replaced and that the reservation's servers are to leave."""
    return {
        holding.resource.id: holding.emptied_at
        for holding in holdings
        if holding.replaced and holding.emptied_at is not None
    }


def move_servers(
    database: api.Database,
    kind: base.ResourceType,
    booking: base.Booking,
    holdings: Collection[objects.Holding],
) -> None:
    """Ask Nova to move the servers that are to leave, and record for each
    resource why servers stay there.

    :raises: CloudUnavailable
    """
    if not booking.emptied or not isinstance(kind, offered.WithServers):
        return

    def check() -> None:
        with database.reader() as session:
            lease = leases.get(session, booking.lease.id)
            ids = [booking.reservation.id]
            held = allocations.holdings(session, ids)[booking.reservation.id]
        if (
            lease.status != states.Lease.ACTIVE
            or emptied(held) != booking.emptied
        ):
            raise exception.Conflict(kind='Lease', id=lease.id)

    try:
        stay = kind.move_servers(dataclasses.replace(booking, check=check))
    except (exception.Conflict, exception.NotFound):
        LOG.info(
            'Lease %s has changed: no server of it is moved', booking.lease.id
        )
        return
    except exception.CloudRefused:
        stay = dict.fromkeys(booking.emptied, NO_CREDENTIALS)
    known = {
        holding.resource.id: holding.stays_because for holding in holdings
    }
    for resource_id in booking.emptied:
        because = stay.get(resource_id)
        if because == known[resource_id]:
            continue
        with database.writer() as session:
            cordon_rows.set_stays(
                session, booking.reservation.id, resource_id, because
            )
        if because is not None:
            LOG.warning(
                'Servers of lease %(lease)s stay on resource %(id)s, which is '
                'drained: %(reason)s',
                {
                    'lease': booking.lease.id,
                    'id': resource_id,
                    'reason': because,
                },
            )
