# SPDX-License-Identifier: Apache-2.0
"""Resources that reservations have, from when to when.

What is past its end but not released is still held, nobody knows for how
long. That matters only to what begins now. Of what was replaced by another
resource, nobody knows when its servers leave: it is in the way of shares that
begin later, too.
"""

from collections.abc import Mapping
import datetime
from typing import NamedTuple

from nova_reservations.objects import amounts
from nova_reservations.objects import interval


class Held(NamedTuple):
    """A resource that a reservation has, or has a share of, and has not left.

    :ivar id: of the allocation.
    :ivar whole: whether all of the resource is held, or only the units.
    :ivar replaced: another resource was given in its place.
    :ivar units: resource class -> units of a share, as far as they are read.
    :ivar lease_id: of its lease, if that is read, and may be told.
    """

    id: int
    resource_id: int
    reservation_id: str
    start: datetime.datetime
    end: datetime.datetime
    whole: bool
    replaced: bool
    units: Mapping[str, int] = amounts.NOTHING
    lease_id: str | None = None

    @property
    def may_move(self) -> bool:
        """Return whether the reservation may get another resource instead, as
        far as that depends on what it has of this one."""
        return self.whole and not self.replaced

    def over(self, now: datetime.datetime) -> datetime.datetime:
        """Return the first time at which it may be over."""
        return self.end if self.end > now else interval.soon(now)

    def taken(
        self, now: datetime.datetime, cleaning: datetime.timedelta
    ) -> interval.Taken:
        """Return from when until when it keeps others from beginning to have
        the resource as a whole: with the time for cleaning."""
        return self.resource_id, self.start, self.over(now) + cleaning

    def during(self, window: interval.Interval) -> amounts.Portion:
        """Return the amounts, and when a share that is to have the window
        meets them; what is held is in its way."""
        # It is past its end but not released, nobody knows for how long. If it
        # was replaced in the second in which it began, its end is its start.
        is_late = self.end <= max(window.start, self.start)
        end = window.end if is_late else self.end
        return amounts.Portion(interval.Interval(self.start, end), self.units)

    def is_in_the_way(
        self,
        window: interval.Interval,
        now: datetime.datetime,
        *,
        of_shares: bool = False,
    ) -> bool:
        """Return whether it takes the window, as ``held_rows.in_the_way``
        has it.

        :param of_shares: whether a share is to have the window
        """
        return self.start < window.end and (
            window.start <= now
            or self.end > window.start
            or (of_shares and self.replaced)
        )


class Promised(NamedTuple):
    """Whole resources that a lease is to have; which ones may change until it
    begins.

    :ivar lease_id: if it may be told.
    :ivar number: how many.
    """

    start: datetime.datetime
    end: datetime.datetime
    reservation_id: str
    lease_id: str | None
    number: int
