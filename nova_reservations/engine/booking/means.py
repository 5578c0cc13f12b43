# SPDX-License-Identifier: Apache-2.0
"""The means of use cases that book: each is made once, and handed in."""

import contextlib
import dataclasses

from nova_reservations import ports
from nova_reservations.db import api
from nova_reservations.engine import resource_types
from nova_reservations.engine import settings
from nova_reservations.engine.booking import allocations
from nova_reservations.engine.booking import lease_requests
from nova_reservations.engine.booking import limits


@dataclasses.dataclass(frozen=True, slots=True)
class Means:
    """:ivar requests: what is asked for becomes leases.

    :ivar allocations: leases get resources.
    :ivar limits: what the projects of leases may hold.
    """

    database: api.Database
    types: resource_types.Types
    options: settings.Settings
    notify: ports.Notifier
    requests: lease_requests.LeaseRequests
    allocations: allocations.Allocations
    limits: limits.ProjectLimits


@dataclasses.dataclass(eq=False)
class UseCase:
    """A use case that books: each of the means is at hand by its name."""

    means: dataclasses.InitVar[Means]

    def __post_init__(self, means: Means) -> None:
        self.database = means.database
        self.types = means.types
        self.options = means.options
        self.notify = means.notify
        self.requests = means.requests
        self.allocations = means.allocations
        self.limits = means.limits

    def transaction(
        self, *, dry_run: bool
    ) -> contextlib.AbstractContextManager[api.Session]:
        """Return a transaction that writes, and is rolled back if it is only
        to tell what would be."""
        return self.database.rehearsal() if dry_run else self.database.writer()
