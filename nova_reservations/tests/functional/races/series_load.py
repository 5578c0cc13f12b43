# SPDX-License-Identifier: Apache-2.0
"""Lessees of series, each a process."""

from collections import Counter
import datetime
import os
import signal
from typing import Any

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db.holdings import allocations
from nova_reservations.engine.booking import lease_requests
from nova_reservations.engine.leases import series
from nova_reservations.tests.functional.races import load

DAY = datetime.timedelta(days=1)


def ask(url: str, attempts: int, hosts: int, *days: int) -> Counter[str]:
    """Ask for series that repeat for three days, at a time at which all other
    processes want hosts; return how often there was which answer.

    :param days: the first day of each series, in turn, from 0; none: ask for a
        single lease on the second day
    """
    party = load.join(url)
    answers: Counter[str] = Counter()
    now = datetime.datetime(2040, 1, 1, tzinfo=datetime.UTC)
    for day in [*(days or (1,))] * attempts:
        start = now + day * DAY + datetime.timedelta(hours=1)
        asked = lease_requests.NewLease(
            name='race',
            project_id='p',
            user_id='u',
            start=start,
            end=start + datetime.timedelta(hours=1),
            before_end=None,
            reservations=(
                lease_requests.NewReservation(
                    objects.HOST, {'min': hosts, 'max': hosts}
                ),
            ),
        )
        try:
            if days:
                party.series.create(asked, series.Repeat(DAY, 3), now)
            else:
                party.leases.create(asked, now)
        except exception.ReservationsError as error:
            answers[type(error).__name__] += 1
        else:
            answers['done'] += 1
    party.database.dispose()
    return answers


def die_in_a_series(url: str) -> None:
    """Be killed when the second lease of a series gets its hosts."""
    real, calls = allocations.insert, []

    def killed(*args: Any) -> None:
        calls.append(args)
        if len(calls) == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        real(*args)

    allocations.insert = killed
    ask(url, 1, 2, 0)
