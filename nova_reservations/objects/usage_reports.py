# SPDX-License-Identifier: Apache-2.0
"""Usage of a window of time: sums of the record, by lease.

All sums are exact: whole seconds, times whole units.
"""

from collections import Counter
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import datetime
import decimal

from nova_reservations.objects import interval
from nova_reservations.objects import usage as records

SERVERS = 'servers'
"""The class by which servers count in what was used."""


@dataclasses.dataclass(frozen=True, slots=True)
class LeaseUsage:
    """Usage of one lease in a window.

    :ivar started_at: when it began, also if that was before the window.
    :ivar ended_at: None: it goes on.
    :ivar seconds: for how long it held anything.
    :ivar reserved: class -> unit-seconds of what it held.
    :ivar degraded: what of that could not be used.
    :ivar used: class -> unit-seconds of its servers, by their flavors, and of
        SERVERS.
    :ivar reservation_ids: those that have a part in the window.
    :ivar amount: what it costs; None: nobody rates it.
    """

    lease_id: str
    name: str
    lease_type: str
    project_id: str
    user_id: str
    window: interval.Interval
    started_at: datetime.datetime
    ended_at: datetime.datetime | None
    seconds: int
    reserved: Mapping[str, int]
    degraded: Mapping[str, int]
    used: Mapping[str, int]
    reservation_ids: frozenset[str] = frozenset()
    amount: decimal.Decimal | None = None

    @property
    def begins(self) -> bool:
        """Return whether it began in the window. Of several adjoining windows
        this is true in only one."""
        return self.window.start <= self.started_at < self.window.end


@dataclasses.dataclass(frozen=True, slots=True)
class ProjectUsage:
    """Usage of the leases of a project in a window, in the order in which
    they began.

    :ivar unit: of amounts, as EUR; None: nobody rates it.
    """

    project_id: str
    window: interval.Interval
    leases: tuple[LeaseUsage, ...]
    unit: str | None = None

    @property
    def seconds(self) -> int:
        return sum(lease.seconds for lease in self.leases)

    @property
    def amount(self) -> decimal.Decimal | None:
        """The sum of the amounts of leases, which are rounded already."""
        if self.unit is None:
            return None
        return sum(
            (lease.amount for lease in self.leases if lease.amount),
            decimal.Decimal(0),
        )

    def sums(self, kind: str) -> Counter[str]:
        """Return class -> unit-seconds of all leases.

        :param kind: reserved, degraded or used
        """
        sums: Counter[str] = Counter()
        for lease in self.leases:
            sums.update(getattr(lease, kind))
        return sums


@dataclasses.dataclass(frozen=True, slots=True)
class ReportQuery:
    """A report that is asked for.

    :ivar now: the time until which usage that goes on is counted.
    :ivar project_id: None: of all projects that have any usage.
    :ivar marker: the last project of the page before.
    :ivar limit: so many projects at most.
    """

    window: interval.Interval
    now: datetime.datetime
    project_id: str | None = None
    marker: str | None = None
    limit: int | None = None


class _Part:
    """A lease, while its rows are read."""

    def __init__(self, row: records.Recorded) -> None:
        self.row = row
        self.usage: records.Usage | None = None
        self.started_at = row.started_at
        self.ended_at = row.ended_at
        self.periods: set[tuple[datetime.datetime, datetime.datetime]] = set()
        self.reservation_ids: set[str] = set()
        self.reserved: Counter[str] = Counter()
        self.degraded: Counter[str] = Counter()
        self.used: Counter[str] = Counter()

    def add_held(self, row: records.Usage, window: interval.Interval) -> None:
        seconds = _seconds(row.within(window.start, window.end))
        if self.usage is None:
            self.started_at, self.ended_at = row.started_at, row.ended_at
        if self.usage is None or row.started_at >= self.usage.started_at:
            # The latest row has the lease's last name.
            self.usage = row
        self.started_at = min(self.started_at, row.started_at)
        self.ended_at = (
            None
            if self.ended_at is None or row.ended_at is None
            else max(self.ended_at, row.ended_at)
        )
        self.reservation_ids.add(row.reservation_id)
        self.reserved[row.resource_class] += row.amount * seconds
        if row.degraded:
            self.degraded[row.resource_class] += row.amount * seconds
        self.periods.add(
            (
                max(row.started_at, window.start),
                min(row.ended_at or window.end, window.end),
            )
        )

    def add_server(
        self, row: records.ServerUsage, window: interval.Interval
    ) -> None:
        seconds = _seconds(row.within(window.start, window.end))
        for name, units in (
            (records.VCPU, row.vcpus),
            (records.MEMORY_MB, row.memory_mb),
            (records.DISK_GB, row.disk_gb),
            (SERVERS, 1),
        ):
            self.used[name] += units * seconds

    def whole(self, window: interval.Interval) -> LeaseUsage:
        return LeaseUsage(
            lease_id=self.row.lease_id,
            name=self.usage.lease_name if self.usage else '',
            lease_type=self.usage.lease_type if self.usage else '',
            project_id=self.row.project_id,
            user_id=self.row.user_id,
            window=window,
            started_at=self.started_at,
            ended_at=self.ended_at,
            seconds=_seconds(_covered(self.periods)),
            reserved=self.reserved,
            degraded=self.degraded,
            used=self.used,
            reservation_ids=frozenset(self.reservation_ids),
        )


def of_leases(
    held: Iterable[records.Usage],
    servers: Iterable[records.ServerUsage],
    window: interval.Interval,
) -> list[LeaseUsage]:
    """Return the usage of each lease, in the order in which they began.

    :param held: rows that overlap the window, in any order; what goes on
        counts until its end
    """
    parts: dict[str, _Part] = {}
    for row in held:
        parts.setdefault(row.lease_id, _Part(row)).add_held(row, window)
    for server in servers:
        part = parts.setdefault(server.lease_id, _Part(server))
        part.add_server(server, window)
    found = [part.whole(window) for part in parts.values()]
    return sorted(found, key=lambda lease: (lease.started_at, lease.lease_id))


def _covered(
    periods: Iterable[tuple[datetime.datetime, datetime.datetime]],
) -> datetime.timedelta:
    """Return the time that is in any of the periods."""
    return sum(
        (end - begin for begin, end in _disjoint(periods)),
        datetime.timedelta(0),
    )


def _disjoint(
    periods: Iterable[tuple[datetime.datetime, datetime.datetime]],
) -> Iterator[tuple[datetime.datetime, datetime.datetime]]:
    until: datetime.datetime | None = None
    for begin, end in sorted(periods):
        begin = begin if until is None else max(begin, until)
        if begin < end:
            yield begin, end
            until = end


def _seconds(length: datetime.timedelta) -> int:
    return int(length.total_seconds())
