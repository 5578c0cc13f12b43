# SPDX-License-Identifier: Apache-2.0
"""Projects that a reservation of another one is shared with."""

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Sharers:
    """:ivar present: ids of projects that may create servers in it.

    :ivar former: of projects that could before, and may still have servers in
        it.
    """

    present: frozenset[str] = frozenset()
    former: frozenset[str] = frozenset()

    @property
    def all(self) -> frozenset[str]:
        return self.present | self.former


NOBODY = Sharers()
