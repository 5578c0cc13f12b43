# SPDX-License-Identifier: Apache-2.0
"""Base class of what else must allow a lease, beside policy and limits.

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
    """A lease with the hosts that it has, or would have at this moment.

    :ivar hosts: reservation id -> hosts; of none that has nothing.
    """

    lease: objects.Lease
    hosts: Mapping[str, Sequence[objects.Host]]


class Enforcement:
    """Says whether a lease is allowed: override the methods that it needs.

    It keeps no state: it is called in any process. It is called before the
    transaction, and may take some seconds; what it allows may still be refused
    for another reason. What it does not allow it refuses by OverLimit, with
    words for the user.
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self.conf = conf

    def check_create(self, planned: Planned) -> None:
        """Check a new lease.

        :raises: OverLimit
        :raises: CloudUnavailable if that is not known at this moment
        """

    def check_update(self, current: Planned, planned: Planned) -> None:
        """Check a change of more than the name of a lease.

        :param current: the lease as it is
        :param planned: as it would be
        :raises: OverLimit
        :raises: CloudUnavailable if that is not known at this moment
        """

    def on_end(
        self,
        lease: Mapping[str, Any],
        hosts: Mapping[str, Sequence[objects.Host]],
    ) -> None:
        """Learn that a lease is over, or was deleted: once, unless the
        process dies before.

        :param lease: as notifications have it
        :param hosts: as of Planned, as far as they are known still
        """
