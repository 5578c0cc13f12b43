# SPDX-License-Identifier: Apache-2.0
import argparse
import datetime
import json
import types

import pytest

from nova_reservations import bootstrap
from nova_reservations import exception
from nova_reservations.cmd import manage
from nova_reservations.db import api
from nova_reservations.db.record import refused_leases
from nova_reservations.objects import refusal as refusals

BEGIN = datetime.datetime(2050, 1, 1, tzinfo=datetime.UTC)


def cells(answer):
    """Return the rows of a table as lists."""
    return [
        [cell.strip() for cell in line.strip('|').split('|')]
        for line in answer.out.splitlines()
        if line.startswith('|')
    ]


def test_the_tables_are_made_once(bare_controller):
    assert bare_controller.manage('db', 'version').out == 'no tables\n'
    first = bare_controller.manage('db', 'sync')
    assert first.exit_code == 0
    assert 'they were at none' in first.out
    again = bare_controller.manage('db', 'sync')
    assert again.exit_code == 0
    assert 'they were' not in again.out
    version = bare_controller.manage('db', 'version').out.strip()
    assert version in again.out


def test_hosts_want_tables(bare_controller):
    answer = bare_controller.manage('host', 'list')
    assert 'nova-reservations-manage db sync' in str(answer.exit_code)


def test_enrolled_hosts_are_listed(controller):
    answer = controller.manage(
        'host', 'add', 'h1', 'h3.example.org', '--property', 'gpu=a=b'
    )
    assert answer.exit_code == 0
    assert answer.out.splitlines() == [
        'Host h1 is enrolled, as host 1',
        'Host h3 is enrolled, as host 2',
    ]
    heading, *rows = cells(controller.manage('host', 'list'))
    assert [row[:3] for row in rows] == [
        ['1', 'h1', 'h1.example.org'],
        ['2', 'h3', 'h3.example.org'],
    ]
    assert rows[0][heading.index('Properties')] == 'gpu=a=b'
    assert rows[0][heading.index('Reservable')] == 'True'


def test_a_host_that_fails_does_not_stop_the_others(controller):
    controller.cloud.boot('h1', 'somebody')
    answer = controller.manage('host', 'add', 'h1', 'unknown', 'h2')
    assert answer.exit_code == 1
    assert answer.out.startswith('Host h2 is enrolled')
    in_use, unknown = answer.err.splitlines()
    assert in_use.startswith('h1: Host h1 is in use: servers')
    assert unknown == 'unknown: Host unknown could not be found'


def test_adding_a_host_again_repairs_and_describes_it(controller):
    controller.manage('host', 'add', 'h1')
    controller.cloud.marked.clear()
    controller.cloud.pool.clear()
    answer = controller.manage('host', 'add', 'h1', '--property', 'rack=7')
    assert answer.exit_code == 0
    assert answer.out == 'Host h1 is enrolled already, as host 1\n'
    assert controller.cloud.marked == controller.cloud.pool == {'h1'}
    assert 'rack=7' in controller.manage('host', 'list').out


@pytest.fixture
def building(controller):
    """A server that Nova is building in the controller's cloud."""
    server = 'f0f0f0f0-0000-4000-8000-00000000000a'
    controller.cloud.build(server, 'somebody', 'building')
    return server


def test_a_host_that_waits_says_for_what(controller, building):
    answer = controller.manage('host', 'add', 'h1')
    assert answer.exit_code == 0
    assert 'not reservable yet' in answer.out
    assert building in answer.out


def test_a_host_can_be_waited_for(controller, building, monkeypatch):
    def land_elsewhere(seconds):
        controller.cloud.unbuilt.clear()

    # Only this module's sleep is replaced: oslo.db yields by time.sleep, too.
    clock = types.SimpleNamespace(sleep=land_elsewhere)
    monkeypatch.setattr(manage, 'time', clock)
    answer = controller.manage('host', 'add', '--wait', 'h1', 'h2')
    assert answer.exit_code == 0
    assert answer.out.splitlines()[-2:] == [
        'Host h1 is reservable, as host 1',
        'Host h2 is reservable, as host 2',
    ]


def test_a_host_that_is_waited_for_in_vain_is_an_error(
    controller, building, monkeypatch
):
    with controller.conf_file.open('a') as conf_file:
        conf_file.write('build_wait = 1\n')
    clock = api.Database.now
    passed = datetime.timedelta()

    def sleep(seconds):
        nonlocal passed
        passed += datetime.timedelta(seconds=seconds)

    monkeypatch.setattr(manage, 'time', types.SimpleNamespace(sleep=sleep))
    monkeypatch.setattr(api.Database, 'now', lambda db: clock(db) + passed)
    answer = controller.manage('host', 'add', '--wait', 'h1')
    assert answer.exit_code == 1
    assert building in answer.err


@pytest.mark.parametrize('name', ['1', 'h1', 'h1.example.org'])
def test_a_removed_host_is_open_again(controller, name):
    controller.manage('host', 'add', 'h1')
    answer = controller.manage('host', 'remove', name)
    assert answer.exit_code == 0
    assert answer.out == 'Host h1 is no longer enrolled\n'
    assert not controller.cloud.marked | controller.cloud.pool
    assert len(cells(controller.manage('host', 'list'))) == 1


@pytest.mark.parametrize('name', ['7', '9' * 30, 'h2'])
def test_a_host_that_is_not_enrolled_can_not_be_removed(controller, name):
    answer = controller.manage('host', 'remove', name)
    assert answer.exit_code == 1
    assert answer.err == f'{name}: Host {name} could not be found\n'


@pytest.mark.parametrize(
    'text', ['gpu', '=1', 'vcpus=3', 'name=x', 'a b=c', 'a=' + 'x' * 2000]
)
def test_properties_are_those_that_the_api_takes(controller, text):
    answer = controller.manage('host', 'add', 'h1', '--property', text)
    assert answer.exit_code == 2
    assert 'argument --property' in answer.err
    assert not controller.cloud.marked


def test_an_enrolment_that_breaks_off_is_told_and_goes_on(controller):
    def down(step):
        if step == 'join_pool':
            raise exception.CloudUnavailable(
                service="Nova's message bus", reason='no route'
            )

    controller.cloud.before = down
    answer = controller.manage('host', 'add', 'h1')
    assert answer.exit_code == 1
    assert "h1: Nova's message bus can not be reached" in answer.err
    assert 'repeat it' in answer.err
    assert cells(controller.manage('host', 'list'))[1][7] == 'False (settling)'
    controller.cloud.before = lambda step: None
    assert controller.manage('host', 'add', 'h1').exit_code == 0
    assert cells(controller.manage('host', 'list'))[1][7] == 'True'


@pytest.mark.parametrize(
    'connection',
    [
        '',
        'nonsense',
        'mysql+pymysql://u:hidden@127.0.0.1:1/x',
        'postgresql+psycopg2://u:hidden@127.0.0.1:1/x',
        'sqlite:////nowhere/x.db',
        'unknown://u:hidden@127.0.0.1:1/x',
    ],
)
@pytest.mark.parametrize(
    'words', [('db', 'sync'), ('db', 'version'), ('host', 'list')]
)
def test_a_database_that_can_not_be_used_is_one_line(
    bare_controller, connection, words
):
    bare_controller.conf_file.write_text(
        f'[reservations]\nconnection = {connection}\n'
        '[api_database]\nconnection =\n'
    )
    answer = bare_controller.manage(*words)
    assert answer.exit_code == 1
    assert 'See [reservations] connection' in answer.err
    assert answer.err.count('\n') == 1
    assert 'hidden' not in answer.err


@pytest.mark.parametrize(
    ('text', 'said'),
    [
        ('[reservations', 'Failed to parse'),
        ('[reservations]\nend_timeout = soon', 'end_timeout'),
    ],
)
def test_a_mistake_in_nova_conf_is_one_line(bare_controller, text, said):
    bare_controller.conf_file.write_text(text)
    answer = bare_controller.manage('db', 'version')
    assert answer.exit_code == 1
    assert said in answer.err
    assert answer.err.count('\n') == 1


@pytest.fixture
def audited(controller, monkeypatch):
    """A controller with enrolled hosts, and audits without a pause."""
    monkeypatch.setattr(manage, 'PAUSE', 0)
    controller.manage('host', 'add', 'h1', 'h2')
    return controller


def test_an_audit_that_finds_nothing_says_nothing(audited):
    for words in ((), ('--repair',)):
        answer = audited.manage('audit', *words)
        assert (answer.exit_code, answer.out, answer.err) == (0, '', '')


def test_an_audit_names_what_it_finds_and_changes_nothing(audited):
    audited.cloud.marked.remove('h1')
    audited.cloud.pool.remove('h2')
    for _ in range(2):
        answer = audited.manage('audit')
        assert answer.exit_code == 1
        no_trait, no_pool = answer.out.splitlines()
        assert no_trait.startswith('Host h1 lacks the trait')
        assert no_pool.startswith('Host h2 is not in the aggregate freepool')


def test_findings_of_an_audit_are_mended(audited):
    audited.cloud.marked.remove('h1')
    answer = audited.manage('audit', '--repair')
    assert answer.exit_code == 0
    assert answer.out.splitlines()[1:] == ['All of it is repaired']
    assert audited.cloud.marked == {'h1', 'h2'}


def test_findings_that_can_not_be_mended_are_left_and_told(audited):
    audited.cloud.marked.remove('h1')
    audited.cloud.pool_zone = 'az1'
    answer = audited.manage('audit', '--repair')
    assert answer.exit_code == 1
    *_, left, zone = answer.out.splitlines()
    assert left == 'Left:'
    assert 'availability zone' in zone
    assert audited.cloud.marked == {'h1', 'h2'}


def test_a_repair_that_fails_does_not_stop_the_others(audited):
    audited.cloud.marked.clear()
    failures = [
        exception.CloudUnavailable(service='Placement', reason='no route')
    ]

    def fail_once(step):
        if failures:
            raise failures.pop()

    audited.cloud.before = fail_once
    answer = audited.manage('audit', '--repair')
    assert answer.exit_code == 1
    assert 'Host h1 lacks the trait' in answer.err
    assert 'no route' in answer.err
    assert audited.cloud.marked == {'h2'}


def test_an_audit_wants_tables(bare_controller):
    answer = bare_controller.manage('audit')
    assert 'nova-reservations-manage db sync' in str(answer.exit_code)


@pytest.fixture
def mass(controller):
    """Three hosts that have failed at once."""
    hosts = ('h1', 'h2', 'h3')
    controller.manage('host', 'add', *hosts)
    for name in hosts:
        controller.cloud.fail(name, forced_down=True)
    services = controller.services()
    services.monitoring.poll(services.database.now())


def test_a_mass_failure_is_healed_when_an_administrator_says_so(
    controller, mass
):
    *_, row = cells(controller.manage('host', 'list'))
    assert row[7] == 'False (failed with many others; see "heal")'
    assert controller.manage('heal', 'h2').out == (
        'Leases of host h2 are healed now\n'
    )
    assert controller.manage('heal').out.count('are healed now') == 2
    assert 'nothing to do' in controller.manage('heal').out
    assert json.loads(controller.manage('heal', 'h2', '-f', 'json').out) == {
        'healed': [],
        'nothing_to_do': ['h2'],
    }
    *_, row = cells(controller.manage('host', 'list'))
    assert row[7] == 'False (failed)'


def test_a_host_that_is_to_be_healed_must_be_enrolled(controller, mass):
    answer = controller.manage('heal', 'h9')
    assert answer.exit_code == 1
    assert 'h9' in answer.err


@pytest.mark.parametrize(
    ('how', 'said'),
    [
        ({'forced_down': True}, 'False (failed)'),
        ({'disabled': True}, 'False (disabled)'),
        ({}, 'False (down)'),
    ],
)
def test_a_host_that_no_lease_would_get_is_not_reservable(
    controller, how, said
):
    controller.manage('host', 'add', 'h1')
    controller.cloud.fail('h1', **how)
    services = controller.services()
    services.monitoring.poll(services.database.now())
    assert cells(controller.manage('host', 'list'))[1][7] == said


@pytest.mark.parametrize(
    'words', [('host', 'add', 'h2'), ('audit', '--repair'), ('heal',)]
)
def test_nothing_is_judged_or_written_by_a_clock_that_may_be_wrong(
    audited, monkeypatch, words
):
    late = datetime.datetime.now(datetime.UTC) - datetime.timedelta(hours=1)
    monkeypatch.setattr(bootstrap, 'own_time', lambda: late)
    answer = audited.manage(*words)
    assert (answer.exit_code, answer.out) == (1, '')
    assert "The database's clock is" in answer.err
    assert audited.manage('host', 'list').exit_code == 0


class TestDemandReplay:
    def test_the_room_that_more_hosts_would_have_made_is_told(
        self, controller
    ):
        controller.manage('host', 'add', 'h1')
        refusal = refusals.Refusal(
            'ours',
            BEGIN,
            BEGIN,
            BEGIN + datetime.timedelta(hours=5),
            'physical:host',
            (
                refusals.RefusedReservation(
                    'physical:host',
                    {
                        'min': 2,
                        'max': 2,
                        'hypervisor_properties': '',
                        'resource_properties': '',
                    },
                ),
            ),
        )
        with controller.services().database.writer() as session:
            refused_leases.insert(session, refusal)
        answer = controller.manage(
            'demand', 'replay', '--add-hosts', '1', '--like', 'h1'
        )
        assert answer.exit_code == 0
        _, row = cells(answer)
        assert row[1:3] == ['ours', 'physical:host']
        assert row[-2:] == ['no', 'yes']
        assert answer.out.splitlines()[-2:] == [
            'Room for 0 of 1 lease, 0 of 10 host-hours with the hosts that '
            'there are',
            'Room for 1 of 1 lease, 10 of 10 host-hours with 1 more',
        ]
        words = ('demand', 'replay', '--add-hosts', '1', '-f', 'json')
        [told] = json.loads(controller.manage(*words).out)['refusals']
        assert (told['room_now'], told['room_then']) == (False, True)
        assert told['host_hours'] == 10
        later = controller.manage(
            'demand', 'replay', '--add-hosts', '1', '--start', '2060-01-01'
        )
        assert 'Room for 0 of 0 leases' in later.out

    @pytest.mark.parametrize(
        'words',
        [
            (),
            ('--add-hosts', '-1'),
            ('--add-hosts', '10001'),
            ('--add-hosts', 'x'),
            ('--add-hosts', '1', '--start', 'now'),
        ],
    )
    def test_a_replay_that_makes_no_sense_is_refused(self, controller, words):
        assert controller.manage('demand', 'replay', *words).exit_code == 2

    def test_an_unknown_host_is_no_example(self, controller):
        answer = controller.manage(
            'demand', 'replay', '--add-hosts', '1', '--like', 'moon'
        )
        assert 'moon' in str(answer.exit_code) + answer.err


def test_hosts_are_cordoned_and_maintained_by_name(controller):
    controller.manage('host', 'add', 'h1', 'h2')
    answer = controller.manage('host', 'cordon', 'h1', 'moon')
    assert (answer.exit_code, answer.out) == (1, 'Host h1 is cordoned\n')
    assert answer.err == 'moon: Host moon could not be found\n'
    assert cells(controller.manage('host', 'list'))[1][7] == (
        'False (cordoned)'
    )
    window = ('--from', '2099-01-01 08:00', '--until', '2099-01-01 10:00')
    answer = controller.manage('host', 'maintain', 'h1', *window)
    assert answer.out.startswith('Host h1 has no lease in this window')
    answer = controller.manage('host', 'maintain', 'h1', *window)
    assert answer.exit_code == 1
    assert 'Host h1 is in use: leases that can not be moved' in answer.err
    [drained] = json.loads(
        controller.manage('host', 'drain', 'h1', '-f', 'json').out
    )
    assert drained['cordoned'] is True
    [lease] = drained['leases']
    assert lease['project_id'] == 'operators'
    answer = controller.manage('host', 'uncordon', '1')
    assert answer.out.splitlines()[0] == 'Host h1 is not cordoned'
    for dates in ('soon', '2099-01-02 08:00'), ('2099-01-02 08:00', 'now'):
        wrong = ('--from', dates[0], '--until', dates[1])
        answer = controller.manage('host', 'maintain', 'h1', *wrong)
        assert answer.exit_code == 1
        assert answer.err.startswith('h1: ')


def actions(parser, *words):
    """Yield the words of each action, and the action's options."""
    [below] = [
        each.choices
        for each in parser._actions
        if isinstance(each, argparse._SubParsersAction)
    ] or [{}]
    for name, group in below.items():
        yield from actions(group, *words, name)
    if not below:
        yield words, set(parser._option_string_actions)


def test_actions_all_have_json_for_programs():
    parser = argparse.ArgumentParser()
    manage._add_parsers(parser.add_subparsers())
    without = {words for words, has in actions(parser) if '-f' not in has}
    # Programs can read this output as it is.
    assert without == {('metrics',)}


def test_programs_read_json(audited):
    listed = json.loads(audited.manage('host', 'list', '-f', 'json').out)
    assert [host['host'] for host in listed] == ['h1', 'h2']
    assert json.loads(audited.manage('audit', '-f', 'json').out) == {
        'found': []
    }
    audited.cloud.marked.remove('h1')
    answer = audited.manage('audit', '--repair', '-f', 'json')
    report = json.loads(answer.out)
    assert [len(report['found']), report['left']] == [1, []]
    assert answer.exit_code == 0
    version = json.loads(audited.manage('db', 'version', '-f', 'json').out)
    assert version['revision'] == version['needed']
    synced = json.loads(audited.manage('db', 'sync', '-f', 'json').out)
    assert synced == {'revision': version['needed'], 'was': version['needed']}
    answer = audited.manage('host', 'remove', 'h1', 'h9', '-f', 'json')
    removed, unknown = json.loads(answer.out)
    assert removed['done'] == 'Host h1 is no longer enrolled'
    assert (unknown['name'], answer.exit_code) == ('h9', 1)
    assert 'could not be found' in unknown['error']
    [added] = json.loads(audited.manage('host', 'add', 'h1', '-f', 'json').out)
    assert added['done'].startswith('Host h1 is enrolled')
