# SPDX-License-Identifier: Apache-2.0
"""What a reservation asks for, in terms that every resource type shares."""

import dataclasses

from nova_reservations import requirements as expressions


@dataclasses.dataclass(frozen=True, slots=True)
class Demand:
    """Between minimum and maximum whole resources of one type.

    :ivar requirements: what each of them must be; None asks nothing.
    """

    resource_type: str
    minimum: int
    maximum: int
    requirements: expressions.Expression | None = None
