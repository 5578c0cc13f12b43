# SPDX-License-Identifier: Apache-2.0
"""What stands between Nova and a plugin: nothing that it raises gets out."""

from collections.abc import Callable
from typing import ParamSpec
from typing import TypeVar

from oslo_log import log

LOG = log.getLogger(__name__)

LIMIT = 3
"""Failures without a good round between them, after which it is enough."""

P = ParamSpec('P')
T = TypeVar('T')
D = TypeVar('D')


class CircuitBreaker:
    """Calls one plugin, until it has failed too often.

    :ivar name: of the plugin, for the log.
    :ivar off: why it is called no more; None while it is.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.off: str | None = None
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
        """
        if self.off is not None:
            return default
        try:
            return function(*args, **kwargs)
        except Exception as error:
            self._failed(where, error)
            return default

    def new_round(self) -> None:
        """A round begins; failures before a good one are forgotten."""
        if self._round_is_good:
            self._failures = 0
        self._round_is_good = True

    def restart(self) -> None:
        """Try it again."""
        self.off = None
        self._failures = 0
        self._round_is_good = True

    def _failed(self, where: str, error: Exception) -> None:
        LOG.error(
            'Plugin %s failed in %s: %s',
            self.name,
            where,
            error,
            exc_info=error,
        )
        self._failures += 1
        self._round_is_good = False
        if self._failures >= LIMIT and self.off is None:
            self.off = (
                f'it failed {self._failures} times, '
                f'at last in {where}: {type(error).__name__}'
            )
            LOG.error(
                'Plugin %s is off until nova-compute reads its '
                'configuration again: %s',
                self.name,
                self.off,
            )
