# SPDX-License-Identifier: Apache-2.0
"""Base class of checks that a lease must pass beside policy and limits.

Entry points of ``nova_reservations.enforcement`` are classes of this kind.
"""

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import Any

from oslo_config import cfg

from nova_reservations import objects


@dataclasses.dataclass(frozen=True, slots=True)
class Planned:
    """A lease with the hosts that it has, or would get if accepted now.

    :ivar hosts: reservation id -> hosts; without reservations that have none.
    """

    lease: objects.Lease
    hosts: Mapping[str, Sequence[objects.Host]]


class Enforcement:
    """Tells whether a lease is allowed; override the methods that are needed.

    An enforcement keeps no state, because any process calls it. It is called
    before the transaction, and may take some seconds. A lease that it allows
    may still be refused for another reason. It refuses a lease by raising
    OverLimit, with a message for the user.
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self.conf = conf

    def check_create(self, planned: Planned) -> None:
        """Check a new lease.

        :raises: OverLimit
        :raises: CloudUnavailable if the check is not possible at this moment
        """

    def check_update(self, current: Planned, planned: Planned) -> None:
        """Check a change of a lease, unless only its name changes.

        :param current: the lease as it is
        :param planned: the lease as it would be
        :raises: OverLimit
        :raises: CloudUnavailable if the check is not possible at this moment
        """

    def on_end(
        self,
        lease: Mapping[str, Any],
        hosts: Mapping[str, Sequence[objects.Host]],
    ) -> None:
        """Learn that a lease has ended, or was deleted.

        Called once; not at all if the process dies before.

        :param lease: the payload of notifications
        :param hosts: as in Planned, as far as they are still known
        """
