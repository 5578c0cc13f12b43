# SPDX-License-Identifier: Apache-2.0
"""The bars of a calendar, as one project may see it.

Bars of other projects are joined where they touch: a viewer must not learn how
many leases they are, or that one begins when another one ends.
"""

from collections import Counter
from collections.abc import Iterable
import dataclasses
import datetime
import enum
import itertools

from nova_reservations.objects import holding
from nova_reservations.objects import interval
from nova_reservations.planner import levels

Span = tuple[datetime.datetime | None, datetime.datetime | None]
"""Start and end; None: nobody knows."""


class Kind(enum.StrEnum):
    OWN = 'own'
    TAKEN = 'taken'
    SHARED = 'shared'
    HELD = 'held'


@dataclasses.dataclass(frozen=True, slots=True)
class Own:
    """The reservation behind a bar, if it is of the viewer's project."""

    reservation_id: str
    lease_id: str


@dataclasses.dataclass(frozen=True, slots=True)
class Bar:
    """:ivar hosts: how many hosts the bar is of; None: of the one host whose
    bars are listed."""

    kind: Kind
    start: datetime.datetime
    end: datetime.datetime
    own: Own | None = None
    hosts: int | None = None


def of(
    taken: Iterable[holding.Held],
    held: Iterable[Span],
    window: interval.Interval,
) -> list[Bar]:
    """Return the bars of one host in a window, in the order of their start;
    those that are not the viewer's are cut to the window."""
    bars: list[Bar] = []
    others: dict[Kind, list[Span]] = {Kind.HELD: list(held)}
    for each in taken:
        if own := _own(each):
            bars.append(Bar(Kind.OWN, each.start, each.end, own))
        else:
            kind = Kind.TAKEN if each.whole else Kind.SHARED
            others.setdefault(kind, []).append((each.start, each.end))
    for kind, spans in others.items():
        bars += (Bar(kind, *span) for span in _joined(spans, window))
    return sorted(bars, key=lambda bar: (bar.start, bar.end, bar.kind))


def promised(
    leases: Iterable[holding.Promised], window: interval.Interval
) -> list[Bar]:
    """Return the bars of promised hosts, in the order of their start; those of
    other projects only tell how many hosts they have together."""
    bars: list[Bar] = []
    changes = Counter[datetime.datetime]()
    for each in leases:
        if own := _own(each):
            bars.append(Bar(Kind.OWN, each.start, each.end, own, each.number))
        else:
            changes[max(each.start, window.start)] += each.number
            changes[min(each.end, window.end)] -= each.number
    numbers = levels.of(
        {time: change for time, change in changes.items() if change}
    )
    for (start, hosts), (end, _) in itertools.pairwise(numbers):
        if hosts:
            bars.append(Bar(Kind.TAKEN, start, end, hosts=hosts))
    return sorted(bars, key=lambda bar: (bar.start, bar.end, bar.kind))


def _own(held: holding.Held | holding.Promised) -> Own | None:
    if held.lease_id is None:
        return None
    return Own(held.reservation_id, held.lease_id)


def _joined(
    spans: Iterable[Span], window: interval.Interval
) -> list[tuple[datetime.datetime, datetime.datetime]]:
    """Return the spans cut to the window; those that touch become one."""
    within = sorted(
        (
            max(start or window.start, window.start),
            min(end or window.end, window.end),
        )
        for start, end in spans
    )
    joined: list[tuple[datetime.datetime, datetime.datetime]] = []
    for start, end in within:
        if joined and start <= joined[-1][1]:
            begin, until = joined[-1]
            joined[-1] = begin, max(until, end)
        elif start < end:
            joined.append((start, end))
    return joined
