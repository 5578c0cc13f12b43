# SPDX-License-Identifier: Apache-2.0
"""Leases that were asked for, and refused for lack of room."""

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import datetime
import hashlib
import json
from typing import Any
from typing import Self

from nova_reservations.objects import lease as leases

LONGEST = 4096
"""The longest description of reservations that is kept."""

_KIND = 255


@dataclasses.dataclass(frozen=True, slots=True)
class RefusedReservation:
    """A reservation of a refused lease."""

    resource_type: str
    params: Mapping[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class Refusal:
    """:ivar id: None: it is not recorded yet.

    :ivar kind: the types of its reservations.
    """

    project_id: str
    asked_at: datetime.datetime
    start: datetime.datetime
    end: datetime.datetime
    kind: str
    parts: tuple[RefusedReservation, ...]
    id: int | None = None

    @classmethod
    def of(cls, lease: leases.Lease, now: datetime.datetime) -> Self:
        types = sorted({item.resource_type for item in lease.reservations})
        return cls(
            lease.project_id,
            now,
            lease.start_date,
            lease.end_date,
            ', '.join(types)[:_KIND],
            tuple(
                RefusedReservation(item.resource_type, item.params)
                for item in lease.reservations
                # A reservation that has parts asks for nothing itself.
                if item.id not in lease.wholes
            ),
        )

    @property
    def description(self) -> list[list[Any]]:
        """The reservations, as they are kept."""
        return [[part.resource_type, dict(part.params)] for part in self.parts]

    @property
    def is_short(self) -> bool:
        return len(json.dumps(self.description)) <= LONGEST

    @property
    def digest(self) -> str:
        """A digest that is the same for all refusals of the same reservations
        for the same length of time, whenever that starts."""
        length = (self.end - self.start).total_seconds()
        text = json.dumps([self.description, length], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


def parts(
    description: Iterable[tuple[str, Any]],
) -> tuple[RefusedReservation, ...]:
    """Return the reservations from their description."""
    return tuple(
        RefusedReservation(kind, params) for kind, params in description
    )


@dataclasses.dataclass(frozen=True, slots=True)
class RefusalQuery:
    """A page of refusals; what is None filters nothing.

    :ivar start: the first time at which they were asked for; end: the time
        before which they were.
    :ivar marker: the id of the last one of the page before.
    """

    project_id: str | None = None
    start: datetime.datetime | None = None
    end: datetime.datetime | None = None
    limit: int | None = None
    marker: int | None = None
