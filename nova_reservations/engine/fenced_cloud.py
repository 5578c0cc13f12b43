# SPDX-License-Identifier: Apache-2.0
"""The cloud, which threads that were given up do not reach any more."""

from collections.abc import Callable
from collections.abc import Collection
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
    fence: Any = _Fenced(cloud, _PARTS)
    return fence  # type: ignore[no-any-return]


class _Fenced:
    def __init__(self, whole: Any, parts: Collection[str] = ()) -> None:
        self._whole = whole
        self._parts = parts

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._whole, name)
        if name in self._parts:
            return _Fenced(found)
        # A cloud of somebody's own may have more than the port.
        return _checked(found) if callable(found) else found


def _checked(method: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        fences.current()()
        return method(*args, **kwargs)

    return call
