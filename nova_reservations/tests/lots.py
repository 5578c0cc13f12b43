# SPDX-License-Identifier: Apache-2.0
"""The tests that take longest, and which of them run with ``--by-lot``.

The seed of pytest-randomly, which a run prints, repeats the draw; runs with
other seeds take others, and ``tools/full`` takes all.
"""

from collections.abc import Sequence
import pathlib
import random

import pytest

RACES = pathlib.Path(__file__).parent / 'functional/races'
SERVERS = ('mysql', 'postgresql')


def is_drawn(item: pytest.Item, seed: int) -> bool:
    """Return whether a test runs:

    - of tests that start a Nova, or another service, those of a quarter of
      the files;
    - of the fuzz tier, one in three;
    - of tests on each kind of database, those on one of the two servers, and
      on SQLite. Races on SQLite do not run: no cloud has them.
    """
    if item.get_closest_marker('functional'):
        return _draw(f'{seed} {item.path.name}', range(4)) == 0
    if item.get_closest_marker('fuzz'):
        return _draw(f'{seed} {item.nodeid}', range(3)) == 0
    kind = _kind_of_database(item)
    if kind in SERVERS:
        return kind == _draw(
            f'{seed} {item.nodeid.replace(kind, "")}', SERVERS
        )
    return kind != 'sqlite' or item.path.parent != RACES


def _kind_of_database(item: pytest.Item) -> object:
    callspec = getattr(item, 'callspec', None)
    params = callspec.params if callspec else {}
    return params.get('any_database') or params.get('database_url')


def _draw(seed: str, among: Sequence[object]) -> object:
    return random.Random(seed).choice(among)  # noqa: S311
