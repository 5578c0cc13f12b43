# SPDX-License-Identifier: Apache-2.0
"""Plugins that an operator names in an option, from their entry points.

Where others go on without one, load() them; where the process must not,
make() them.
"""

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
from typing import Any
from typing import Generic
from typing import TypeVar

from oslo_log import log
from stevedore import named

from nova_reservations.tracking import stats

LOG = log.getLogger(__name__)

T = TypeVar('T')


@dataclasses.dataclass(frozen=True, slots=True)
class Loaded(Generic[T]):
    """:ivar found: name -> class, in the order of the option.

    :ivar missing: name -> why there is no such plugin.
    """

    found: dict[str, type[T]]
    missing: dict[str, str]


def load(
    namespace: str, names: Sequence[str], base: type[T], option: str
) -> Loaded[T]:
    """Return the classes that names stand for.

    Each name that can't be had is one error in the log; the others are
    loaded.

    :param base: what each of them must be a subclass of
    :param option: as operators know it, for the log
    """
    missing: dict[str, str] = {}

    def broken(_: Any, entry_point: Any, error: BaseException) -> None:
        missing[entry_point.name] = (
            f'it can not be loaded: {type(error).__name__}'
        )
        LOG.error(
            '%s names %s, which can not be loaded: %s',
            option,
            entry_point.name,
            error,
            exc_info=error,
        )

    manager = named.NamedExtensionManager(
        namespace,
        list(names),
        on_load_failure_callback=broken,
        # They are told of below, with why.
        on_missing_entrypoints_callback=lambda _: None,
    )
    classes = {extension.name: extension.plugin for extension in manager}
    found: dict[str, type[T]] = {}
    for name in dict.fromkeys(names):
        if name in missing:
            continue
        refusal = _refusal(name, classes.get(name), namespace, base)
        if refusal is None:
            found[name] = classes[name]
        else:
            missing[name] = refusal
            LOG.error('%s names %s: %s', option, name, refusal)
    return Loaded(found, missing)


def make(
    namespace: str,
    names: Collection[str],
    base: type[T],
    option: str,
    failure: type[BaseException],
    *args: Any,
) -> dict[str, T]:
    """Return name -> an object of each of the classes that names stand for.

    :param base: what each of them must be an instance of
    :param option: as operators know it
    :param failure: what is raised, with the reason, if one can't be had
    :param args: what each class is called with
    """

    def missing(unknown: Iterable[str]) -> None:
        raise failure(
            f'{option} names {", ".join(sorted(unknown))}, which no installed '
            f'package offers in {namespace}'
        )

    def broken(_: Any, entry_point: Any, error: BaseException) -> None:
        raise failure(
            f'{option} names {entry_point.name}, which can not be loaded: '
            f'{type(error).__name__}: {error}'
        )

    manager = named.NamedExtensionManager(
        namespace,
        list(names),
        invoke_on_load=True,
        invoke_args=args,
        on_missing_entrypoints_callback=missing,
        on_load_failure_callback=broken,
    )
    made: dict[str, T] = {}
    for extension in manager:
        if not isinstance(extension.obj, base):
            raise failure(
                f'{option} names {extension.name}: it is no {base.__name__}'
            )
        made[extension.name] = extension.obj
    return made


def _refusal(
    name: str, plugin: Any, namespace: str, base: type[Any]
) -> str | None:
    if plugin is None:
        return f'no installed package offers it in {namespace}'
    if not stats.NAME.fullmatch(name) or name == stats.PLUGINS:
        return 'no plugin may have this name'
    if not isinstance(plugin, type) or not issubclass(plugin, base):
        return f'it is no {base.__name__}'
    return None
