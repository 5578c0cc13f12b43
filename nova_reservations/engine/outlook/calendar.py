# SPDX-License-Identifier: Apache-2.0
"""Hosts over time, as a project sees them: its own leases, and for those of
others only that something is taken.

Whole hosts that are only promised are shown on no single host: they may become
other hosts tomorrow, and a change would tell that another lease has come.

Decision 0046: doc/source/decisions/0046-what-a-token-reads
"""

from collections import defaultdict
from collections.abc import Collection
import dataclasses
import datetime

from nova_reservations import exception
from nova_reservations.db import api
from nova_reservations.db.holdings import allocations
from nova_reservations.db.holdings import calendar as rows
from nova_reservations.objects import holding
from nova_reservations.objects import holds
from nova_reservations.objects import interval
from nova_reservations.planner import bars

LONGEST = datetime.timedelta(days=366)
"""The longest window of one answer to a project."""

MOST = 20_000
"""The most leases on hosts that are read for one answer, and the most
promised leases."""


@dataclasses.dataclass(frozen=True, slots=True)
class Host:
    """A host without its name.

    :ivar number: its place among all hosts, from 1.
    """

    number: int
    bars: Collection[bars.Bar]


@dataclasses.dataclass(eq=False)
class Calendar:
    """:ivar resource_type: the type of the resources that are shown; this
    module calls them hosts."""

    database: api.Database
    resource_type: str

    def of_project(
        self,
        project_id: str,
        window: interval.Interval,
        first: int,
        limit: int,
        now: datetime.datetime,
    ) -> list[Host]:
        """Return hosts as a project may see them, without their names.

        :param first: the place of the first host, from 0
        :raises: InvalidInput
        """
        _check(window)
        with self.database.reader() as session:
            members = rows.members(session, self.resource_type, first, limit)
            during = allocations.During(window.start, window.end, now)
            found = rows.taken(session, members, during, project_id, MOST + 1)
        if len(found) > MOST:
            raise exception.InvalidInput(
                f'More than {MOST} leases are on these hosts between start '
                'and end: ask for a shorter time, or fewer hosts by limit'
            )
        taken = defaultdict[int, list[holding.Held]](list)
        for row in found:
            taken[row.resource_id].append(row)
        return [
            Host(number, bars.of(taken[key], _held(held), window))
            for number, (key, held) in enumerate(members.items(), first + 1)
        ]

    def promised(
        self,
        project_id: str,
        window: interval.Interval,
        now: datetime.datetime,
    ) -> list[bars.Bar]:
        """Return how many hosts are promised to leases that have not begun.

        :raises: InvalidInput
        """
        _check(window)
        with self.database.reader() as session:
            during = allocations.During(window.start, window.end, now)
            found = rows.promised(
                session, self.resource_type, during, project_id, MOST + 1
            )
        if len(found) > MOST:
            raise exception.InvalidInput(
                f'More than {MOST} leases begin between start and end: ask '
                'for a shorter time'
            )
        return bars.promised(found, window)


def _check(window: interval.Interval) -> None:
    """:raises: InvalidInput"""
    if window.end - window.start > LONGEST:
        raise exception.InvalidInput(
            f'A calendar has at most {LONGEST.days} days: ask for a '
            'shorter time'
        )


def _held(found: Collection[holds.Hold]) -> list[bars.Span]:
    return [(hold.since, hold.until) for hold in found]
