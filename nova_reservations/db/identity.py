# SPDX-License-Identifier: Apache-2.0
"""The name of this database, which the aggregates of its leases bear.

Every function joins the caller's transaction.
"""

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations.db import models

IDENTITY = models.table(models.Identity)

_ONLY = 1


def find(session: orm.Session) -> str | None:
    return session.scalar(
        sa.select(IDENTITY.c.uuid).where(IDENTITY.c.id == _ONLY)
    )


def give(session: orm.Session, uuid: str) -> None:
    """:raises: Conflict if it has one"""
    session.execute(sa.insert(IDENTITY).values(id=_ONLY, uuid=uuid))
