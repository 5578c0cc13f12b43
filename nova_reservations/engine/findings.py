# SPDX-License-Identifier: Apache-2.0
"""The findings of audits."""

from collections.abc import Callable
import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """:ivar repair: mends it; None: a person has to."""

    problem: str
    repair: Callable[[], None] | None = None
