# SPDX-License-Identifier: Apache-2.0
"""Repeated requests to create a lease.

Decision 0036: doc/source/decisions/0036-a-create-may-be-repeated
"""

import datetime

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db.leases import idempotency
from nova_reservations.db.leases import leases

TASK = 'forget'

KEPT = datetime.timedelta(days=1)
"""The least time for which a key is remembered."""

BATCH = 1000
"""The number of keys that are forgotten in one transaction."""

MOST = 10_000
"""The most keys of a project that are remembered; their leases may be deleted
long since, so no limit of leases bounds them."""


def made(
    database: api.Database, key: objects.IdempotencyKey
) -> objects.Lease | None:
    """Return the lease, as it is now, that a request with this key has
    made; None if there was none.

    :raises: KeyReused, InvalidState
    """
    # Another node of the database cluster may have served the first
    # request.
    with database.causal_reader() as session:
        found = idempotency.made(session, key)
        if found is None:
            _check_room(session, key.project_id)
            return None
        if found.body != key.body:
            raise exception.KeyReused
        try:
            return leases.get(session, found.lease_id)
        except exception.NotFound:
            raise exception.InvalidState(
                kind='Lease',
                id=found.lease_id,
                status='deleted',
                reason='it was made by a request with this '
                'Idempotency-Key; send another key for a new lease',
            ) from None


def forget(database: api.Database, now: datetime.datetime) -> None:
    """Forget the keys that are older than a day."""
    removed = BATCH
    while removed == BATCH:
        with database.writer() as session:
            removed = idempotency.remove(session, now - KEPT, BATCH)


def _check_room(session: api.Session, project_id: str) -> None:
    """:raises: InvalidState"""
    if idempotency.count(session, project_id, MOST) == MOST:
        raise exception.InvalidState(
            f'The project has used {MOST} Idempotency-Keys within a day: '
            'send none, or wait until old ones are forgotten'
        )
