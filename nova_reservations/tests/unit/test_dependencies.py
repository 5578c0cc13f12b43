# SPDX-License-Identifier: Apache-2.0
"""The package requires what it imports, but for Nova, and no other."""

import ast
import configparser
import functools
from importlib import metadata
import pathlib
import re
import subprocess
import sys

import nova_reservations

READ = {'tzdata'}
"""Data, not imported: zoneinfo reads tzdata if the system has no zones."""

HOST = {'nova'}
"""What we are installed into: a requirement would put another over it."""

PACKAGE = pathlib.Path(nova_reservations.__file__).parent


def imported():
    """Return the top-level packages that the product imports anywhere."""
    found = set()
    for path in PACKAGE.rglob('*.py'):
        if path.relative_to(PACKAGE).parts[0] == 'tests':
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                found.add(node.module)
    tops = {name.partition('.')[0] for name in found}
    return tops - {PACKAGE.name} - sys.stdlib_module_names


def normal(name):
    return re.sub('[-_.]+', '-', name).lower()


@functools.cache
def setup():
    parser = configparser.ConfigParser()
    parser.read(PACKAGE.parent / 'setup.cfg')
    return parser


def distributions(lines):
    """Return the names, without versions, of a list in setup.cfg."""
    return {normal(re.split('[<>=!~]', line)[0]) for line in lines.split()}


def required():
    """Return the names of all distributions that setup.cfg requires."""
    return distributions(setup()['options']['install_requires'])


def test_imported_packages_are_required_and_nothing_else():
    offered = metadata.packages_distributions()
    by = {top: {normal(name) for name in offered[top]} for top in imported()}
    assert {top for top, names in by.items() if not names & required()} == HOST
    assert required() - set().union(*by.values()) == READ


def test_nova_is_an_extra_that_sandbox_and_tests_use():
    extras = setup()['options.extras_require']
    assert distributions(extras['nova']) == HOST
    assert 'nova-reservations[nova]' in extras['sandbox'].split()
    assert 'nova-reservations[nova]' in extras['pytest'].split()
    assert 'nova-reservations[docs,pytest]' in extras['test'].split()


def test_a_command_without_nova_fails_with_a_line():
    done = subprocess.run(
        [
            sys.executable,
            '-c',
            'import sys; sys.modules["nova"] = None\n'
            'from nova_reservations.cmd import manage',
        ],
        capture_output=True,
        check=False,
        text=True,
    )
    assert (done.returncode, done.stdout) == (1, '')
    assert done.stderr.startswith('Nova is not installed in ')
    assert done.stderr.count('\n') == 1
