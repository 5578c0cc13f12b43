# SPDX-License-Identifier: Apache-2.0
"""The ``openstack lease`` commands that the documentation shows."""

from collections.abc import Iterator
import pathlib
import shlex

_ROOT = pathlib.Path(__file__).parents[3]
_PROGRAM = 'openstack lease '


def commands() -> Iterator[tuple[str, ...]]:
    """Yield the words after ``openstack lease`` of commands in code blocks."""
    pages = [_ROOT / 'README.rst', _ROOT / 'client' / 'README.rst']
    for page in [*pages, *sorted((_ROOT / 'doc' / 'source').rglob('*.rst'))]:
        lines = iter(page.read_text().splitlines())
        for line in lines:
            # A command has a prompt if its output follows.
            typed = line.lstrip(' ').removeprefix('$ ')
            if line.startswith('    ') and typed.startswith(_PROGRAM):
                yield tuple(_words(typed, lines)[2:])


def _words(line: str, following: Iterator[str]) -> list[str]:
    """Return the words of a command that may span several lines."""
    while True:
        try:
            if not line.endswith('\\'):
                return shlex.split(line)
        except ValueError:  # A quote is still open.
            line += '\n'
        line = line.removesuffix('\\') + next(following)
