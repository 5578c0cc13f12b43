# SPDX-License-Identifier: Apache-2.0
"""Limits of a project, and what counts against them."""

import dataclasses
import datetime
from typing import Self

from nova_reservations.objects import interval


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The most that a project may have; None: no limit.

    :ivar leases: that are not over.
    :ivar waiting: of these, that wait for capacity.
    :ivar hosts: at any instant.
    :ivar slots: at any instant.
    :ivar host_hours: from now on.
    """

    leases: int | None = None
    waiting: int | None = None
    hosts: int | None = None
    slots: int | None = None
    host_hours: int | None = None

    @classmethod
    def of(cls, **numbers: int) -> Self:
        """Return limits of which those that are negative are none, as in
        Nova and in keystone."""
        return cls(
            **{
                name: None if number < 0 else number
                for name, number in numbers.items()
            }
        )

    @property
    def counts_leases(self) -> bool:
        return (self.leases, self.waiting) != (None, None)

    @property
    def counts_resources(self) -> bool:
        return (self.hosts, self.slots, self.host_hours) != (None, None, None)

    @property
    def is_any(self) -> bool:
        return self.counts_leases or self.counts_resources


NAMES = tuple(field.name for field in dataclasses.fields(Limits))


@dataclasses.dataclass(frozen=True, slots=True)
class Held:
    """The whole hosts, or the slots, that a reservation holds for a window."""

    reservation_id: str
    window: interval.Interval
    hosts: int = 0
    slots: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Count:
    """The leases of a project that are not over.

    :ivar waiting: of these, that wait for capacity.
    """

    leases: int
    waiting: int


@dataclasses.dataclass(frozen=True, slots=True)
class Used:
    """The use that a project makes of all that can be limited.

    :ivar hosts: at the instant at which they are most, as slots.
    :ivar host_hours: that have begun count.
    """

    leases: int
    waiting: int
    hosts: int
    slots: int
    host_hours: int


HOUR = datetime.timedelta(hours=1)
