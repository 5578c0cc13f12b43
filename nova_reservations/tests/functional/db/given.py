# SPDX-License-Identifier: Apache-2.0
"""Writes that give resources to reservations, or end their use."""

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations.db import models
from nova_reservations.db.holdings import healing
from nova_reservations.db.holdings import leaving
from nova_reservations.tests import booking
from nova_reservations.tests.functional.db import listed

lease_id = listed.lease_id

MANY = range(1000, 1300)
"""More leases than fit on a page."""

NOW = booking.NOW
LATER = booking.at(1000)


def held_by(session: orm.Session, number: int) -> list[int]:
    allocation = models.table(models.Allocation)
    return list(
        session.scalars(
            sa.select(allocation.c.resource_id).where(
                allocation.c.reservation_id == lease_id(number)
            )
        )
    )


def take_back(session: orm.Session) -> None:
    """Free the resources that were replaced in reservations."""
    replaced = [lease_id(number) for number in MANY[:10]]
    for number in MANY[:10]:
        healing.replace(
            session, lease_id(number), held_by(session, number), NOW
        )
    healing.vacate(session, replaced, NOW)


def give_back_early(session: orm.Session) -> None:
    held = held_by(session, 7)
    leaving.mark(session, lease_id(7), held, NOW)
    leaving.set_awaited(session, lease_id(7), held, ['server'])
    leaving.keep(session, lease_id(7), held)
    leaving.release(session, lease_id(7), held, NOW)


def vacate_at_the_end(session: orm.Session) -> None:
    for number in MANY[10:12]:
        held = held_by(session, number)
        if number % 2:
            healing.replace(session, lease_id(number), held, NOW)
        leaving.vacate(session, lease_id(number), held, NOW)


def give_slots_back(session: orm.Session) -> None:
    for left in 1, 0:
        slots = dict.fromkeys(held_by(session, 6), left)
        leaving.lower(session, lease_id(6), slots, {'VCPU': 1}, NOW)


def give_other_shares(session: orm.Session) -> None:
    slots = dict.fromkeys(held_by(session, 6), 2)
    healing.give(
        session,
        lease_id(6),
        slots,
        {'VCPU': 1},
        booking.window(1, 2),
        NOW,
        told=True,
    )


def give_again(session: orm.Session) -> None:
    """Give resources back that were replaced."""
    held = dict.fromkeys(held_by(session, 7), 1)
    window = booking.window(1, 2)
    healing.replace(session, lease_id(7), held, NOW)
    healing.give(session, lease_id(7), held, None, window, LATER, told=True)
