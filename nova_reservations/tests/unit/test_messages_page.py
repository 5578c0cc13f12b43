# SPDX-License-Identifier: Apache-2.0
"""The page of messages has those that the code has."""

import ast
from collections.abc import Iterator
import pathlib
import re

import nova
import pytest

_ROOT = pathlib.Path(__file__).parents[3]
_PAGE = _ROOT / 'doc' / 'source' / 'user' / 'messages.rst'
_PACKAGE = _ROOT / 'nova_reservations'
_NOVA = pathlib.Path(nova.__file__).with_name('exception.py')
_POLICY = "Policy doesn't allow reservations:..."
"""Nova's policy says it, of the rule that is not met."""


def listed() -> list[str]:
    """Return the first column, without the backquotes."""
    return re.findall(r'^   \* - ``(.+)``$', _PAGE.read_text(), re.MULTILINE)


def _texts(path: pathlib.Path) -> Iterator[str]:
    """Yield the texts in a module; NUL stands for what is put into them."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.JoinedStr):
            yield ''.join(
                str(part.value) if isinstance(part, ast.Constant) else '\0'
                for part in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield re.sub(r'%\(\w+\)[sd]', '\0', node.value)


@pytest.fixture(scope='module')
def said():
    ours = [
        path
        for path in _PACKAGE.rglob('*.py')
        if 'tests' not in path.relative_to(_PACKAGE).parts
    ]
    return '\n'.join(text for path in [*ours, _NOVA] for text in _texts(path))


@pytest.mark.parametrize('message', [m for m in listed() if m != _POLICY])
def test_a_message_is_one_of_the_code(message, said):
    parts = [part.strip() for part in message.split('...')]

    assert [part for part in parts if part not in said] == []


def test_the_page_lists_messages():
    assert len(listed()) > 40
