# SPDX-License-Identifier: Apache-2.0
"""Docstrings begin with their subject, or with a verb."""

import ast
from collections.abc import Iterator
import pathlib
import re

_ROOT = pathlib.Path(__file__).parents[3]
_FOLDERS = ('nova_reservations', 'sandbox', 'client')

_QUESTION = re.compile(
    r'(What|Which|Who|Whose|Whoever|Whether|How|Where|Why)\b'
)


def _docstrings(path: pathlib.Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            yield ast.get_docstring(node) or ''


def test_no_docstring_begins_as_a_question() -> None:
    assert [
        (str(path.relative_to(_ROOT)), docstring)
        for folder in _FOLDERS
        for path in sorted((_ROOT / folder).rglob('*.py'))
        for docstring in _docstrings(path)
        if _QUESTION.match(docstring)
    ] == []
