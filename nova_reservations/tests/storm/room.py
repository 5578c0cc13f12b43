# SPDX-License-Identifier: Apache-2.0
"""A slow and obvious answer to the question which hosts are free: who is
refused for lack of room must have been right not to get them."""

import datetime

import sqlalchemy as sa

from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db import models
from nova_reservations.objects import states
from nova_reservations.tests.storm import raw


def free_hosts(
    database: api.Database,
    start: datetime.datetime,
    end: datetime.datetime,
    now: datetime.datetime,
) -> set[str]:
    """Return the hosts of the pool that a lease of this window could have
    without a move of any promise.

    What is past its end, and not given back, is in the way of what begins
    now.
    """
    held: dict[str, list[raw.Held]] = {}
    for one in raw.held(database):
        held.setdefault(one.resource, []).append(one)
    return {
        name
        for name in _leasable(database)
        if not any(
            one.start < end
            and (one.end > start or (one.end <= now and start <= now))
            for one in held.get(name, ())
        )
    }


def _leasable(database: api.Database) -> set[str]:
    row = models.Resource
    with database.reader() as session:
        return set(
            session.scalars(
                sa.select(row.name).where(
                    row.resource_type == objects.HOST,
                    row.role == states.Role.POOL,
                    row.reservable == sa.true(),
                    row.fenced_for.is_(None),
                    row.cordoned_at.is_(None),
                    row.down_since.is_(None),
                    row.hold.is_(None),
                    row.lost.is_(None),
                )
            )
        )
