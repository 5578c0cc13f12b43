# SPDX-License-Identifier: Apache-2.0
"""The findings of audits."""

from collections.abc import Callable
import dataclasses

from nova_reservations.db import api


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """:ivar repair: repairs the problem; None: a person has to."""

    problem: str
    repair: Callable[[], None] | None = None


def written(
    database: api.Database, function: Callable[..., None], *args: object
) -> Callable[[], None]:
    """Return a repair that is one transaction."""

    def repair() -> None:
        with database.writer() as session:
            function(session, *args)

    return repair
