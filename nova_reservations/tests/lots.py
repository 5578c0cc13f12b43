# SPDX-License-Identifier: Apache-2.0
"""The tests that take longest, and which of them run with ``--by-lot``.

The seed of pytest-randomly, which a run prints, repeats the draw; runs with
other seeds take others, and ``tools/full`` takes all.
"""

import pathlib
import random

import pytest

HERE = pathlib.Path(__file__).parent
RACES = HERE / 'functional/races'
SERVERS = ('mysql', 'postgresql')


def is_drawn(item: pytest.Item, seed: int) -> bool:
    """Return whether a test runs: each race on one of the database servers,
    not on SQLite, which no cloud runs; and of a third of the files the tests
    that start a Nova, or another service.
    """
    if item.path.parent == RACES:
        return _is_raced_on(item, seed)
    if item.get_closest_marker('functional'):
        return _draw(f'{seed} {item.path.name}', (True, False, False)) is True
    return True


def _is_raced_on(item: pytest.Item, seed: int) -> bool:
    callspec = getattr(item, 'callspec', None)
    server = callspec and callspec.params.get('any_database')
    if server not in ('sqlite', *SERVERS):
        return True
    race = item.nodeid.replace(server, '')
    return server == _draw(f'{seed} {race}', SERVERS)


def _draw(seed: str, among: tuple[object, ...]) -> object:
    return random.Random(seed).choice(among)  # noqa: S311
