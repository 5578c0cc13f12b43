# SPDX-License-Identifier: Apache-2.0
"""Blocks of the documentation that name their language are of it."""

from collections.abc import Iterator
import configparser
import pathlib
import re
import textwrap

import pytest
import yaml

_ROOT = pathlib.Path(__file__).parents[3]
_BLOCK = re.compile(
    r'^( *)\.\. code-block:: (\w+)\n(?:\1 +:.*\n)*\n((?:\1 +.*\n|\n)+)',
    re.MULTILINE,
)


def blocks() -> Iterator[tuple[str, str, str]]:
    """Yield page, language and text."""
    pages = sorted((_ROOT / 'doc' / 'source').rglob('*.rst'))
    for page in [*pages, _ROOT / 'client' / 'README.rst']:
        for _, language, text in _BLOCK.findall(page.read_text()):
            yield page.stem, language, textwrap.dedent(text)


def of(wanted: str) -> list[object]:
    return [
        pytest.param(text, id=f'{page}-{number}')
        for number, (page, language, text) in enumerate(blocks())
        if language == wanted
    ]


@pytest.mark.parametrize('text', of('python'))
def test_python_is_python(text):
    compile(text, 'block', 'exec')


@pytest.mark.parametrize('text', of('yaml'))
def test_yaml_is_yaml(text):
    assert yaml.safe_load(text)


@pytest.mark.parametrize('text', of('ini'))
def test_ini_has_sections_with_options(text):
    # An option may be given several times.
    read = configparser.RawConfigParser(strict=False, allow_no_value=True)
    read.read_string(text)

    assert read.sections()


def test_there_are_blocks_of_each():
    assert {'python', 'yaml', 'ini'} <= {each[1] for each in blocks()}
