# SPDX-License-Identifier: Apache-2.0
"""Base class of resource types of which an active lease can give back some.

Decision 0034: doc/source/decisions/0034-hosts-are-given-back-early
"""

import abc
from collections.abc import Collection
from collections.abc import Mapping
from typing import Any

from nova_reservations.types import base


class Shrinks(base.ResourceType):
    """A type whose active reservations can have fewer resources, or slots,
    than they had.

    Resources go only when ``unused`` has them.
    """

    @abc.abstractmethod
    def ranged(
        self, params: Mapping[str, Any], minimum: int, maximum: int
    ) -> dict[str, Any]:
        """Return the params with another number of resources or slots."""

    def released(self, asked: Mapping[str, Any]) -> Collection[str]:
        """Return the ids, UUIDs or names of whole resources that a change of
        an active reservation gives back.

        :param asked: the change alone
        """
        return ()

    def coming(self, booking: base.Booking) -> frozenset[str]:
        """Return the servers of an active reservation that may still land on
        the resources that it gives back, ``booking.left``, though the
        scheduler now sends none there. Until there are none, these resources
        are not inspected, and nobody else has them."""
        return frozenset()
