# SPDX-License-Identifier: Apache-2.0
"""A lease that begins soon has all that the next request may name, such as a
flavor, when the request for it is answered.

The request makes it after the booking, outside of any transaction, and holds
no claim: a worker may prepare or start the lease at the same time, and make
the same. Each write can be repeated, and nothing is written for a lease that
has changed. Whatever the request leaves undone, a worker does, or sweeps: the
lease is written as one of which Nova may have something.

Decision 0065: doc/source/decisions/0065-usable-when-answered
"""

from collections.abc import Callable
from collections.abc import Collection
import dataclasses
import datetime
import functools

from oslo_log import log

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db.leases import access
from nova_reservations.engine import resource_types
from nova_reservations.engine import settings
from nova_reservations.engine import steps
from nova_reservations.types import at_once
from nova_reservations.types import base

LOG = log.getLogger(__name__)

InTime = Callable[[Callable[[], None]], bool]
"""Makes a call, and waits for it a short time only; returns whether it is
over. The call goes on if it is not."""


def wait(call: Callable[[], None]) -> bool:
    """Wait for the call, however long it takes."""
    call()
    return True


@dataclasses.dataclass(eq=False)
class AtOnce:
    database: api.Database
    types: resource_types.Types
    options: settings.Settings
    in_time: InTime

    def marked(
        self, lease: objects.Lease, now: datetime.datetime
    ) -> objects.Lease:
        """Return a new lease as it must be written, so that workers sweep what
        make() has begun, whatever becomes of this process."""
        if any(self._types(lease)) and self._begins(lease, now):
            return dataclasses.replace(lease, in_nova=True)
        return lease

    def make(
        self, leases: Collection[objects.Lease], now: datetime.datetime
    ) -> None:
        """Make what requests may name of those of the leases that begin; they
        are promised, whatever happens here."""
        soon = [
            lease
            for lease in leases
            if lease.in_nova
            and any(self._types(lease))
            and self._begins(lease, now)
        ]
        if soon and not self.in_time(lambda: self._make_all(soon, now)):
            LOG.warning(
                'Workers make what is named of leases %s: the cloud does not '
                'answer in time',
                ', '.join(lease.id for lease in soon),
            )

    def _begins(self, lease: objects.Lease, now: datetime.datetime) -> bool:
        return steps.step(lease, now, self.options) in (
            steps.Step.PREPARE,
            steps.Step.START,
        )

    def _types(
        self, lease: objects.Lease
    ) -> list[tuple[at_once.MadeAtOnce, objects.Reservation]]:
        return [
            (kind, item)
            for item in lease.reservations
            # A type may have been switched off since the lease was created.
            if isinstance(
                kind := self.types.get(item.resource_type), at_once.MadeAtOnce
            )
        ]

    def _make_all(
        self, leases: Collection[objects.Lease], now: datetime.datetime
    ) -> None:
        for lease in leases:
            try:
                self._make(lease, now)
            except exception.ClaimLost as error:
                LOG.debug('A worker goes on: %s', error)
            except exception.ReservationsError as error:
                LOG.warning(
                    'A worker makes what is named of lease %(lease)s: '
                    '%(reason)s',
                    {'lease': lease.id, 'reason': error},
                )

    def _make(self, lease: objects.Lease, now: datetime.datetime) -> None:
        """:raises: ClaimLost, CloudRefused, CloudUnavailable,
        DatabaseUnavailable
        """
        for kind, item in self._types(lease):
            booking = base.Booking.looked_at(lease, item, (), now)
            check = functools.partial(self._check, item)
            kind.make_at_once(dataclasses.replace(booking, check=check))

    def _check(self, reservation: objects.Reservation) -> None:
        """:raises: ClaimLost if the lease has changed, or is active: then it
        has everything
        """
        with self.database.causal_reader() as session:
            coming = access.is_coming(
                session, reservation.id, reservation.params
            )
        if not coming:
            raise exception.ClaimLost(
                id=reservation.lease_id, worker='the request that created it'
            )
