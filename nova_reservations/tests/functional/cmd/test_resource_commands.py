# SPDX-License-Identifier: Apache-2.0
"""Commands for resources of a type from another package, and the commands that
the documentation prints."""

import json
import pathlib
import re
import shlex
import shutil
import sys

import pytest
from stevedore import extension

from nova_reservations import objects
from nova_reservations.engine.booking import lease_requests
from nova_reservations.testing.region import minutes
from nova_reservations.tests.examples import installed
from nova_reservations.tests.examples import licences as examples

ROOT = pathlib.Path(__file__).parents[4]
PAGES = (
    ROOT / 'doc' / 'source' / 'contributor' / 'resource-types.rst',
    ROOT / 'doc' / 'source' / 'admin' / 'resources.rst',
)
MODULES = ('licences', 'licence_monitor')
TYPE = 'example:licence'


def printed(page):
    """Yield the words of each command that a page prints."""
    text = re.sub(r'\\\n *', '', page.read_text())
    for line in text.splitlines():
        _, found, words = line.partition('    nova-reservations-manage ')
        if found:
            yield shlex.split(words)


@pytest.fixture
def typed(controller, tmp_path, monkeypatch):
    """A controller on which the guide's package is installed."""
    site = tmp_path / 'site'
    site.mkdir()
    project = pathlib.Path(examples.__file__).parent
    for name in MODULES:
        shutil.copy(project / f'{name}.py', site)
    installed.leave(project, site)
    monkeypatch.syspath_prepend(site)
    monkeypatch.setattr(extension.ExtensionManager, 'ENTRY_POINT_CACHE', {})
    with controller.conf_file.open('a') as conf:
        conf.write(
            f'resource_types = physical:host, {TYPE}\n'
            f'[licences]\nfolder = {tmp_path}\n'
        )
    yield controller
    for name in MODULES:
        sys.modules.pop(name, None)


def lease(typed, seats):
    services = typed.services()
    now = services.clock.now()
    return services.leases.create(
        lease_requests.NewLease(
            name='workshop',
            project_id='ours',
            user_id='user',
            start=now,
            end=now + minutes(60),
            before_end=None,
            reservations=(
                lease_requests.NewReservation(TYPE, {'seats': seats}),
            ),
        ),
        now,
    )


@pytest.mark.parametrize('page', PAGES, ids=lambda page: page.stem)
def test_the_commands_are_run_as_printed(typed, page):
    for words in printed(page):
        answer = typed.manage(*words)
        assert answer.exit_code == 0, (words, answer.err)


def test_an_added_resource_is_leased(typed):
    [words] = printed(PAGES[0])
    typed.manage(*words)
    mine = lease(typed, '2')
    shown = json.loads(
        typed.manage('resource', 'show', TYPE, 'cad', '-f', 'json').out
    )
    assert shown['inventories'] == {'SEATS': 20}
    assert shown['properties'] == {'vendor': 'acme'}
    [reservation] = shown['reservations']
    assert reservation['lease_id'] == mine.id
    assert reservation['amounts'] == {'SEATS': 2}
    text = typed.manage('resource', 'show', TYPE, 'cad').out
    assert f'lease {mine.id} has 2 SEATS' in text


def test_to_add_a_resource_again_changes_what_is_given(typed):
    add = ('resource', 'add', TYPE, 'cad', '--inventory')
    assert typed.manage(*add, 'SEATS=2').out == (
        f'Resource cad of type {TYPE}, as resource 1: SEATS=2\n'
    )
    again = typed.manage(*add, 'SEATS=3', '--property', 'a=b', '-f', 'json')
    assert json.loads(again.out)['inventories'] == {'SEATS': 3}
    assert json.loads(again.out)['properties'] == {'a': 'b'}


def test_promised_amounts_and_resources_are_not_taken_away(typed):
    typed.manage('resource', 'add', TYPE, 'cad', '--inventory', 'SEATS=2')
    mine = lease(typed, 2)
    for words in (
        ('set', TYPE, 'cad', '--inventory', 'SEATS=1'),
        ('set', TYPE, 'cad', '--no-inventory', 'SEATS'),
        ('remove', TYPE, 'cad'),
    ):
        answer = typed.manage('resource', *words)
        assert answer.exit_code == 1
        assert answer.err.startswith('cad: Resource cad is in use')
        assert mine.id in answer.err


def test_the_removal_of_a_resource_is_told(typed):
    for name in 'cad', 'fem':
        typed.manage('resource', 'add', TYPE, name)
    remove = ('resource', 'remove', TYPE)
    assert typed.manage(*remove, 'cad').out == 'Resource cad is no more\n'
    answer = typed.manage(*remove, 'fem', '-f', 'json')
    assert json.loads(answer.out) == {
        'name': 'fem',
        'done': 'Resource fem is no more',
    }
    left = typed.manage('resource', 'list', TYPE, '-f', 'json')
    assert json.loads(left.out) == []


def test_a_cordon_is_told(typed):
    typed.manage('resource', 'add', TYPE, 'cad')
    answer = typed.manage('resource', 'set', TYPE, 'cad', '--cordon')
    assert 'as a whole; reservable: False (cordoned)' in answer.out
    [row] = [
        line
        for line in typed.manage('resource', 'list', TYPE).out.splitlines()
        if 'cad' in line
    ]
    assert 'False (cordoned)' in row
    answer = typed.manage('resource', 'set', TYPE, 'cad', '--uncordon')
    assert 'reservable' not in answer.out


@pytest.mark.parametrize(
    ('words', 'told'),
    [
        (('list', 'example:moon'), f'there are: {TYPE}'),
        (('show', TYPE, 'moon'), 'moon: Resource moon could not be found'),
        (('remove', TYPE, 'moon'), 'moon: Resource moon could not be found'),
        (('add', TYPE, 'a', '--inventory', 'seats=1'), 'no resource class'),
        (('add', TYPE, 'a', '--inventory', 'SEATS=0'), 'must be from 1'),
        (('add', objects.HOST, 'a'), 'nova-reservations-manage host'),
    ],
)
def test_a_command_that_makes_no_sense_is_told(typed, words, told):
    answer = typed.manage('resource', *words)
    assert answer.exit_code == 1
    assert told in answer.err


@pytest.mark.parametrize('wrong', ['SEATS', '=1', 'SEATS=-1', 'SEATS=x'])
def test_an_inventory_is_a_class_and_a_number(typed, wrong):
    answer = typed.manage('resource', 'add', TYPE, 'a', '--inventory', wrong)
    assert answer.exit_code
    assert 'CLASS=N is wanted' in answer.err
