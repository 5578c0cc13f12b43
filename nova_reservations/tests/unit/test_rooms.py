# SPDX-License-Identifier: Apache-2.0
"""Folders by subject: a reader knows the room before the file."""

import ast
import pathlib

import pytest

_PACKAGE = pathlib.Path(__file__).parents[2]
_OVERVIEW = _PACKAGE.parent / 'doc/source/contributor/repo-overview.rst'

_MOST_FILES = 20
_FLOORS = ('api', 'cloud', 'db', 'engine', 'planner', 'types')

_ROOMS = [
    room.parent
    for floor in _FLOORS
    for room in sorted((_PACKAGE / floor).rglob('__init__.py'))
]


def _path(room: pathlib.Path) -> str:
    return room.relative_to(_PACKAGE).as_posix()


@pytest.mark.parametrize('room', _ROOMS, ids=_path)
def test_a_room_holds_20_files_at_most(room: pathlib.Path) -> None:
    files = [file for file in room.glob('*.py') if file.stem != '__init__']
    assert len(files) <= _MOST_FILES


@pytest.mark.parametrize(
    'room', [room for room in _ROOMS if _path(room) not in _FLOORS], ids=_path
)
def test_the_overview_and_the_room_itself_say_what_it_is_for(
    room: pathlib.Path,
) -> None:
    assert ast.get_docstring(ast.parse((room / '__init__.py').read_text()))
    assert f'``{_path(room)}/``' in _OVERVIEW.read_text()
