# SPDX-License-Identifier: Apache-2.0
"""The code that implements a decision note cites it."""

from collections.abc import Iterator
import pathlib
import re

_ROOT = pathlib.Path(__file__).parents[3]
_PACKAGE = _ROOT / 'nova_reservations'
_NOTES = _ROOT / 'doc' / 'source' / 'decisions'

_CITATION = re.compile(r'Decision (\d{4}): (doc/source/decisions/[\w-]+)$')
_NUMBER = re.compile(r'\bdecision\s+\d', re.IGNORECASE)


def _lines() -> Iterator[tuple[str, str]]:
    for path in sorted(_PACKAGE.rglob('*.py')):
        if not path.is_relative_to(_PACKAGE / 'tests'):
            for line in path.read_text().splitlines():
                yield str(path.relative_to(_ROOT)), line.removesuffix('"""')


def _notes() -> dict[str, str]:
    return {
        note.name[:4]: str(note.relative_to(_ROOT).with_suffix(''))
        for note in _NOTES.glob('0*.rst')
    }


def test_decisions_are_cited_by_code() -> None:
    cited = {
        found[1]
        for _, line in _lines()
        if (found := _CITATION.search(line)) is not None
    }

    assert sorted(_notes().keys() - cited) == []


def test_citations_name_notes_that_exist() -> None:
    notes = _notes()

    assert [
        (path, line)
        for path, line in _lines()
        if _NUMBER.search(line)
        and (
            (found := _CITATION.search(line)) is None
            or notes.get(found[1]) != found[2]
        )
    ] == []
