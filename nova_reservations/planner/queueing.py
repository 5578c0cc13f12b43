# SPDX-License-Identifier: Apache-2.0
"""The order in which waiting leases may have resources that came free.

The leases are gone through once, from the first that came to the last. A
resource that suits one of them, at a time that it wants, is kept from those
behind it, even if it is too little for that lease. Findings are remembered:
each resource is compared with each wish once, however many leases are tried.
"""

from collections.abc import Collection
import dataclasses
import datetime
import itertools

from nova_reservations.objects import interval
from nova_reservations.objects import requirements
from nova_reservations.objects import wishes


@dataclasses.dataclass(slots=True)
class _Findings:
    """The findings about one resource that came free.

    :ivar meets: kind of wish -> whether the resource suits it.
    :ivar compared: how many of the wishes ahead were compared with it.
    :ivar kept: the windows in which leases ahead want it.
    """

    meets: dict[wishes.Kind, bool] = dataclasses.field(default_factory=dict)
    compared: int = 0
    kept: list[interval.Interval] = dataclasses.field(default_factory=list)


class Line:
    """The leases that wait, in order, and what they keep from the leases
    behind them."""

    def __init__(
        self,
        now: datetime.datetime,
        cleaning: datetime.timedelta,
        holds: requirements.Holds = requirements.Judged.holds,
    ) -> None:
        self._holds = holds
        self._now = now
        self._cleaning = cleaning
        self._ahead: list[tuple[wishes.Kind, interval.Interval]] = []
        self._wanted: dict[wishes.Kind, list[interval.Interval]] = {}
        self._known: dict[int, _Findings] = {}

    def join(self, queued: wishes.QueuedLease) -> None:
        """Put a lease that gets nothing now ahead of all that follow."""
        for wish in queued.wishes:
            wanted = self._wanted.setdefault(wish.kind, [])
            if not any(_covers(known, queued.window) for known in wanted):
                self._ahead.append((wish.kind, queued.window))
                _add(wanted, queued.window)

    def is_behind_its_like(self, queued: wishes.QueuedLease) -> bool:
        """Return whether a lease ahead wants the same kind at the same time:
        then nothing is left for this lease, and no resource need be tried."""
        return any(
            _overlap(self._wanted.get(wish.kind, ()), queued.window)
            for wish in queued.wishes
        )

    def has_nobody_before(self, queued: wishes.QueuedLease) -> bool:
        """Return whether no one ahead wants anything at the same time."""
        return not any(
            window.overlaps(queued.window) for _, window in self._ahead
        )

    def offers(
        self,
        queued: wishes.QueuedLease,
        wish: wishes.Wish,
        resource: wishes.FreedResource,
    ) -> bool:
        """Return whether the lease, if it is the next, could have the
        resource."""
        known = self._known.setdefault(resource.id, _Findings())
        return (
            self._meets(known, resource, wish.kind)
            and not self._is_kept(known, resource, queued.window)
            and resource.is_free(wish, self._now, self._cleaning)
        )

    def _is_kept(
        self,
        known: _Findings,
        resource: wishes.FreedResource,
        window: interval.Interval,
    ) -> bool:
        for kind, wanted in itertools.islice(
            self._ahead, known.compared, None
        ):
            if self._meets(known, resource, kind):
                _add(known.kept, wanted)
        known.compared = len(self._ahead)
        return _overlap(known.kept, window)

    def _meets(
        self,
        known: _Findings,
        resource: wishes.FreedResource,
        kind: wishes.Kind,
    ) -> bool:
        if kind not in known.meets:
            known.meets[kind] = resource.meets(kind, self._holds)
        return known.meets[kind]


def _overlap(
    windows: Collection[interval.Interval], window: interval.Interval
) -> bool:
    return any(taken.overlaps(window) for taken in windows)


def _covers(outer: interval.Interval, inner: interval.Interval) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


def _add(windows: list[interval.Interval], more: interval.Interval) -> None:
    """Merge a window into windows that do not overlap; they still do not."""
    met = [known for known in windows if known.overlaps(more)]
    if met:
        windows[:] = [known for known in windows if not known.overlaps(more)]
        more = interval.Interval(
            min(more.start, *(part.start for part in met)),
            max(more.end, *(part.end for part in met)),
        )
    windows.append(more)
