# SPDX-License-Identifier: Apache-2.0
"""The record of what leases had, and of the servers that used it.

Decision 0040: doc/source/decisions/0040-the-record-of-what-was-held
"""

import dataclasses
import datetime

SLOTS = 'slots'
"""The class by which slots count in the record, whatever they hold. Whole
resources count by their type: physical:host."""

VCPU = 'VCPU'
MEMORY_MB = 'MEMORY_MB'
DISK_GB = 'DISK_GB'


@dataclasses.dataclass(frozen=True, slots=True)
class Recorded:
    """A part of the record, of one lease.

    :ivar user_id: who has created the lease.
    :ivar ended_at: None: it goes on.
    """

    id: int
    lease_id: str
    reservation_id: str
    project_id: str
    user_id: str
    started_at: datetime.datetime
    ended_at: datetime.datetime | None

    def within(
        self, start: datetime.datetime, end: datetime.datetime
    ) -> datetime.timedelta:
        """Return how much of the time from start to end it lasted; what goes
        on lasts until the end."""
        until = end if self.ended_at is None else min(self.ended_at, end)
        return max(until - max(self.started_at, start), datetime.timedelta(0))


@dataclasses.dataclass(frozen=True, slots=True)
class Usage(Recorded):
    """The amount of a resource class that a reservation held.

    :ivar lease_name: what the lease was called when this began.
    :ivar resource_class: of placement, as VCPU; or SLOTS; or, of whole
        resources, their type.
    :ivar degraded: it could not be used, because its resource had failed.
    """

    lease_name: str
    lease_type: str
    resource_type: str
    resource_class: str
    amount: int
    degraded: bool


@dataclasses.dataclass(frozen=True, slots=True)
class ServerUsage(Recorded):
    """A server that was let into a reservation.

    :ivar flavor: the name of the flavor that it had; the amounts are of it.
    """

    server_uuid: str
    flavor: str
    vcpus: int
    memory_mb: int
    disk_gb: int


@dataclasses.dataclass(frozen=True, slots=True)
class Size:
    """The amounts that a flavor of this name gives a server."""

    flavor: str
    vcpus: int
    memory_mb: int
    disk_gb: int


@dataclasses.dataclass(frozen=True, slots=True)
class UsageQuery:
    """The part of the record that lasted at any time from start until just
    before end.

    :ivar project_id: None: of all projects.
    """

    start: datetime.datetime
    end: datetime.datetime
    project_id: str | None = None
