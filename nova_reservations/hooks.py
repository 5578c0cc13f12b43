# SPDX-License-Identifier: Apache-2.0
"""The check, at start, of all that we use of Nova, as ``hook_table`` lists it.

None of it is a stable interface of Nova. If a release changes it, we must stop
with one clear line, and not fail later while a server is handled.
"""

from collections.abc import Callable
from collections.abc import Iterator
import dataclasses
import functools
import importlib
from importlib import metadata
import inspect
import re
from typing import Any

from nova_reservations import exception
from nova_reservations import hook_table

SUPPORTED = range(32, 35)
"""The major releases of Nova that the table was checked against."""


@dataclasses.dataclass(frozen=True, slots=True)
class Hook:
    """Something of Nova that we use.

    :ivar expected: the names of its parameters, or the name of its type.
    :ivar purpose: what we need it for.
    :ivar since: the major release of Nova that has it first.
    """

    processes: frozenset[str]
    module: str
    attribute: str
    expected: tuple[str, ...] | str
    purpose: str
    since: int

    def misfit(self) -> str | None:
        """Return what is not as expected; imports the module."""
        try:
            found: Any = functools.reduce(
                getattr,
                self.attribute.split('.'),
                importlib.import_module(self.module),
            )
        except (ImportError, AttributeError):
            return self._said('is missing')
        if isinstance(self.expected, str):
            if any(
                kind.__name__ == self.expected for kind in type(found).__mro__
            ):
                return None
            return self._said(
                f'is a {type(found).__name__}, not a {self.expected}'
            )
        if not callable(found):
            return self._said('can not be called')
        names = tuple(inspect.signature(found).parameters)
        if names == self.expected:
            return None
        return self._said(
            f'takes ({", ".join(names)}), not ({", ".join(self.expected)})'
        )

    def _said(self, what: str) -> str:
        return f'{self.module}:{self.attribute} {what} ({self.purpose})'


_ROW = re.compile(
    r'(?P<module>[\w.]+):(?P<names>[\w.]+|{[^}]+})'
    r'(\((?P<parameters>[^)]*)\)| is (?P<type>\w+))'
)


def _parse(table: str) -> Iterator[Hook]:
    # A line that is indented deeper than a row continues the row.
    joined = re.sub(r'\n {8}(?=[({])', '', table)
    joined = re.sub(r'\n {8}', ' ', joined)
    processes: frozenset[str] = frozenset()
    purpose = ''
    for line in joined.splitlines():
        text = line.strip()
        match len(line) - len(line.lstrip()):
            case 0:
                processes = frozenset(text.split(', '))
            case 2:
                purpose = text
            case _:
                yield from _hooks(text, processes, purpose)


def _hooks(
    row: str, processes: frozenset[str], purpose: str
) -> Iterator[Hook]:
    found = _ROW.fullmatch(row)
    assert found, row
    parameters = found['parameters']
    since = re.search(r', since Nova (\d+)$', purpose)
    for name in found['names'].strip('{}').split(', '):
        yield Hook(
            processes,
            found['module'],
            name,
            found['type']
            or tuple(parameters.split(', ') if parameters else ()),
            purpose,
            int(since[1]) if since else 0,
        )


HOOKS = tuple(_parse(hook_table.TABLE))


def arguments(
    wrapped: Callable[..., Any], args: Any, kwargs: Any
) -> dict[str, Any]:
    """Return name -> argument of a call, defaults as well, by the signature
    of what is called: Nova may pass them by position or by name."""
    bound = inspect.signature(wrapped).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.arguments


@functools.cache
def check(process: str) -> None:
    """Stop unless this Nova is one that we can hook into.

    :param process: 'api', 'scheduler', 'compute' or 'conductor', whose hooks
        are looked at
    :raises: UnsupportedNova, naming all that does not fit
    """
    found = list(misfits(process))
    if found:
        raise exception.UnsupportedNova(
            f'nova_reservations can not hook into Nova '
            f'{metadata.version("nova")}: {"; ".join(found)}'
        )


def misfits(process: str) -> Iterator[str]:
    """Yield everything in this Nova that is not as our code in the process
    needs it."""
    major = int(metadata.version('nova').split('.')[0])
    if major not in SUPPORTED:
        yield f'supported are {SUPPORTED[0]} to {SUPPORTED[-1]}'
    for hook in HOOKS:
        if f'nova-{process}' not in hook.processes or major < hook.since:
            continue
        if misfit := hook.misfit():
            yield misfit
