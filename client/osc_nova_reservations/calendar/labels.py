# SPDX-License-Identifier: Apache-2.0
"""Bars with their names: inside, or beside those that are too short.

A page does not know how wide it will be shown, nor in which font. So names
are given the room that they need where a column is as narrow as it may be,
and the style cuts them if they need more. All lengths are in rem.
"""

from collections.abc import Iterable
import dataclasses
import enum

import wcwidth

from osc_nova_reservations.calendar import layout
from osc_nova_reservations.calendar import model

SIGN = 0.52
"""The room for a sign of average width; signs of Chinese get two."""

MARGIN = 1.2
"""The room to the left and right of a name, together."""

MOST = 14.0
"""The most room for one name."""

_MOST_LANES = 3
"""A row with fewer lanes gets another one if names need it."""


class Side(enum.StrEnum):
    INSIDE = 'inside'
    BEFORE = 'before'
    AFTER = 'after'


@dataclasses.dataclass(slots=True)
class Placed:
    """A bar in a lane of its row.

    :ivar start, end: of the bar.
    :ivar room: the room for the name.
    """

    bar: model.Bar
    start: float
    end: float
    room: float
    lane: int = 0
    side: Side = Side.INSIDE

    @property
    def left(self) -> float:
        """Return where the bar begins, or its name if that is before."""
        return self.start - self.room * (self.side == Side.BEFORE)

    @property
    def right(self) -> float:
        return self.end + self.room * (self.side == Side.AFTER)


def placed(
    bars: Iterable[model.Bar], scale: layout.Scale, column: float
) -> list[Placed]:
    """Return the bars in the order of their starts, in lanes in which neither
    bars nor names overlap.

    A name is inside if that is too narrow for it, but there is no room beside
    it either, or if it says only what the legend says.

    :param bars: all of which overlap the window
    :param column: the least width of a column
    """
    found: list[Placed] = []
    lanes: list[list[Placed]] = []
    for bar in sorted(bars, key=lambda bar: (bar.start, bar.end)):
        start, end = (
            scale.place(when) * column for when in (bar.start, bar.end)
        )
        new = Placed(bar, start, end, room(bar.name))
        new.side = _side(new, scale.columns * column)
        new.lane = _lane(new, lanes)
        if new.lane == len(lanes):
            lanes.append([])
        lanes[new.lane].append(new)
        found.append(new)
    return found


def room(name: str) -> float:
    """Return the room that a name gets."""
    signs = sum(max(wcwidth.wcwidth(sign), 0) for sign in name)
    return min(SIGN * signs + MARGIN, MOST)


def _side(new: Placed, width: float) -> Side:
    """Return where there is room, if its lane is free.

    :param width: of the chart
    """
    if new.room <= new.end - new.start or new.bar.name == new.bar.kind:
        return Side.INSIDE
    if new.end + new.room <= width:
        return Side.AFTER
    if new.room <= new.start:
        return Side.BEFORE
    return Side.INSIDE


def _lane(new: Placed, lanes: list[list[Placed]]) -> int:
    """Return the lane of a bar: the first in which it has room, or a new one.
    If there are many lanes already, names give way to bars."""
    for number, lane in enumerate(lanes):
        if lane[-1].right <= new.left:
            return number
    if len(lanes) >= _MOST_LANES:
        for number, lane in enumerate(lanes):
            if lane[-1].end <= new.start:
                _give_way(lane, new)
                return number
    return len(lanes)


def _give_way(lane: list[Placed], new: Placed) -> None:
    """Move names, or take them inside, so that a bar has its place."""
    last = lane[-1]
    if last.right > new.start:
        before = lane[-2].right if len(lane) > 1 else 0
        last.side = Side.BEFORE
        if last.left < before:
            last.side = Side.INSIDE
    if last.right > new.left:
        new.side = Side.INSIDE
