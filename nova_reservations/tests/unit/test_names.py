# SPDX-License-Identifier: Apache-2.0
"""The subject of a test's name is a noun: names are read in a list of
failures, where nothing tells what "it" is."""

import pathlib
import re

_TESTS = pathlib.Path(__file__).parent.parent
_PRONOUN = re.compile(
    r'^\s*(?:async )?def '
    r'(test_(?:it|one|each|who|what|they|so|nor)(?:_\w+)?)\(',
    re.MULTILINE,
)


def test_names_of_tests_have_nouns_as_subjects() -> None:
    found = {
        file.relative_to(_TESTS).as_posix(): _PRONOUN.findall(file.read_text())
        for file in sorted(_TESTS.rglob('test_*.py'))
    }
    assert {file: names for file, names in found.items() if names} == {}
