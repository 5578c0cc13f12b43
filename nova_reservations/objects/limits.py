# SPDX-License-Identifier: Apache-2.0
"""Limits of a project, and what counts against them."""

from collections.abc import Mapping
import dataclasses
import datetime
from typing import Self

from nova_reservations.objects import interval
from nova_reservations.objects import names

HOSTS = 'hosts'
SLOTS = 'slots'

_PER = '/'


def of_wholes(resource_type: str) -> str:
    """Return the name of the limit of whole resources of a type."""
    return HOSTS if resource_type == names.HOST else resource_type


def of_amounts(resource_type: str, resource_class: str) -> str:
    """Return the name of the limit of amounts of a resource class, which
    resources of a type have."""
    if resource_type == names.HOST:
        return SLOTS
    return f'{resource_type}{_PER}{resource_class}'


def parsed(name: str) -> tuple[str, str]:
    """Return the resource type and the resource class that the name of a limit
    stands for; the class is empty for whole resources. Not for limits of
    hosts."""
    resource_type, _, resource_class = name.partition(_PER)
    return resource_type, resource_class


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The most that a project may have; None: no limit.

    :ivar leases: that are not over.
    :ivar waiting: of these, that wait for capacity.
    :ivar hosts: at any instant.
    :ivar slots: at any instant.
    :ivar host_hours: from now on.
    :ivar resources: name of a limit of others than hosts -> the most at any
        instant; other resources have no limit.
    """

    leases: int | None = None
    waiting: int | None = None
    hosts: int | None = None
    slots: int | None = None
    host_hours: int | None = None
    resources: Mapping[str, int] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, numbers: Mapping[str, int]) -> Self:
        """Return the limits of these names. A negative number means no limit,
        as in Nova and in keystone."""
        limited = {
            name: number for name, number in numbers.items() if number >= 0
        }
        plain = {name: limited.pop(name) for name in NAMES if name in limited}
        return cls(**plain, resources=limited)

    @property
    def peaks(self) -> Mapping[str, int]:
        """The limits of what is held at an instant."""
        known = {HOSTS: self.hosts, SLOTS: self.slots, **self.resources}
        return {name: most for name, most in known.items() if most is not None}

    @property
    def counts_leases(self) -> bool:
        return (self.leases, self.waiting) != (None, None)

    @property
    def counts_resources(self) -> bool:
        return bool(self.peaks) or self.host_hours is not None

    @property
    def counts_amounts(self) -> bool:
        return self.slots is not None or any(
            _PER in name for name in self.resources
        )

    @property
    def is_any(self) -> bool:
        return self.counts_leases or self.counts_resources


NAMES = ('leases', 'waiting', HOSTS, SLOTS, 'host_hours')
"""The limits that need no type of resources for a name."""


@dataclasses.dataclass(frozen=True, slots=True)
class Counted:
    """The holdings of a reservation for a window.

    :ivar counts: name of a limit -> what counts against it.
    :ivar lease_id: of the reservation's lease; empty: the holdings are only
        planned.
    :ivar ended_at: when they should have been given back; None: their end is
        to come.
    """

    reservation_id: str
    window: interval.Interval
    counts: Mapping[str, int] = dataclasses.field(default_factory=dict)
    lease_id: str = ''
    ended_at: datetime.datetime | None = None

    def count(self, name: str) -> int:
        return self.counts.get(name, 0)


@dataclasses.dataclass(frozen=True, slots=True)
class Count:
    """The leases of a project that are not over.

    :ivar waiting: of these, that wait for capacity.
    :ivar leaving: id -> end, of further leases that are over, but of which
        something is left.
    """

    leases: int
    waiting: int
    leaving: Mapping[str, datetime.datetime] = dataclasses.field(
        default_factory=dict
    )


@dataclasses.dataclass(frozen=True, slots=True)
class Used:
    """The use that a project makes of all that can be limited.

    :ivar hosts: the most at any instant; slots likewise.
    :ivar host_hours: an hour that has begun counts as a whole one.
    :ivar resources: name of a limit of others than hosts -> the same.
    """

    leases: int
    waiting: int
    hosts: int
    slots: int
    host_hours: int
    resources: Mapping[str, int] = dataclasses.field(default_factory=dict)


HOUR = datetime.timedelta(hours=1)
