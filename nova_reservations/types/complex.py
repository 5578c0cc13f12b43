# SPDX-License-Identifier: Apache-2.0
"""Base class of resource types that expand into others.

Decision 0056: doc/source/decisions/0056-wholes-and-their-parts
"""

import abc
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import Any
from typing import final

from nova_reservations.types import base


@dataclasses.dataclass(frozen=True, slots=True)
class Part:
    """A reservation that another one expands into.

    :ivar name: unique among the parts of a reservation, at most 64
        characters. It identifies the part when the whole changes.
    :ivar asked: what a request for this part alone would ask for.
    """

    name: str
    resource_type: str
    asked: Mapping[str, Any]


class Complex(base.ResourceType):
    """A type whose reservations consist of parts: other reservations of the
    same lease, each of a type that is switched on.

    The parts are planned together with everything else that the lease asks
    for. They start before the whole, and end after it. Servers may land in
    the parts from their start on, so the whole's start() may create what
    needs them. A start that fails undoes all parts. ``booking.parts`` has
    them by their names.
    """

    @abc.abstractmethod
    def expand(
        self, params: Mapping[str, Any], project_id: str
    ) -> Sequence[Part]:
        """Return the parts of a reservation with these params, at least one.

        Called outside of any transaction, when the lease is asked for, and
        when the reservation changes. A part can then change only in ways in
        which its owner could change it. A part can be left out as long as
        nothing of the lease is in Nova.

        :param params: as validate() has returned them
        :param project_id: the owner; things that a request names are looked
            up with the visibility of this project
        :raises: InvalidInput
        """

    @final
    def demand(self, params: Mapping[str, Any]) -> None:
        """Return nothing: the parts have all of the demand."""
