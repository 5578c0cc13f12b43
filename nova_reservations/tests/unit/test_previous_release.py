# SPDX-License-Identifier: Apache-2.0
"""Names in files of the previous release mean the same in this release."""

import ast
import configparser
import importlib
import importlib.util
import pathlib

from oslo_policy import policy
import pytest

import nova_reservations
from nova_reservations import conf
from nova_reservations import policies
from nova_reservations.tests.previous_release import names

ROOT = pathlib.Path(nova_reservations.__file__).parent.parent


def entry_points():
    """Return (namespace, name) -> target, for both distributions."""
    found = {}
    for setup in ('setup.cfg', 'client/setup.cfg'):
        parser = configparser.ConfigParser(delimiters='=')
        parser.optionxform = str
        parser.read(ROOT / setup)
        for namespace, text in parser['options.entry_points'].items():
            for line in text.split('\n'):
                name, _, target = line.partition(' = ')
                found[namespace, name] = target
    return found


def load(path):
    module, _, name = path.partition(':')
    found = importlib.import_module(module)
    for part in filter(None, name.split('.')):
        found = getattr(found, part)
    return found


@pytest.mark.parametrize(
    ('namespace', 'name'),
    [
        (namespace, name)
        for namespace, known in names.ENTRY_POINTS.items()
        for name in known
    ],
)
def test_an_entry_point_is_still_there(namespace, name):
    assert load(entry_points()[namespace, name]) is not None


@pytest.mark.parametrize('path', names.PATHS)
def test_a_path_in_files_of_nova_still_leads_to_a_class(path):
    module, _, name = path.partition(':')
    # The file is parsed: an import would make this process a nova-scheduler.
    origin = importlib.util.find_spec(module).origin
    tree = ast.parse(pathlib.Path(origin).read_text())
    assert name.partition('.')[0] in {
        node.name for node in tree.body if isinstance(node, ast.ClassDef)
    }


@pytest.mark.parametrize('group', names.OPTIONS)
def test_the_options_of_a_group_are_still_there(group):
    known = {
        option.name
        for its, options in conf.list_opts()
        for option in options
        if its.name == group
    }
    assert set(names.OPTIONS[group]) - known == set()


def test_the_rules_of_policies_are_still_there():
    known = {rule.name: rule for rule in policies.list_rules()}
    assert set(names.POLICIES) - set(known) == set()
    assert all(isinstance(its, policy.RuleDefault) for its in known.values())
