# SPDX-License-Identifier: Apache-2.0
"""Windows of time: half-open, UTC, whole seconds."""

import dataclasses
import datetime

LAST = datetime.datetime(9998, 12, 31, 23, 59, 59, tzinfo=datetime.UTC)
"""The last date of a lease: less than a year can be added to it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Interval:
    """From start until just before end."""

    start: datetime.datetime
    end: datetime.datetime

    def __post_init__(self) -> None:
        if self.start >= self.end:
            raise ValueError(f'{self.start} is not before {self.end}')

    def overlaps(self, other: 'Interval') -> bool:
        """Return whether some instant is in both; windows that touch do not
        overlap."""
        return self.start < other.end and other.start < self.end

    def padded(self, by: datetime.timedelta) -> 'Interval':
        return Interval(self.start - by, self.end + by)


def of_use(start: datetime.datetime, end: datetime.datetime) -> Interval:
    """Return the window of a use: one that was over in the second in which it
    began, and is not released, lasts that second."""
    return Interval(start, max(end, start + datetime.timedelta(seconds=1)))


def soon(now: datetime.datetime) -> datetime.datetime:
    """Return the first start of a window that does not begin by now."""
    return now.replace(microsecond=0) + datetime.timedelta(seconds=1)


Taken = tuple[int, datetime.datetime, datetime.datetime]
"""A resource, and from when until just before when it is held."""
