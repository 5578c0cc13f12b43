# SPDX-License-Identifier: Apache-2.0
"""The time that a new lease takes if promises to others have to be moved."""

from collections.abc import Iterator
import contextlib
import datetime
import statistics
import time
from typing import Any
import uuid

import sqlalchemy as sa

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import models
from nova_reservations.db.resources import hosts
from nova_reservations.engine import assembly
from nova_reservations.engine.booking import lease_requests
from sandbox.bench import alone
from sandbox.bench import subject as su
from sandbox.bench.report import Figure
from sandbox.bench.report import Row

HOSTS = 1000
DAYS = 10
"""Each host is promised for half of each of these days, and neighbouring hosts
for different hours, so that no host is free for a whole day."""

_AGAIN = 5
_LIMIT = 0.5
_HOUR = datetime.timedelta(hours=1)
_DAY = datetime.timedelta(days=1)


def replan(subject: su.Subject) -> Row:
    """One lease among 1,000 hosts and 10,000 promises, which have to move."""
    with alone.services(subject, 'replan') as services:
        return Row(measure(Promised(services)))


def measure(promised: 'Promised') -> list[Figure]:
    among = f'of {HOSTS:,} hosts with {HOSTS * DAYS:,} promises'
    one = promised.create(minimum=1)
    ten = promised.create(minimum=10)
    hopeless = promised.create(minimum=HOSTS - 1)
    fits = promised.create(minimum=1, after=2 * DAYS)
    return [
        Figure(f'one {among}: promises move', one, 's', limit=_LIMIT),
        Figure(f'ten {among}: promises move', ten, 's'),
        Figure(f'{among}, more than there are: refused', hopeless, 's'),
        Figure(f'one {among}: it fits', fits, 's'),
    ]


class Promised:
    """Hosts with promises as described at DAYS."""

    def __init__(self, services: assembly.Services) -> None:
        self.services = services
        self.now = services.database.now()
        with services.database.writer() as session:
            self.hosts = [
                hosts.insert(
                    session, alone.facts(f'host-{number}'), {}, self.now
                )
                for number in range(HOSTS)
            ]
            for host_id in self.hosts:
                hosts.set_reservable(session, host_id, True, self.now)
        lease = self._lease(1, 3 * DAYS)
        with services.database.writer() as session:
            for model in (
                models.Lease,
                models.Reservation,
                models.Event,
                models.Allocation,
            ):
                its = self._copies(session, model, lease)
                session.execute(sa.insert(models.table(model)), list(its))
        services.leases.delete(lease.id, self.now)
        self.services.database.dispose()

    def _copies(
        self, session: Any, model: type[models.Base], lease: objects.Lease
    ) -> Iterator[dict[str, Any]]:
        """Yield the rows that a lease has in a table, once for each
        promise."""
        table = models.table(model)
        [reservation] = lease.reservations
        rows = [
            dict(row) for row in session.execute(sa.select(table)).mappings()
        ]
        for number in range(HOSTS * DAYS):
            day, which = divmod(number, HOSTS)
            start = self.now + (1 + day) * _DAY + which % 24 * _HOUR
            dates = {
                'start_date': start,
                'end_date': start + 12 * _HOUR,
                'due_at': start,
                'time': start,
            }
            ids = {
                'lease_id': _id(lease.id, number),
                'reservation_id': _id(reservation.id, number),
                'resource_id': self.hosts[which],
            }
            for row in rows:
                copy = row | {
                    key: value
                    for key, value in (dates | ids).items()
                    if key in row
                }
                if model is models.Allocation:
                    del copy['id']
                else:
                    copy['id'] = _id(row['id'], number)
                yield copy

    def create(self, minimum: int, after: int = 2) -> float:
        """Return the median of the seconds in which a new lease of a day is
        created or refused.

        The leases are kept, so that the next one finds no room without moving
        others either.
        """
        took = []
        for _ in range(_AGAIN):
            began = time.monotonic()
            with contextlib.suppress(exception.NotEnoughResources):
                self._lease(minimum, after)
            took.append(time.monotonic() - began)
        return statistics.median(took)

    def _lease(self, minimum: int, after: int) -> objects.Lease:
        return self.services.leases.create(
            lease_requests.NewLease(
                name='bench',
                project_id='bench',
                user_id='bench',
                start=self.now + after * _DAY,
                end=self.now + (after + 1) * _DAY,
                before_end=None,
                reservations=(
                    lease_requests.NewReservation(
                        objects.HOST, {'min': minimum, 'max': minimum}
                    ),
                ),
            ),
            self.now,
        )


def _id(of: str, number: int) -> str:
    return str(uuid.uuid5(uuid.UUID(of), str(number)))
