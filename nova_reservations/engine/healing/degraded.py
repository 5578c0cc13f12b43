# SPDX-License-Identifier: Apache-2.0
"""Leases that lack resources, or have others than at first: how they are
marked when they are healed.
"""

import dataclasses

from oslo_log import log

from nova_reservations import objects
from nova_reservations.db.holdings import allocations
from nova_reservations.db.holdings import healing
from nova_reservations.db.leases import leases
from nova_reservations.db.record import usage
from nova_reservations.engine import steps
from nova_reservations.engine.healing import repair

LOG = log.getLogger(__name__)


def record(repair: repair.Repair, moved: bool) -> bool:
    """Write the flags, and make a worker tell Nova if anything was moved;
    return False if nothing has changed."""
    session, seen, now = repair.session, repair.lease, repair.now
    after = repair.lacking()
    held = allocations.holdings(session, list(after))
    degraded = changed = False
    recorded = usage.settle(session, [seen], now)
    for reservation in seen.reservations:
        lost = after.get(reservation.id, [])
        given = any(
            holding.given and holding.stays
            for holding in held.get(reservation.id, ())
        )
        degraded |= bool(lost) or given
        flags = healing.Flags(
            bool(lost), given, _reason(repair, reservation.id, lost)
        )
        if flags != healing.Flags.of(reservation):
            changed = True
            healing.set_flags(session, reservation.id, flags, now)
            _log(reservation.id, flags)
    if not (changed or moved or recorded or degraded != seen.degraded):
        return False
    lease = dataclasses.replace(seen, prepared=seen.prepared and not moved)
    leases.change(
        session,
        seen,
        now,
        degraded=degraded,
        prepared=lease.prepared,
        due_at=steps.due_after_change(lease, now, repair.options),
    )
    return True


def by_name(repair: repair.Repair) -> str | None:
    """Return which resources the lease lacks that were asked for by name."""
    reasons = [
        reason
        for reservation_id, lost in repair.lacking().items()
        if (reason := _reason(repair, reservation_id, lost)) is not None
    ]
    return '; '.join(reasons) or None


def _reason(
    repair: repair.Repair,
    reservation_id: str,
    lost: list[objects.Holding],
) -> str | None:
    demand = repair.demanded.get(reservation_id)
    if demand is None:
        return None
    names = sorted({holding.resource.name for holding in lost} & demand.named)
    if not names:
        return None
    return (
        f'{", ".join(names)} can not be used at this moment: asked for by '
        'name, so that no other is given instead'
    )


def _log(reservation_id: str, flags: healing.Flags) -> None:
    LOG.info(
        'Reservation %(id)s %(missing)s, and %(changed)s',
        {
            'id': reservation_id,
            'missing': 'lacks resources' if flags.missing else 'is whole',
            'changed': 'has others than at first'
            if flags.changed
            else 'has those that it had at first',
        },
    )
