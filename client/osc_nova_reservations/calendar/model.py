# SPDX-License-Identifier: Apache-2.0
"""A calendar: rows of bars in a window of time."""

import dataclasses
import datetime
import enum


class Kind(enum.StrEnum):
    OWN = 'own'
    """A lease of the viewer's project."""
    WAITS = 'waits'
    """A lease of the viewer's project that has no resources yet."""
    TAKEN = 'taken'
    """A host that others have."""
    SHARED = 'shared'
    """A host of which others have a share."""
    HELD = 'held'
    """A host that no new lease gets."""


MEANINGS = {
    Kind.OWN: 'leased by your project',
    Kind.WAITS: 'a lease of your project that waits',
    Kind.TAKEN: 'taken by others',
    Kind.SHARED: 'shared by others',
    Kind.HELD: 'held: no new lease gets it',
}
"""The legend."""


FIRST = datetime.datetime.min.replace(tzinfo=datetime.UTC)
LAST = datetime.datetime.max.replace(tzinfo=datetime.UTC)
"""FIRST and LAST stand in for unknown dates of a hold."""


@dataclasses.dataclass(frozen=True, slots=True)
class Bar:
    """:ivar name: the text on the bar.
    :ivar lease_id: the lease of the bar, if it is one of the viewer's.
    """

    kind: Kind
    start: datetime.datetime
    end: datetime.datetime
    name: str
    lease_id: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    name: str
    bars: tuple[Bar, ...]


ENDED = frozenset({'TERMINATED', 'TIMEDOUT'})
"""Statuses of leases that are over. Those that failed are not among them:
somebody has to look at them."""


@dataclasses.dataclass(frozen=True, slots=True)
class Lease:
    """A lease of the viewer's project, with what its bars do not show.

    :ivar reserved: what the lease reserves, in words.
    """

    id: str
    name: str
    status: str
    reserved: str
    start: datetime.datetime
    end: datetime.datetime

    @property
    def has_ended(self) -> bool:
        return self.status in ENDED


@dataclasses.dataclass(frozen=True, slots=True)
class Window:
    """Half-open, in UTC.

    :ivar zone: whose days and hours are drawn.
    """

    start: datetime.datetime
    end: datetime.datetime
    zone: datetime.tzinfo = datetime.UTC

    @property
    def length(self) -> datetime.timedelta:
        return self.end - self.start

    def local(self, when: datetime.datetime) -> datetime.datetime:
        """Return the same instant, as clocks in the zone show it."""
        return when.astimezone(self.zone)


@dataclasses.dataclass(frozen=True, slots=True)
class Calendar:
    """:ivar heading: the kind of the rows, such as Host or Lease.
    :ivar now: when the calendar was read from the API.
    """

    title: str
    heading: str
    window: Window
    now: datetime.datetime
    rows: tuple[Row, ...]
    leases: tuple[Lease, ...]

    @property
    def kinds(self) -> list[Kind]:
        """Return the kinds of bars that the calendar has."""
        found = {bar.kind for row in self.rows for bar in row.bars}
        return [kind for kind in Kind if kind in found]
