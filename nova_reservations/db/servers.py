# SPDX-License-Identifier: Apache-2.0
"""Which servers were created in which reservation of slots.

Every function joins the caller's transaction.
"""

from collections.abc import Collection
import datetime

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations.db import models

SERVER = models.table(models.Server)


def is_recorded(session: orm.Session, server_uuid: str) -> bool:
    return (
        session.scalar(
            sa.select(SERVER.c.server_uuid).where(
                SERVER.c.server_uuid == server_uuid
            )
        )
        is not None
    )


def record(
    session: orm.Session,
    server_uuid: str,
    reservation_id: str,
    now: datetime.datetime,
) -> None:
    session.execute(
        sa.insert(SERVER).values(
            server_uuid=server_uuid,
            reservation_id=reservation_id,
            created_at=now,
        )
    )


def of(
    session: orm.Session, reservation_ids: Collection[str]
) -> dict[str, frozenset[str]]:
    """Return reservation id -> the UUIDs of its servers, of those that have
    had any."""
    found: dict[str, set[str]] = {}
    for row in session.execute(
        sa.select(SERVER.c.reservation_id, SERVER.c.server_uuid).where(
            SERVER.c.reservation_id.in_(reservation_ids)
        )
    ):
        found.setdefault(row.reservation_id, set()).add(row.server_uuid)
    return {key: frozenset(value) for key, value in found.items()}


def forget(session: orm.Session, reservation_ids: Collection[str]) -> None:
    session.execute(
        sa.delete(SERVER).where(SERVER.c.reservation_id.in_(reservation_ids))
    )
