# SPDX-License-Identifier: Apache-2.0
"""The windows of allocations: from when until when a reservation has a
resource.

What is over is not written again. If a reservation gets a resource a second
time, it gets a second allocation of it.

Every function joins the caller's transaction.

Decision 0061: doc/source/decisions/0061-what-is-shown-is-what-was
"""

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations.db import models
from nova_reservations.db import pages
from nova_reservations.db.holdings import allocations
from nova_reservations.db.holdings import held_rows
from nova_reservations.objects import interval

ALLOCATION = models.table(models.Allocation)

_DIFFERENCE = datetime.timedelta(minutes=1)
"""The longest time by which two processes may differ in what now is."""


def move(
    session: orm.Session,
    reservation_id: str,
    window: interval.Interval,
    now: datetime.datetime,
) -> None:
    """Change the window of what the reservation has: it may begin later, and
    end at any time from now on. What is past its end, and not released, stays
    so: others may have been promised the time since then."""
    start, end = ALLOCATION.c.start_date, ALLOCATION.c.end_date
    first, last = _date(window.start), _date(window.end)
    over = ended(now) if window.end < now else last
    session.execute(
        sa.update(ALLOCATION)
        .where(
            ALLOCATION.c.reservation_id == reservation_id,
            *held_rows.has(ALLOCATION.c),
        )
        # MySQL computes a value with those that are set before it.
        .ordered_values(
            (
                end,
                sa.case(
                    (start < now, over),
                    (start > last, start),
                    else_=last,
                ),
            ),
            (start, sa.case((start < first, first), else_=start)),
        )
    )


def ended(now: datetime.datetime) -> sa.ColumnElement[Any]:
    """Return when a use ends that is ended now: it may be over already. One
    that begins in this second lasts no time."""
    start, end = ALLOCATION.c.start_date, ALLOCATION.c.end_date
    return sa.case((end < now, end), (start < now, _date(now)), else_=start)


def release(
    session: orm.Session,
    reservation_ids: Collection[str],
    now: datetime.datetime,
) -> None:
    """Release the resources of the reservations; the rows stay."""
    ids = session.scalars(
        sa.select(ALLOCATION.c.id).where(
            ALLOCATION.c.reservation_id.in_(reservation_ids),
            ALLOCATION.c.released == sa.false(),
        )
    )
    pages.update(
        session, ALLOCATION.c.id, ids, released=True, end_date=ended(now)
    )


def give(
    session: orm.Session,
    reservation_id: str,
    slots: Mapping[int, int],
    amounts: Mapping[str, int] | None,
    window: interval.Interval,
    now: datetime.datetime,
) -> None:
    """Give the reservation resources until the end of the window: what it has
    goes on, and what is new begins now, or at the start of the window.

    :param slots: resource id -> how many slots the reservation has there
        afterwards
    :param amounts: what each slot holds; None: a slot is the whole resource
    """
    window = from_now(session, window, slots, now, whole=amounts is None)
    known = session.execute(
        sa.select(ALLOCATION).where(
            ALLOCATION.c.reservation_id == reservation_id,
            ALLOCATION.c.resource_id.in_(slots),
        )
    ).all()
    goes_on = {
        row.resource_id: row.id
        for row in known
        if not row.released and row.replaced_at is None
    }
    former = [row for row in known if row.id not in goes_on.values()]
    _come_back(session, former, window, now)
    pages.update(
        session,
        ALLOCATION.c.id,
        goes_on.values(),
        end_date=window.end,
        leaving_at=None,
        awaited=None,
    )
    if amounts is not None:
        allocations.forget_amounts(
            session, ALLOCATION.c.id.in_(goes_on.values())
        )
    new = {key: count for key, count in slots.items() if key not in goes_on}
    allocations.insert(session, reservation_id, new, amounts, window)
    if amounts is not None:
        allocations.insert_amounts(
            session,
            reservation_id,
            {goes_on[key]: slots[key] for key in goes_on},
            amounts,
        )


def from_now(
    session: orm.Session,
    window: interval.Interval,
    resource_ids: Collection[int],
    now: datetime.datetime,
    *,
    whole: bool,
) -> interval.Interval:
    """Return the rest of a window, for resources that are given now.

    Other processes may have released some of them since this one has read its
    clock, and their clocks may differ: the window begins when these uses are
    over.

    :param whole: whether the resources are given as a whole
    """
    if now < window.start:
        return window
    start = max(window.start, now)
    statement = sa.select(sa.func.max(ALLOCATION.c.end_date)).where(
        ALLOCATION.c.resource_id.in_(resource_ids),
        ALLOCATION.c.released == sa.true(),
        ALLOCATION.c.end_date > start,
        ALLOCATION.c.end_date < start + _DIFFERENCE,
    )
    if not whole:
        statement = statement.where(ALLOCATION.c.exclusive == sa.true())
    start = max(start, session.scalar(statement) or start)
    if start >= window.end:
        return window
    return dataclasses.replace(window, start=start)


def _come_back(
    session: orm.Session,
    former: Collection[sa.Row[Any]],
    window: interval.Interval,
    now: datetime.datetime,
) -> None:
    """Forget that the reservation has yet to leave resources that it gets
    again, or could return to them."""
    start = window.start.replace(microsecond=0)
    # They have lasted no time.
    again = [row.id for row in former if row.start_date == start]
    if again:
        allocations.forget(session, ALLOCATION.c.id.in_(again))
    left = [
        row.id
        for row in former
        if row.replaced_at is not None and row.id not in again
    ]
    given_at = sa.func.coalesce(ALLOCATION.c.given_at, _date(now))
    pages.update(
        session, ALLOCATION.c.id, left, released=True, given_at=given_at
    )


def _date(value: datetime.datetime) -> sa.ColumnElement[Any]:
    return sa.literal(value, ALLOCATION.c.start_date.type)
