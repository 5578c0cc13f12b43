# SPDX-License-Identifier: Apache-2.0
"""The subject of a test's name is a noun: names are read in a list of
failures, where nothing tells what "it" is, nor which test is above."""

import pathlib
import re

_ROOT = pathlib.Path(__file__).parents[3]
_FOLDERS = ('nova_reservations', 'sandbox', 'client')
_PRONOUN = (
    'it|its|one|each|who|whom|what|they|others|none|that|those|this|these'
)
_GOES_ON = 'and|but|or|so|nor|neither|not|also|then|unless|which'
_OPENS = (
    'after|as|at|before|by|for|from|if|in|of|on|only|to|until|when|whenever|'
    'where|while|with|without'
)
_WITHOUT_NOUN = re.compile(
    r'^\s*(?:async )?def '
    rf'(test_(?:{_GOES_ON}|{_PRONOUN}|'
    rf'(?:{_OPENS})_(?:it|its|they|what|who|that|those))(?:_\w+)?)\(',
    re.MULTILINE,
)


def test_names_of_tests_have_nouns_as_subjects() -> None:
    found = {
        file.relative_to(_ROOT).as_posix(): names
        for folder in _FOLDERS
        for file in sorted((_ROOT / folder).rglob('test_*.py'))
        if (names := _WITHOUT_NOUN.findall(file.read_text()))
    }
    assert found == {}
