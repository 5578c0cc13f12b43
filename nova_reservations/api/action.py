# SPDX-License-Identifier: Apache-2.0
"""The types of the table of routes, and of its entries."""

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
from typing import Any
from typing import Concatenate
from typing import ParamSpec
from typing import TypeAlias

from nova_reservations.api import listing
from nova_reservations.api import validation

P = ParamSpec('P')
Run: TypeAlias = Callable[..., dict[str, Any] | listing.Listing | None]


@dataclasses.dataclass(frozen=True, slots=True)
class Action:
    """The action of one method at one path, with its schemas.

    :ivar run: gets the request, the values in the path, and ``query``,
        ``headers`` and ``body`` if there are schemas for them.
    :ivar headers: the schema of headers beside those of every request.
    :ivar status: the status of the answer, unless it is a refusal.
    :ivar refusals: statuses of refusals that not every action has.
    :ivar asks: whether it asks for a lease, or changes one: then its refusals
        have the statuses that clients of Blazar know.
    """

    run: Run
    status: int = 200
    query: validation.Schema | None = None
    headers: validation.Schema | None = None
    body: validation.Schema | None = None
    response: validation.Schema | None = None
    refusals: tuple[int, ...] = ()
    asks: bool = False


def _decorator(
    made: Callable[Concatenate[Run, P], Action],
) -> Callable[P, Callable[[Run], Action]]:
    """Return a decorator that takes what Action takes beside ``run``."""

    def terms(*args: P.args, **kwargs: P.kwargs) -> Callable[[Run], Action]:
        return lambda run: made(run, *args, **kwargs)

    return terms


served = _decorator(Action)
"""The decorator that makes an action of the function that runs it."""

Routes: TypeAlias = Mapping[str, Mapping[str, Action]]
"""Path -> method -> action."""
