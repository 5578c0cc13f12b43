# SPDX-License-Identifier: Apache-2.0
"""The documentation names files that exist."""

import pathlib
import re

import pytest

_ROOT = pathlib.Path(__file__).parents[3]
_SOURCE = _ROOT / 'doc' / 'source'
_CONTRIBUTOR = _SOURCE / 'contributor'
_PACKAGE = _ROOT / 'nova_reservations'

_PYTHON_FILE = re.compile(r'``([\w/.-]+/[\w-]+\.py)``')
_LAST_COLUMN = re.compile(r'``([\w/]+(?:\.py|/))``$', re.MULTILINE)


def _exists(path: str) -> bool:
    return any(
        (folder / path).exists()
        for folder in (_ROOT, _PACKAGE, _PACKAGE / 'tests')
    )


def test_behaviours_have_files_that_exist() -> None:
    page = (_CONTRIBUTOR / 'where-is-what.rst').read_text()
    first_part = page.partition('Beyond these 36')[0]

    assert len(_LAST_COLUMN.findall(first_part)) == 36
    assert [
        path
        for path in _LAST_COLUMN.findall(page)
        if not (_PACKAGE / path).is_file()
    ] == []


@pytest.mark.parametrize(
    'page',
    [
        pytest.param(page, id=str(page.relative_to(_SOURCE)))
        for page in sorted(_SOURCE.rglob('*.rst'))
        # Another test checks this page.
        if page.name != 'request-to-row.rst'
    ],
)
def test_a_page_names_files_that_exist(page: pathlib.Path) -> None:
    named = _PYTHON_FILE.findall(page.read_text())

    assert [path for path in named if not _exists(path)] == []


def test_the_overview_names_each_folder_of_the_package() -> None:
    page = (_CONTRIBUTOR / 'repo-overview.rst').read_text()

    assert [
        folder.name
        for folder in sorted(_PACKAGE.iterdir())
        if (folder / '__init__.py').exists()
        and f'``{folder.name}/``' not in page
    ] == []
