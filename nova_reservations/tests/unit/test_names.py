# SPDX-License-Identifier: Apache-2.0
"""The subject of a test's name is a noun: names are read in a list of
failures, where nothing tells what "it" is."""

import pathlib
import re

_HERE = pathlib.Path(__file__).parent
_TESTS = _HERE.parent
_PRONOUN = re.compile(
    r'^\s*(?:async )?def '
    r'(test_(?:it|one|each|who|what|they|so|nor)(?:_\w+)?)\(',
    re.MULTILINE,
)
_NOT_YET = {
    'unit/cloud',
    'unit/cmd',
    'unit/compute',
    'unit/compute/metrics',
    'unit/db',
}
"""Folders whose tests are not renamed yet. None may be added."""


def _found() -> dict[str, list[str]]:
    """Return folder -> names of its tests that begin with a pronoun."""
    found: dict[str, list[str]] = {}
    for file in sorted(_TESTS.rglob('test_*.py')):
        folder = file.parent.relative_to(_TESTS).as_posix()
        names = _PRONOUN.findall(file.read_text())
        found.setdefault(folder, []).extend(names)
    return {folder: names for folder, names in found.items() if names}


def test_names_of_tests_have_nouns_as_subjects() -> None:
    assert {
        folder: names
        for folder, names in _found().items()
        if folder not in _NOT_YET
    } == {}


def test_folders_that_are_not_renamed_yet_have_something_to_rename() -> None:
    assert _found().keys() >= _NOT_YET
