# SPDX-License-Identifier: Apache-2.0
"""Retries of a use case when another writer was first."""

from collections.abc import Callable
import logging
from typing import TypeVar

from oslo_log import log
import tenacity

from nova_reservations import exception

LOG = log.getLogger(__name__)

ATTEMPTS = 12
"""The number of times that a use case is begun before contention is
reported."""

SERIALIZE_FROM = ATTEMPTS // 2
"""The number of attempts that do not wait for each other. Of later ones, which
do, one wins."""

T = TypeVar('T')


def retry(attempt: Callable[[int], T]) -> T:
    """Begin the use case anew while other writers are first.

    :param attempt: takes its number, from 1
    :raises: Contended
    """
    try:
        for retry in tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(exception.Conflict),
            stop=tenacity.stop_after_attempt(ATTEMPTS),
            wait=tenacity.wait_random_exponential(multiplier=0.005, max=0.2),
            after=tenacity.after_log(LOG, logging.DEBUG),
        ):
            with retry:
                return attempt(retry.retry_state.attempt_number)
    except tenacity.RetryError:
        pass
    raise exception.Contended
