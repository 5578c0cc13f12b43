# SPDX-License-Identifier: Apache-2.0
"""Base class of resource types whose reservations have slots in Nova."""

import abc
from collections.abc import Collection
from collections.abc import Mapping

from nova_reservations.types import base
from nova_reservations.types import shrinks


class WithSlots(shrinks.Shrinks):
    """A type whose slots servers hold: active reservations can give back those
    that are free."""

    @abc.abstractmethod
    def slots_held(self, booking: base.Booking) -> Mapping[int, int]:
        """Return resource id -> how many slots of an active reservation
        servers hold there."""

    @abc.abstractmethod
    def slots_offered(self, booking: base.Booking) -> Collection[int]:
        """Return the ids of the resources on which Nova offers slots of an
        active reservation."""
