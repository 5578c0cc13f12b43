# SPDX-License-Identifier: Apache-2.0
"""Retries of a use case when another writer was first."""

from collections.abc import Callable
import dataclasses
import logging
from typing import Concatenate
from typing import ParamSpec
from typing import Protocol
from typing import TypeVar

from oslo_log import log
import tenacity

from nova_reservations import exception
from nova_reservations.db import api
from nova_reservations.db import counters
from nova_reservations.engine import budgets

LOG = log.getLogger(__name__)

ATTEMPTS = 12
"""The number of attempts at a use case before contention is reported."""

_SERIALIZE_FROM = ATTEMPTS // 2
"""The number of attempts that do not wait for each other. Later attempts do,
so that one of them wins."""

_SEARCHES = 2
"""The number of times that room may be found, and taken by others meanwhile,
before an attempt waits for others and searches in its turn."""

P = ParamSpec('P')
T = TypeVar('T')


class FoundRoom(Protocol):
    """Resources that a search has found, which only reads."""

    @property
    def moves(self) -> bool:
        """True if promises of others move."""
        ...


@dataclasses.dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt at a use case.

    :ivar number: from 1.
    :ivar in_turn: whether it waits for others that must not book at the same
        time: room was found for it, or was there when others were first.
    :ivar searches: whether it searches room in its own transaction, because
        others have taken what was found outside of it.
    :ivar room: what was found outside of it; None: nothing was searched.
    :ivar budget: the CPU that is left to a dry run; None: it is none.
    """

    number: int = 1
    in_turn: bool = False
    searches: bool = False
    room: FoundRoom | None = None
    budget: budgets.Budget | None = None

    def begin(self, session: api.Session) -> None:
        """Wait for others that must not book at the same time; call this at
        the start of the transaction."""
        if self.in_turn:
            counters.increment(session, 'booking')


SEARCHING = Attempt(searches=True)
"""The attempt of a use case that has no other, or only looks."""


def retry(attempt: Callable[[Attempt], T]) -> T:
    """Begin the use case anew while other writers are first.

    :raises: Contended
    """
    return _retry(
        lambda number: attempt(Attempt(number, number > _SERIALIZE_FROM))
    )


def write(
    database: api.Database,
    change: Callable[Concatenate[api.Session, P], T],
    *args: P.args,
    **kwargs: P.kwargs,
) -> T:
    """Make the change in one transaction, begun anew while other writers are
    first.

    :param change: takes the session first, then all that follows
    :raises: Contended
    """

    def attempt(_: Attempt) -> T:
        with database.writer() as session:
            return change(session, *args, **kwargs)

    return retry(attempt)


def book(
    database: api.Database,
    attempt: Callable[[Attempt], T],
    *,
    dry_run: bool = False,
) -> T:
    """Begin the use case anew while other writers are first, and search room
    for it if it is Crowded.

    The search only reads, and keeps nobody waiting: only what it has found is
    written, under the lock of such bookings, if the generations of all that
    changes are still the same.

    Decision 0031: doc/source/decisions/0031-promises-may-move

    :param dry_run: whether nothing is to be written: the lock is never taken
    :raises: Contended
    :raises: TooLong for a dry run that takes too much CPU
    """
    lost = 0
    # Anybody can ask for a dry run again and again.
    budget = budgets.Budget(budgets.DRY_RUN_SECONDS) if dry_run else None

    def once(number: int) -> T:
        nonlocal lost
        searches = not dry_run and lost >= _SEARCHES
        in_turn = not dry_run and (searches or number > _SERIALIZE_FROM)
        try:
            return attempt(Attempt(number, in_turn, searches, budget=budget))
        except exception.Crowded as crowded:
            search = crowded.search
        # The transaction of the attempt is rolled back by now.
        with database.reader() as session:
            room: FoundRoom = search(session)
        lost += 1
        in_turn = not dry_run and room.moves
        return attempt(Attempt(number, in_turn, room=room, budget=budget))

    return _retry(once)


def _retry(once: Callable[[int], T]) -> T:
    """:raises: Contended"""
    try:
        for retry in tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(exception.Conflict),
            stop=tenacity.stop_after_attempt(ATTEMPTS),
            wait=tenacity.wait_random_exponential(multiplier=0.005, max=0.2),
            after=tenacity.after_log(LOG, logging.DEBUG),
        ):
            with retry:
                return once(retry.retry_state.attempt_number)
    except tenacity.RetryError:
        pass
    raise exception.Contended
