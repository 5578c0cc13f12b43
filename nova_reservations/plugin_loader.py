# SPDX-License-Identifier: Apache-2.0
"""Plugins that an operator names in an option, from their entry points."""

from collections.abc import Callable
from collections.abc import Collection
import dataclasses
from typing import Any
from typing import Generic
from typing import TypeVar

from oslo_log import log
from stevedore import extension
from stevedore import named

LOG = log.getLogger(__name__)

T = TypeVar('T')


@dataclasses.dataclass(frozen=True, slots=True)
class Loaded(Generic[T]):
    """:ivar found: name -> class, in the order of the option.

    :ivar missing: name -> why there is no such plugin.
    """

    found: dict[str, type[T]]
    missing: dict[str, str]


def installed(namespace: str) -> list[str]:
    """Return the names of all plugins that installed packages offer."""
    manager: extension.ExtensionManager[Any] = extension.ExtensionManager(
        namespace,
        # load() tells why one can not be loaded.
        on_load_failure_callback=lambda *_: None,
    )
    return manager.entry_points_names()


def load(
    namespace: str,
    names: Collection[str],
    base: type[T],
    option: str,
    required: type[BaseException] | None = None,
    is_name: Callable[[str], bool] = bool,
) -> Loaded[T]:
    """Return the classes that names stand for.

    :param base: what each of them must be a subclass of
    :param option: as operators know it
    :param required: the exception to raise, with the reason, if a plugin can't
        be loaded; None: log an error, and load the others
    :param is_name: returns whether a plugin may have this name
    """
    broken: dict[str, BaseException] = {}

    def remember(_: Any, entry_point: Any, error: BaseException) -> None:
        broken[entry_point.name] = error

    manager = named.NamedExtensionManager(
        namespace,
        list(names),
        on_load_failure_callback=remember,
        # The loop below reports these names, with the reason.
        on_missing_entrypoints_callback=lambda _: None,
    )
    classes = {extension.name: extension.plugin for extension in manager}
    loaded: Loaded[T] = Loaded({}, {})
    for name in dict.fromkeys(names):
        error = broken.get(name)
        if error is not None:
            refusal: str | None = (
                f'it can not be loaded: {type(error).__name__}'
            )
        else:
            refusal = _refusal(classes.get(name), namespace, base)
            if refusal is None and not is_name(name):
                refusal = 'no plugin may have this name'
        if refusal is None:
            loaded.found[name] = classes[name]
            continue
        if required is not None:
            raise required(
                f'{option} names {name}: {refusal}'
                + (f': {error}' if error is not None else '')
            ) from error
        loaded.missing[name] = refusal
        LOG.error('%s names %s: %s', option, name, refusal, exc_info=error)
    return loaded


def make(
    namespace: str,
    names: Collection[str],
    base: type[T],
    option: str,
    required: type[BaseException] | None,
    *args: Any,
) -> dict[str, T]:
    """Return name -> an object of each of the classes that names stand for.

    :param args: what each class is called with; the others are as of load(),
        and required also for those that can't be made
    """
    made: dict[str, T] = {}
    for name, plugin in load(
        namespace, names, base, option, required
    ).found.items():
        try:
            made[name] = plugin(*args)
        except Exception as error:
            refusal = (
                f'{option} names {name}: it can not be made: '
                f'{type(error).__name__}: {error}'
            )
            if required is not None:
                raise required(refusal) from error
            LOG.exception('%s', refusal)
    return made


def _refusal(plugin: Any, namespace: str, base: type[Any]) -> str | None:
    if plugin is None:
        return f'no installed package offers it in {namespace}'
    if not isinstance(plugin, type) or not issubclass(plugin, base):
        return f'it is no {base.__name__}'
    return None
