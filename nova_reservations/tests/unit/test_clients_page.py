# SPDX-License-Identifier: Apache-2.0
"""The page of clients names the versions that the stories run."""

import pathlib
import re

_ROOT = pathlib.Path(__file__).parents[3]
_PAGE = _ROOT / 'doc/source/user/clients.rst'
_VENVS = _ROOT / 'tools/venv'


def table():
    return _PAGE.read_text().partition('What to know')[0]


def pinned():
    lines = (_ROOT / 'constraints.txt').read_text().splitlines()
    return dict(line.split('==') for line in lines if '==' in line)


def test_versions_on_the_page_are_those_that_are_installed():
    listed = dict(re.findall(r'([a-z][\w-]+) (\d[\d.]*\d)', table()))

    assert len(listed) == 6
    assert listed.items() <= pinned().items()


def test_clients_that_are_installed_by_themselves_are_on_the_page():
    installed = re.findall(
        r'^    set -- ([a-z][\w -]+)$', _VENVS.read_text(), re.MULTILINE
    )
    packages = {package for line in installed for package in line.split()}

    assert packages >= {'python-chi', 'blazar-dashboard'}
    assert [
        package for package in sorted(packages) if f'{package} ' not in table()
    ] == []
