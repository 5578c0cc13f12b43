# SPDX-License-Identifier: Apache-2.0
"""Limits: their grammar, the servers that they are for, and their crossing.

Pure: what has been measured and when are arguments.
"""

from collections.abc import Iterable
import dataclasses
import fnmatch
import json
import re
from typing import Literal

from nova_reservations.compute.metrics import base
from nova_reservations.compute.metrics import measures

UNITS = {
    '': 1.0,
    '%': 1.0,
    'kB': 1e3,
    'MB': 1e6,
    'GB': 1e9,
    'TB': 1e12,
    'KiB': 2.0**10,
    'MiB': 2.0**20,
    'GiB': 2.0**30,
    'TiB': 2.0**40,
    'kbit': 125.0,
    'Mbit': 125e3,
    'Gbit': 125e6,
}
"""Suffix of a number -> the factor that it stands for."""

EXTRA_SPEC = 'reservations_limit:'
"""Extra specs and metadata whose names begin with this are limits of a
server."""

MOST = 8
"""The most entries of a server's metadata that are read as limits."""

_GRAMMAR = re.compile(
    r'(?:(?P<host>host)\s+)?'
    r'(?P<measure>[a-z_.]+)\s+(?P<direction>over|under)\s+(?P<bound>\S+)'
    r'(?:\s+until\s+(?P<until>\S+))?'
    r'(?:\s+for\s+(?P<hold>\d{1,6}))?'
    r'(?:\s+where\s+(?P<where>.+))?',
)
_NUMBER = re.compile(r'(\d+(?:\.\d+)?)([A-Za-z%]*)')
_PROPERTIES = ('flavor', 'project', 'user', 'server', 'name')
_KEYED = ('extra_spec:', 'metadata:')


class NotALimit(ValueError):
    """Its text says what is wrong with it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Limit:
    """:ivar host: whether it is for the host and not for servers.

    :ivar bound: beyond which it is exceeded; bytes, percent, or what the
        measure counts.
    :ivar until: where it is cleared again.
    :ivar hold: seconds that it must last.
    :ivar where: property, pattern.
    :ivar text: as it was written.
    """

    host: bool
    measure: str
    direction: Literal['over', 'under']
    bound: float
    until: float
    hold: int
    where: tuple[tuple[str, str], ...]
    text: str

    @property
    def key(self) -> tuple[object, ...]:
        """Return a key of the limit that stays when its numbers change."""
        return self.host, self.measure, self.direction, self.where

    def is_for(self, server: base.Server | None) -> bool:
        if server is None or self.host:
            return server is None and self.host
        return all(
            fnmatch.fnmatchcase(_property(server, name), pattern)
            for name, pattern in self.where
        )

    def exceeded(self, value: float) -> bool:
        if self.direction == 'over':
            return value > self.bound
        return value < self.bound

    def cleared(self, value: float) -> bool:
        if self.direction == 'over':
            return value <= self.until
        return value >= self.until


def parse(text: str) -> Limit:
    """Return the limit that text says.

    :raises: NotALimit
    """
    # Users write some limits, and operators read them in logs: these must not
    # contain line breaks or other control characters.
    text = ' '.join(text.split())
    found = _GRAMMAR.fullmatch(text)
    if found is None or not text.isprintable():
        raise NotALimit(
            f'{_quoted(text)} is not of the form: '
            '[host] MEASURE over|under NUMBER '
            '[until NUMBER] [for SECONDS] [where PROPERTY=PATTERN [and ...]]'
        )
    measure = found['measure']
    if measure not in measures.BY_NAME:
        raise NotALimit(f'{_quoted(text)}: there is no measure {measure}')
    bound = _number(text, found['bound'])
    until = bound
    if found['until']:
        until = _number(text, found['until'])
    over = found['direction'] == 'over'
    if until > bound if over else until < bound:
        raise NotALimit(
            f'{_quoted(text)} would be cleared while it is exceeded'
        )
    if found['host'] and found['where']:
        raise NotALimit(f'{_quoted(text)}: a host has no properties')
    return Limit(
        host=bool(found['host']),
        measure=measure,
        direction='over' if over else 'under',
        bound=bound,
        until=until,
        hold=int(found['hold'] or 0),
        where=_where(text, found['where'] or ''),
        text=text,
    )


def _quoted(text: str) -> str:
    """Return the text in quotes, with escapes for what can't be printed."""
    return json.dumps(text)


def _number(text: str, written: str) -> float:
    found = _NUMBER.fullmatch(written)
    if found is None or found[2] not in UNITS:
        raise NotALimit(
            f'{_quoted(text)}: {_quoted(written)} is no number, '
            'alone or with one of '
            f'{", ".join(filter(None, UNITS))}'
        )
    return float(found[1]) * UNITS[found[2]]


def _where(text: str, written: str) -> tuple[tuple[str, str], ...]:
    where = []
    for term in re.split(r'\s+and\s+', written) if written else ():
        name, equals, pattern = term.strip().partition('=')
        known = name in _PROPERTIES or (
            name.startswith(_KEYED) and not name.endswith(':')
        )
        if not known or not equals or not pattern or ' ' in pattern:
            raise NotALimit(
                f'{_quoted(text)}: {_quoted(term)} is not '
                'PROPERTY=PATTERN with one of '
                f'{", ".join((*_PROPERTIES, *_KEYED))}'
            )
        where.append((name, pattern))
    return tuple(where)


def _property(server: base.Server, name: str) -> str:
    """Return a property as text; '' if the server does not have it."""
    kind, colon, key = name.partition(':')
    if colon:
        held = (
            server.flavor.extra_specs
            if kind == 'extra_spec'
            else server.metadata or {}
        )
        return held.get(key, '')
    return {
        'flavor': server.flavor.name,
        'project': server.project_id,
        'user': server.user_id,
        'server': server.uuid,
        'name': server.display_name,
    }[name]


@dataclasses.dataclass(slots=True)
class State:
    """The state of one server, or of the host, with regard to one limit.

    :ivar limit: as it was at the last look.
    :ivar since: when it began to be exceeded; None if it is not.
    :ivar told: whether its being exceeded has been told.
    :ivar value: what was measured last.
    """

    limit: Limit
    since: float | None = None
    told: bool = False
    value: float = 0.0


@dataclasses.dataclass(frozen=True, slots=True)
class Crossing:
    """:ivar exceeded: False if it is cleared.

    :ivar since: when it began to be exceeded.
    """

    limit: Limit
    exceeded: bool
    value: float
    since: float | None


class Subject:
    """A server, or the host, and its state with regard to its limits."""

    def __init__(self) -> None:
        self._states: dict[tuple[object, ...], State] = {}

    def look(self, limit: Limit, value: float, at: float) -> Crossing | None:
        """Return the crossing that follows from a measured value, if any.

        Each crossing is told once: the limit is exceeded when it has been so
        for its hold time, and cleared when the value is back at ``until``.
        Between the two it stays as it is. Its numbers may have changed since
        the last look.
        """
        state = self._states.setdefault(limit.key, State(limit))
        state.limit, state.value = limit, value
        if state.told:
            if not limit.cleared(value):
                return None
            crossing = Crossing(limit, False, value, state.since)
            state.told, state.since = False, None
            return crossing
        if not limit.exceeded(value):
            state.since = None
            return None
        if state.since is None:
            state.since = at
        if at - state.since < limit.hold:
            return None
        state.told = True
        return Crossing(limit, True, value, state.since)

    def keep(self, limits: Iterable[Limit]) -> list[Crossing]:
        """Forget limits that no longer exist.

        :returns: those of them that had been told to be exceeded, as cleared
        """
        kept = {limit.key for limit in limits}
        gone = [self._states.pop(key) for key in self._states.keys() - kept]
        return [
            Crossing(state.limit, False, state.value, state.since)
            for state in gone
            if state.told
        ]
