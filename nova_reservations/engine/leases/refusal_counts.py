# SPDX-License-Identifier: Apache-2.0
"""Counts refusals of leases by their reason, for operators.

A refusal is counted afterwards, in a transaction of its own, because the
refused transaction is rolled back.

Decision 0043: doc/source/decisions/0043-what-operators-watch
"""

from collections.abc import Callable
from collections.abc import Mapping
import functools
from typing import Concatenate
from typing import ParamSpec
from typing import Protocol
from typing import TypeVar

from oslo_log import log

from nova_reservations import exception
from nova_reservations.db import api
from nova_reservations.db import counters
from nova_reservations.engine import transactions

LOG = log.getLogger(__name__)

REASONS: Mapping[type[exception.ReservationsError], str] = {
    exception.NotEnoughResources: 'no_room',
    exception.OverLimit: 'over_limit',
}
"""Class of a refusal that is counted -> the reason that operators read, after
which the counter is named."""


class _UseCase(Protocol):
    @property
    def database(self) -> api.Database: ...


P = ParamSpec('P')
T = TypeVar('T')
S = TypeVar('S', bound=_UseCase)


def counter(reason: str) -> str:
    """Return the name of the counter of a reason."""
    return f'refused_{reason}'


def counted(
    method: Callable[Concatenate[S, P], T],
) -> Callable[Concatenate[S, P], T]:
    """Count the refusals of a use case, except those of dry runs, which ask
    for nothing."""

    @functools.wraps(method)
    def tried(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return method(self, *args, **kwargs)
        except tuple(REASONS) as refusal:
            if not kwargs.get('dry_run'):
                _count(self.database, _reason(refusal))
            raise

    return tried


def _reason(refusal: Exception) -> str:
    """Return the reason; plugins may raise subclasses."""
    return next(
        reason for kind, reason in REASONS.items() if isinstance(refusal, kind)
    )


def _count(database: api.Database, reason: str) -> None:
    try:
        transactions.write(database, counters.increment, counter(reason))
    except (exception.Contended, exception.DatabaseUnavailable) as error:
        # The caller must see the refusal, and not this error.
        LOG.warning('A refusal is not counted: %s', error)
