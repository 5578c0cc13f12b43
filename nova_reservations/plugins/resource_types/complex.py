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

from nova_reservations.plugins.resource_types import base


@dataclasses.dataclass(frozen=True, slots=True)
class Part:
    """A reservation that another one expands into.

    :ivar name: unique among its parts, at most 64 characters; by it a part
        is known again when the whole changes.
    :ivar asked: what a request for it alone would ask for.
    """

    name: str
    resource_type: str
    asked: Mapping[str, Any]


class Complex(base.ResourceType):
    """A type whose reservations are made of others, its parts: reservations
    of the same lease, each of a type that is switched on.

    They are planned together with all else that the lease asks for, start
    before the whole, and end after it. From their start on servers may land
    in them, so that start() may create what needs them; a start that fails
    undoes all of them. ``booking.parts`` has them by their names.
    """

    @abc.abstractmethod
    def expand(
        self, params: Mapping[str, Any], project_id: str
    ) -> Sequence[Part]:
        """Return the parts of a reservation with these params, at least one.

        Called outside of any transaction, when the lease is asked for, and
        when the reservation changes. A part that changes then must be allowed
        to change, as if its owner had asked for it; one can be left out as
        long as nothing of the lease is in Nova.

        :param params: as validate() has returned them
        :param project_id: whose they are: what its users name is looked up
            as it sees it
        :raises: InvalidInput
        """

    @final
    def demand(self, params: Mapping[str, Any]) -> None:
        """Return nothing: its parts ask for all that it takes."""
