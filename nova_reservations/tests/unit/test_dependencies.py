# SPDX-License-Identifier: Apache-2.0
"""The package requires the distributions that it imports, and no other."""

import ast
import configparser
import functools
from importlib import metadata
import pathlib
import re
import sys

import nova_reservations

READ = {'tzdata'}
"""Data, not imported: zoneinfo reads tzdata if the system has no zones."""

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
def required():
    """Return the names of all distributions that setup.cfg requires."""
    setup = configparser.ConfigParser()
    setup.read(PACKAGE.parent / 'setup.cfg')
    lines = setup['options']['install_requires'].split()
    return {normal(re.split('[<>=!~]', line)[0]) for line in lines}


def test_what_is_imported_is_required_and_nothing_else():
    offered = metadata.packages_distributions()
    by = {top: {normal(name) for name in offered[top]} for top in imported()}
    assert {
        top for top, names in by.items() if not names & required()
    } == set()
    assert required() - set().union(*by.values()) == READ
