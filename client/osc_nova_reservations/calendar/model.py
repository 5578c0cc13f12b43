# SPDX-License-Identifier: Apache-2.0
"""A calendar: rows of bars in a window of time."""

import dataclasses
import datetime
import enum


class Kind(enum.StrEnum):
    OWN = 'own'
    """A lease of the viewer's project."""
    WAITS = 'waits'
    """The same, that has nothing yet."""
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
"""In place of dates of a hold that nobody knows."""


@dataclasses.dataclass(frozen=True, slots=True)
class Bar:
    """:ivar name: what is written on it.
    :ivar lease_id: the lease that it is of, if that is among the viewer's.
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


@dataclasses.dataclass(frozen=True, slots=True)
class Lease:
    """A lease of the viewer's: what is told of it beside its bars.

    :ivar reserved: what it reserves, in words.
    """

    id: str
    name: str
    status: str
    reserved: str
    start: datetime.datetime
    end: datetime.datetime


@dataclasses.dataclass(frozen=True, slots=True)
class Window:
    """Half-open, in UTC."""

    start: datetime.datetime
    end: datetime.datetime

    @property
    def length(self) -> datetime.timedelta:
        return self.end - self.start


@dataclasses.dataclass(frozen=True, slots=True)
class Calendar:
    """:ivar heading: what one row is: a host, a lease.
    :ivar now: when it was read.
    """

    title: str
    heading: str
    window: Window
    now: datetime.datetime
    rows: tuple[Row, ...]
    leases: tuple[Lease, ...]

    @property
    def kinds(self) -> list[Kind]:
        """Return the kinds of bars that there are."""
        found = {bar.kind for row in self.rows for bar in row.bars}
        return [kind for kind in Kind if kind in found]
