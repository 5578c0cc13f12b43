# SPDX-License-Identifier: Apache-2.0
"""Wrappers of Nova's methods that act on the objects kept for theirs.

Each function returns a wrapper as wrapt calls it, of these:

``find``
    The method's object -> what is kept for it; None where nothing is.
``act``
    Gets that, the object, and the arguments of the method by name.
"""

from collections.abc import Callable
from collections.abc import Mapping
from typing import Any
from typing import TypeAlias
from typing import TypeVar

from nova_reservations import hooks

T = TypeVar('T')
Call: TypeAlias = Mapping[str, Any]
"""Name -> argument."""
Wrapper: TypeAlias = Callable[[Callable[..., Any], Any, Any, Any], Any]


def before(
    find: Callable[[Any], T | None], act: Callable[[T, Any, Call], None]
) -> Wrapper:
    def wrapper(
        wrapped: Callable[..., Any], instance: Any, args: Any, kwargs: Any
    ) -> Any:
        kept = find(instance)
        if kept is not None:
            act(kept, instance, hooks.arguments(wrapped, args, kwargs))
        return wrapped(*args, **kwargs)

    return wrapper


def after(
    find: Callable[[Any], T | None], act: Callable[[T, Any, Call], None]
) -> Wrapper:
    """Return a wrapper that acts after the method, unless it has raised."""

    def wrapper(
        wrapped: Callable[..., Any], instance: Any, args: Any, kwargs: Any
    ) -> Any:
        result = wrapped(*args, **kwargs)
        kept = find(instance)
        if kept is not None:
            act(kept, instance, hooks.arguments(wrapped, args, kwargs))
        return result

    return wrapper
