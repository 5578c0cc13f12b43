# SPDX-License-Identifier: Apache-2.0
"""A circuit breaker between Nova and a plugin: nothing that it raises gets
out, and one that fails too often is called no more."""

from collections.abc import Callable
from typing import ParamSpec
from typing import TypeVar

from oslo_log import log

LOG = log.getLogger(__name__)

P = ParamSpec('P')
T = TypeVar('T')
D = TypeVar('D')


class CircuitBreaker:
    """Calls one plugin, until it has failed too often.

    :ivar plugin: kind and name, for the log.
    :ivar off: why it is called no more; None while it is.
    """

    def __init__(
        self,
        plugin: str,
        limit: int,
        until: str,
        passed: tuple[type[Exception], ...] = (),
    ) -> None:
        """:param limit: failures without a good round between them, after
            which it is off
        :param until: when it is called again, for the log
        :param passed: exceptions that are answers, and are let through
        """
        self.plugin = plugin
        self.off: str | None = None
        self._limit = limit
        self._until = until
        self._passed = passed
        self._failures = 0
        self._round_is_good = True

    def call(
        self,
        where: str,
        default: D,
        function: Callable[P, T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T | D:
        """Return what function does, or default where it can't be asked.

        :param where: what it is to the author of the plugin, for the log
        :raises: those that are let through
        """
        if self.off is not None:
            return default
        try:
            return function(*args, **kwargs)
        except self._passed:
            raise
        except Exception as error:
            self._failed(where, error)
            return default

    def new_round(self) -> None:
        """Begin a round; failures before a good one are forgotten."""
        if self._round_is_good:
            self._failures = 0
        self._round_is_good = True

    def restart(self) -> None:
        """Forget all failures; a plugin that is off is called again."""
        self.off = None
        self._failures = 0
        self._round_is_good = True

    def _failed(self, where: str, error: Exception) -> None:
        LOG.error(
            '%s has failed in %s: %s',
            self.plugin,
            where,
            error,
            exc_info=error,
        )
        self._failures += 1
        self._round_is_good = False
        if self._failures >= self._limit and self.off is None:
            self.off = (
                f'it failed {self._failures} times, '
                f'at last in {where}: {type(error).__name__}'
            )
            LOG.error(
                '%s is off until %s: %s', self.plugin, self._until, self.off
            )
