# SPDX-License-Identifier: Apache-2.0
"""Base class of resource types that audits ask."""

import abc
from collections.abc import Callable
from collections.abc import Iterator
import dataclasses

from nova_reservations.db.upkeep import records
from nova_reservations.types import base


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """:ivar repair: repairs the problem; None: a person has to."""

    problem: str
    repair: Callable[[], object] | None = None


class Audited(base.ResourceType):
    """A type that finds what was changed in its service without us.

    ``nova-reservations-manage audit`` asks all such types that are installed,
    whether they are switched on or not: leases of a type that was switched
    off may have left something. Of types that lease the same resources it
    asks one.
    """

    @abc.abstractmethod
    def audit(self, known: records.Records) -> Iterator[Finding]:
        """Yield all that is not as it must be; nothing is changed.

        If nothing of the type was ever leased, the service is not asked.
        Audits look twice, and drop what only one look has found: that was a
        change under way.

        :raises: CloudUnavailable
        """
