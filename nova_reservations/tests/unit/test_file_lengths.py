# SPDX-License-Identifier: Apache-2.0
"""Files are short enough to be read in one go: one idea each."""

from collections.abc import Iterator
import pathlib

_ROOT = pathlib.Path(__file__).parents[3]
_FOLDERS = ('nova_reservations', 'sandbox', 'client')

_LINES = 500

#: Tables may be longer: a reader looks one row up, and two files would hide
#: that a table is one list.
_TABLES = {
    'nova_reservations/db/migrations/versions/0001_the_first_tables.py',
    'nova_reservations/db/models.py',
}


def _python_files() -> Iterator[pathlib.Path]:
    for folder in _FOLDERS:
        yield from (_ROOT / folder).rglob('*.py')
    for tool in (_ROOT / 'tools').iterdir():
        if 'python' in tool.read_text().partition('\n')[0]:
            yield tool


def _too_long() -> dict[str, int]:
    counts = {
        path.relative_to(_ROOT).as_posix(): len(path.read_text().splitlines())
        for path in _python_files()
    }
    return {name: count for name, count in counts.items() if count > _LINES}


def test_no_file_but_a_table_has_more_than_500_lines() -> None:
    assert {
        name: count
        for name, count in _too_long().items()
        if name not in _TABLES
    } == {}


def test_tables_that_may_be_longer_are() -> None:
    assert _TABLES <= _too_long().keys()
