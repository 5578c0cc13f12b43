# SPDX-License-Identifier: Apache-2.0
"""Each nova-reservations-manage that the documentation shows is parsed."""

import argparse
from collections.abc import Iterator
import pathlib
import re
import shlex

import pytest

from nova_reservations.cmd import manage

_ROOT = pathlib.Path(__file__).parents[4]
_PROGRAM = 'nova-reservations-manage '


def _documented() -> Iterator[str]:
    """Yield the arguments of the commands in code blocks."""
    for page in [
        _ROOT / 'README.rst',
        *(_ROOT / 'doc' / 'source').rglob('*.rst'),
    ]:
        # A command may be continued on the next line.
        text = re.sub(r'\\\n *', '', page.read_text())
        for line in text.splitlines():
            command = line.lstrip(' ').removeprefix('$ ')
            if line.startswith('    ') and command.startswith(_PROGRAM):
                yield command.removeprefix(_PROGRAM)


@pytest.mark.parametrize('arguments', sorted(set(_documented())))
def test_a_documented_command_is_known(arguments: str) -> None:
    parser = argparse.ArgumentParser()
    manage._add_parsers(parser.add_subparsers())

    assert parser.parse_args(shlex.split(arguments)).act
