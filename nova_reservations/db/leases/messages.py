# SPDX-License-Identifier: Apache-2.0
"""Messages that are to be sent: a row is deleted when its message is sent, or
is given up.

A worker that sends a message has a claim on it. The claim is the next attempt,
and the time until which no other worker tries.

Every function joins the caller's transaction.

Decision 0060: doc/source/decisions/0060-leases-wait-for-no-message
"""

from collections.abc import Collection
from collections.abc import Sequence
import dataclasses
import datetime
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import objects
from nova_reservations.db import fields
from nova_reservations.db import models
from nova_reservations.db import writes

MESSAGE = models.table(models.Message)
RESERVATION = models.table(models.Reservation)


class Due(NamedTuple):
    """A message that a worker may send.

    :ivar attempt: how often a worker has claimed it.
    """

    id: str
    attempt: int
    destination: str


def write(
    session: orm.Session,
    messages: Sequence[objects.Message],
    now: datetime.datetime,
) -> None:
    """Let messages be sent from now on, in place of those with their ids."""
    for message in messages:
        session.execute(sa.delete(MESSAGE).where(MESSAGE.c.id == message.id))
    rows = [
        {**dataclasses.asdict(message), 'due_at': now, 'attempt': 0}
        for message in messages
    ]
    writes.insert(session, MESSAGE, rows)


def find(
    session: orm.Session,
    now: datetime.datetime,
    limit: int,
    without: Collection[str] = (),
) -> list[Due]:
    """Return the messages that are due, the longest due first.

    :param without: destinations that are not looked for
    """
    statement = (
        sa.select(MESSAGE.c.id, MESSAGE.c.attempt, MESSAGE.c.destination)
        .where(MESSAGE.c.due_at <= now)
        .order_by(MESSAGE.c.due_at, MESSAGE.c.id)
        .limit(limit)
    )
    if without:
        statement = statement.where(MESSAGE.c.destination.not_in(without))
    return [Due(*row) for row in session.execute(statement)]


def claim(session: orm.Session, due: Due, until: datetime.datetime) -> bool:
    """Give a due message to the caller; False if another worker was first.

    :param until: when the claim expires, unless it is renewed
    """
    claimed = _claimed(due.id, due.attempt)
    return writes.changed(
        session, MESSAGE, *claimed, attempt=due.attempt + 1, due_at=until
    )


def put_off(
    session: orm.Session,
    message_id: str,
    attempt: int,
    until: datetime.datetime,
    reason: str | None = None,
) -> bool:
    """Renew a claim, or give the message back until a time; False if the claim
    is lost.

    :param reason: why it was not sent; None: as before
    """
    reasons = {} if reason is None else {'reason': reason}
    claimed = _claimed(message_id, attempt)
    return writes.changed(session, MESSAGE, *claimed, due_at=until, **reasons)


def remove(session: orm.Session, message_id: str, attempt: int) -> bool:
    """Delete a message that is sent, or is not to be sent; False if the claim
    on it is lost."""
    claimed = _claimed(message_id, attempt)
    return writes.count(session, sa.delete(MESSAGE).where(*claimed)) == 1


def get(
    session: orm.Session, message_id: str, attempt: int
) -> tuple[objects.Message, str | None] | None:
    """Return a claimed message, and why it could not be sent before; None if
    the claim on it is lost."""
    row = session.execute(
        sa.select(MESSAGE).where(*_claimed(message_id, attempt))
    ).first()
    if row is None:
        return None
    message = objects.Message(**fields.of(row, objects.Message))
    return message, row.reason


def set_untold(
    session: orm.Session,
    reservation_ids: Collection[str],
    reason: str | None,
    now: datetime.datetime,
) -> None:
    """Write why the owners of reservations were not told of an event; None:
    they were, or will be."""
    session.execute(
        sa.update(RESERVATION)
        .where(RESERVATION.c.id.in_(sorted(reservation_ids)))
        .values(untold_reason=reason, updated_at=now)
    )


def _claimed(
    message_id: str, attempt: int
) -> tuple[sa.ColumnElement[bool], ...]:
    return MESSAGE.c.id == message_id, MESSAGE.c.attempt == attempt
