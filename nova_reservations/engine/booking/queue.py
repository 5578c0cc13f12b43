# SPDX-License-Identifier: Apache-2.0
"""The order of leases that wait: the rules that a booking obeys.

Leases that wait are in the order of their arrival. New leases may overtake
them, except while a worker is trying a lease that waits: new leases do not get
resources that this lease could have.

Decision 0026: doc/source/decisions/0026-one-walk-of-the-queue
"""

from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
import datetime

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db.leases import retry_queue
from nova_reservations.objects import demand as demands
from nova_reservations.objects import interval
from nova_reservations.objects import requirements
from nova_reservations.objects import states

ENOUGH = datetime.timedelta(minutes=1)
"""The time that must be left of a lease for it to be worth waiting for."""


def window(
    lease: objects.Lease | retry_queue.Waiting, now: datetime.datetime
) -> interval.Interval:
    """Return the window of a lease that gets its resources now.

    Waiting moves the end only of a lease that was asked for with a duration.

    :raises: NotEnoughResources if less than a minute would be left
    """
    start = max(lease.start_date, now)
    end = lease.end_date
    if lease.duration is not None:
        end = start + datetime.timedelta(seconds=lease.duration)
    if end - start < ENOUGH:
        raise exception.NotEnoughResources(
            'Not enough time is left of it: less than a minute'
        )
    return interval.Interval(start, end)


def in_hand(
    session: api.Session, lease: objects.Lease, now: datetime.datetime
) -> list[objects.Lease]:
    """Return the leases that workers are trying at this moment, for the same
    time."""
    return [
        other
        for other in retry_queue.in_hand(session, now)
        if _competes(other, lease, now)
    ]


def _competes(
    other: objects.Lease, lease: objects.Lease, now: datetime.datetime
) -> bool:
    try:
        return window(other, now).overlaps(lease.window)
    except exception.NotEnoughResources:
        return False


def refusal(
    refusal: exception.NotEnoughResources,
    lease: objects.Lease,
    first: Sequence[objects.Lease],
) -> exception.ReservationsError:
    """Return the error for a lease for which nothing was left.

    :param first: the leases ahead that workers are trying; may be empty
    """
    if not first:
        return refusal
    if lease.lease_type != states.LeaseType.RETRY:
        # A conflict lets the caller try again, after the worker has tried the
        # lease ahead. A lease that may wait joins the queue instead.
        return exception.Conflict(kind='Lease', id=first[0].id)
    ahead = objects.plural(
        len(first),
        'lease that came before waits',
        'leases that came before wait',
    )
    return exception.NotEnoughResources(f'{refusal}; {ahead}')


def left_over(
    demand: demands.Ask, others: Iterable[demands.Ask], many: str
) -> demands.Ask:
    """Return the demand without resources that any of the others could have.

    :param many: what several of such resources are called
    :raises: NotEnoughResources if another one could have any resource
    """
    rivals = {
        other.requirements
        for other in others
        if other.resource_type == demand.resource_type
    }
    if None in rivals:
        raise exception.NotEnoughResources(
            reason='leases that came before wait for any that match',
            what=many,
        )
    if not rivals:
        return demand
    parts = [
        *([demand.requirements] if demand.requirements else []),
        *(requirements.Not(rival) for rival in rivals if rival),
    ]
    return dataclasses.replace(
        demand, requirements=requirements.AllOf(tuple(parts))
    )
