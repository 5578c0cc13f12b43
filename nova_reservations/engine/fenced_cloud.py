# SPDX-License-Identifier: Apache-2.0
"""The cloud, which threads that were given up do not reach any more."""

from collections.abc import Callable
from typing import Any

from nova_reservations import ports
from nova_reservations.ports import fences

_PARTS = frozenset(
    name
    for name, value in vars(ports.Cloud).items()
    if isinstance(value, property)
)


def fenced(cloud: ports.Cloud) -> ports.Cloud:
    """Return the cloud; each of its methods first checks the thread's fence,
    and then may raise AttemptLost, too."""
    fence: Any = _Fenced(cloud)
    return fence  # type: ignore[no-any-return]


class _Fenced:
    def __init__(self, cloud: ports.Cloud) -> None:
        self._cloud = cloud

    def __getattr__(self, name: str) -> Any:
        part = getattr(self._cloud, name)
        if name in _PARTS:
            return _Part(part)
        # A cloud of somebody's own may have more than the port.
        return _checked(part) if callable(part) else part


class _Part:
    def __init__(self, part: Any) -> None:
        self._part = part

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._part, name)
        return _checked(found) if callable(found) else found


def _checked(method: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        fences.current()()
        return method(*args, **kwargs)

    return call
