# SPDX-License-Identifier: Apache-2.0
"""Retries of a use case when another writer was first."""

from collections.abc import Callable
import dataclasses
import logging
from typing import TypeVar

from oslo_log import log
import tenacity

from nova_reservations import exception
from nova_reservations.db import api
from nova_reservations.db import counters

LOG = log.getLogger(__name__)

ATTEMPTS = 12
"""The number of attempts at a use case before contention is reported."""

_SERIALIZE_FROM = ATTEMPTS // 2
"""The number of attempts that do not wait for each other. Later attempts do,
so that one of them wins."""

T = TypeVar('T')


@dataclasses.dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt at a use case.

    :ivar number: from 1.
    :ivar moves_promises: whether it may move promises of others: an earlier
        attempt has found no room without that.
    """

    number: int
    moves_promises: bool = False

    @property
    def is_first(self) -> bool:
        return self.number == 1 and not self.moves_promises

    def begin(self, session: api.Session) -> None:
        """Wait for others that must not book at the same time; call this at
        the start of the transaction."""
        if self.moves_promises or self.number > _SERIALIZE_FROM:
            counters.increment(session, 'booking')


def retry(attempt: Callable[[Attempt], T]) -> T:
    """Begin the use case anew while other writers are first.

    :raises: Contended
    """
    moves_promises = False
    try:
        for retry in tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(exception.Conflict),
            stop=tenacity.stop_after_attempt(ATTEMPTS),
            wait=tenacity.wait_random_exponential(multiplier=0.005, max=0.2),
            after=tenacity.after_log(LOG, logging.DEBUG),
        ):
            with retry:
                number = retry.retry_state.attempt_number
                try:
                    return attempt(Attempt(number, moves_promises))
                except exception.Crowded:
                    moves_promises = True
                    raise
    except tenacity.RetryError:
        pass
    raise exception.Contended
