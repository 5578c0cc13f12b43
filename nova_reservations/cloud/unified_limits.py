# SPDX-License-Identifier: Apache-2.0
"""Unified limits of keystone, read as Nova reads its own: by oslo.limit, with
the endpoint of the compute service in ``[oslo_limit]``.

Only the limits that oslo.limit reads are used, and not its enforcement: that
treats an unregistered limit as 0, and -1 as a number.
"""

from collections.abc import Callable
import dataclasses
from importlib import metadata
import threading
import time

from keystoneauth1 import exceptions as session_exceptions
from openstack import exceptions as sdk_exceptions
from oslo_config import cfg
from oslo_limit import exception as limit_exceptions
from oslo_limit import limit
from oslo_log import log

from nova_reservations import exception
from nova_reservations.objects import limits

LOG = log.getLogger(__name__)

PREFIX = 'reservations:'

MOST = 10_000
"""The number of projects whose limits are cached."""

PAUSE = 10
"""Seconds for which keystone is not asked again after it did not answer."""

FAILURES = (
    limit_exceptions.SessionInitError,
    sdk_exceptions.SDKException,
    session_exceptions.ClientException,
    # The endpoint of [oslo_limit] does not exist, or oslo.limit does not know
    # keystone's enforcement model.
    ValueError,
    NotImplementedError,
)
"""The errors that oslo.limit raises when it has no answer."""


def check() -> None:
    """Check that this oslo.limit, unlike that of 2025.1, tells all limits at
    once.

    :raises: cfg.ConfigFileValueError
    """
    version = metadata.version('oslo.limit')
    if tuple(map(int, version.split('.')[:2])) < (2, 7):
        raise cfg.ConfigFileValueError(
            '[reservations] limits = unified wants oslo.limit 2.7 or later; '
            f'{version} is installed'
        )


@dataclasses.dataclass(frozen=True, slots=True)
class _Known:
    """:ivar until: when keystone is asked again."""

    limits: limits.Limits
    until: float


class UnifiedLimits:
    """Opens nothing until it is used, and so may be made before a fork.

    :ivar seconds: for how long an answer is cached.
    """

    def __init__(
        self, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """:raises: cfg.ConfigFileValueError if oslo.limit is too old"""
        check()
        self.seconds = seconds
        self._clock = clock
        self._enforcer: limit.Enforcer | None = None
        self._known: dict[str, _Known] = {}
        self._silent_until: float | None = None
        self._lock = threading.Lock()

    def __call__(self, project_id: str) -> limits.Limits:
        """Return the limits of a project, from a recent answer of keystone;
        if keystone does not answer, from its last answer.

        :raises: LimitsUnknown if there is no answer
        """
        with self._lock:
            known = self._known.get(project_id)
            if known is not None and self._clock() < known.until:
                return known.limits
            asks = not self._is_silent()
            if known is not None and asks:
                # Other threads use the old limits meanwhile: they neither
                # wait for this answer nor ask themselves.
                self._remember(project_id, known.limits)
        if asks:
            try:
                return self._heard(project_id, self._ask(project_id))
            except FAILURES as error:
                self._has_failed(error)
        if known is None:
            raise exception.LimitsUnknown(reason='it does not answer')
        return known.limits

    def _is_silent(self) -> bool:
        """Return whether keystone must not be asked now, because it is silent:
        each request to it blocks a thread of nova-api until the time-out."""
        if self._silent_until is None:
            return False
        if self._clock() < self._silent_until:
            return True
        # This request checks whether keystone is back; no other one waits
        # meanwhile.
        self._silent_until = self._clock() + PAUSE
        return False

    def _has_failed(self, error: Exception) -> None:
        with self._lock:
            self._silent_until = self._clock() + PAUSE
        LOG.warning(
            'Keystone does not tell limits, and is not asked for %(pause)d '
            'seconds; those that it has told last hold on: %(error)s',
            {'pause': PAUSE, 'error': error},
        )

    def _heard(self, project_id: str, found: limits.Limits) -> limits.Limits:
        with self._lock:
            self._silent_until = None
            self._remember(project_id, found)
        return found

    def _remember(self, project_id: str, found: limits.Limits) -> None:
        self._known.pop(project_id, None)
        if len(self._known) >= MOST:
            del self._known[next(iter(self._known))]
        self._known[project_id] = _Known(found, self._clock() + self.seconds)

    def _ask(self, project_id: str) -> limits.Limits:
        if self._enforcer is None:
            # Without a cache: oslo.limit's would never expire.
            self._enforcer = limit.Enforcer(lambda *_: {}, cache=False)
        model = self._enforcer.model
        # All limits at once: oslo.limit would send a request per name.
        found = dict(
            model.get_registered_limits(None)  # type: ignore[arg-type]
        )
        found |= dict(
            model.get_project_limits(project_id, None)  # type: ignore[arg-type]
        )
        return limits.Limits.of(
            {
                name.removeprefix(PREFIX): number
                for name, number in found.items()
                if name.startswith(PREFIX)
            }
        )
