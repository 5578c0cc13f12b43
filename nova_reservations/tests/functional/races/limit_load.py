# SPDX-License-Identifier: Apache-2.0
"""Lessees of one project that has limits, each a process."""

from collections import Counter
from collections.abc import Mapping
import datetime
from typing import Any

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.engine.assembly import Services
from nova_reservations.engine.booking import lease_requests
from nova_reservations.engine.worker import senders
from nova_reservations.engine.worker import worker
from nova_reservations.objects import limits
from nova_reservations.objects import states
from nova_reservations.tests.functional.races import load

NEW_YEAR = datetime.datetime(2040, 1, 1, tzinfo=datetime.UTC)


def take_all(party: Services, hosts: int) -> objects.Lease:
    """Lease this many hosts for another project, in the window that
    within_limits asks for."""
    every = objects.HOST, {'min': hosts, 'max': hosts}
    return party.leases.create(_for_an_hour('other', every), NEW_YEAR)


def _for_an_hour(
    project_id: str,
    wanted: tuple[str, Mapping[str, Any]],
    lease_type: states.LeaseType | None = None,
) -> lease_requests.NewLease:
    return lease_requests.NewLease(
        name='race',
        project_id=project_id,
        user_id='u',
        start=NEW_YEAR,
        end=NEW_YEAR + datetime.timedelta(hours=1),
        before_end=None,
        reservations=(lease_requests.NewReservation(*wanted),),
        lease_type=lease_type,
    )


def within_limits(
    url: str,
    attempts: int,
    allowed: limits.Limits,
    more: int = 0,
    wanted: tuple[str, Mapping[str, Any]] | None = None,
    lease_type: states.LeaseType | None = None,
) -> Counter[str]:
    """Ask for a host in a window in which all other processes want one, and
    then prolong the lease by this many hours; return how often there was which
    answer.

    :param wanted: the item to ask for instead of a host
    :param lease_type: None: the type that the window implies
    """
    party = load.join(url, source=lambda _: allowed)
    answers: Counter[str] = Counter()
    asked = _for_an_hour('p', wanted or load.ONE_HOST, lease_type)
    longer = lease_requests.LeaseChanges(
        end=asked.end + datetime.timedelta(hours=more)
    )
    for _ in range(attempts):
        try:
            lease = party.leases.create(asked, NEW_YEAR)
            if more:
                party.leases.update(lease.id, longer, NEW_YEAR)
        except exception.ReservationsError as error:
            answers[type(error).__name__] += 1
        else:
            answers['done'] += 1
    party.database.dispose()
    return answers


def serve_who_waits(url: str, allowed: limits.Limits) -> None:
    """Be a worker for as long as a lease that has waited needs one."""
    party = load.join(url, source=lambda _: allowed)
    one = worker.Worker(
        'w',
        party.database,
        party.lifecycle,
        party.tasks,
        1,
        senders.Senders(party.database, party.messages),
    )
    for _ in range(10):
        one.tick(NEW_YEAR)
        one.drain()
    one.stop()
    party.database.dispose()
