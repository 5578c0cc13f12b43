# SPDX-License-Identifier: Apache-2.0
"""Limits that keystone has, as Nova asks for its own: by oslo.limit, with the
endpoint of the compute service in ``[oslo_limit]``.

Only what oslo.limit finds is used, and not its enforcement: that takes what
is not registered for 0, and -1 for a number.
"""

from collections.abc import Callable
import dataclasses
import threading
import time

from keystoneauth1 import exceptions as session_exceptions
from openstack import exceptions as sdk_exceptions
from oslo_limit import exception as limit_exceptions
from oslo_limit import limit
from oslo_log import log

from nova_reservations import exception
from nova_reservations.objects import limits

LOG = log.getLogger(__name__)

PREFIX = 'reservations:'

MOST = 10_000
"""Projects whose limits are remembered."""

PAUSE = 10
"""Seconds for which keystone is not asked after it has not answered."""

FAILURES = (
    limit_exceptions.SessionInitError,
    sdk_exceptions.SDKException,
    session_exceptions.ClientException,
    # What [oslo_limit] describes is not there, or keystone's model is one
    # that oslo.limit does not know.
    ValueError,
    NotImplementedError,
)
"""The errors with which oslo.limit says that it has no answer."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Known:
    """:ivar until: when keystone is asked again."""

    limits: limits.Limits
    until: float


class UnifiedLimits:
    """Opens nothing until it is used, and so may be made before a fork.

    :ivar seconds: for which an answer holds.
    """

    def __init__(
        self, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.seconds = seconds
        self._clock = clock
        self._enforcer: limit.Enforcer | None = None
        self._known: dict[str, _Known] = {}
        self._silent_until: float | None = None
        self._lock = threading.Lock()

    def __call__(self, project_id: str) -> limits.Limits:
        """Return the limits of a project: as keystone has said lately, or, if
        it does not answer, as it has said last.

        :raises: LimitsUnknown if that is not known
        """
        with self._lock:
            known = self._known.get(project_id)
            if known is not None and self._clock() < known.until:
                return known.limits
            asks = not self._is_silent()
            if known is not None and asks:
                # Others do not wait for the answer, nor ask too.
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
        """Return whether keystone is not to be asked: a request that waits
        for it keeps one of nova-api's threads for the whole time-out."""
        if self._silent_until is None:
            return False
        if self._clock() < self._silent_until:
            return True
        # One request finds out whether it is back; no other waits meanwhile.
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
            # It would never forget what it has read.
            self._enforcer = limit.Enforcer(lambda *_: {}, cache=False)
        model = self._enforcer.model
        # Each name that is asked for would be a request.
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
