# SPDX-License-Identifier: Apache-2.0
"""The commands, on an API in memory."""

import http
import json

from osc_lib import exceptions
import pytest

from osc_nova_reservations import change
from osc_nova_reservations import create
from osc_nova_reservations import leases

OURS = 'a' * 32
CREATED = ('--start=2040-01-01 10:00', '--end=2040-01-01 12:00')
HOSTS = {
    'resource_type': 'physical:host',
    'min': 2,
    'max': 3,
    'hypervisor_properties': '',
    'resource_properties': '',
}
SLOTS = {'resource_type': 'virtual:instance', 'amount': 4}


class TestList:
    def test_shows_pages_in_order(self, run, api):
        for name in ('b', 'a', 'c'):
            api.add(name=name)
        first = run(leases.ListLease, '--sort=name:desc', '--limit=2')
        assert [row['Name'] for row in first] == ['c', 'b']
        rest = run(
            leases.ListLease, '--sort=name:desc', f'--marker={first[-1]["ID"]}'
        )
        assert [row['Name'] for row in rest] == ['a']

    def test_sorts_ascending_by_a_bare_key(self, run, api):
        for name in ('b', 'a'):
            api.add(name=name)
        rows = run(leases.ListLease, '--sort=name')
        assert [row['Name'] for row in rows] == ['a', 'b']

    @pytest.mark.parametrize(
        'words',
        [('--name=mine',), (f'--project={OURS}',), ('--status=PENDING',)],
    )
    def test_shows_only_leases_that_were_asked_for(
        self, run, api, identity, words
    ):
        mine = api.add(name='mine', project_id=OURS)
        api.add(name='other', project_id='q')['status'] = 'ACTIVE'
        rows = run(leases.ListLease, *words)
        assert [row['ID'] for row in rows] == [mine['id']]

    def test_shows_leases_of_several_statuses(self, run, api):
        for status in ('ACTIVE', 'PENDING', 'ERROR'):
            api.add(name=status)['status'] = status
        words = ('--status=ACTIVE', '--status=PENDING', '--sort=name')
        rows = run(leases.ListLease, *words)
        assert [row['Name'] for row in rows] == ['ACTIVE', 'PENDING']

    def test_asks_for_windows_and_changes(self, run, api):
        run(
            *(leases.ListLease, '--start-before=2040-01-03 10:00'),
            *('--end-after=2040-01-02 10:00', '--changes-since=now'),
        )
        [query] = api.queries
        assert query == {
            'sort_key': ['created_at'],
            'sort_dir': ['asc'],
            'start_before': ['2040-01-03T10:00:00+00:00'],
            'end_after': ['2040-01-02T10:00:00+00:00'],
            'changes-since': ['now'],
        }

    def test_asks_for_those_that_were_deleted(self, run, api):
        run(leases.ListLease, '--deleted')
        [query] = api.queries
        assert query['deleted'] == ['true']

    def test_a_table_has_what_fits_and_the_rest_on_request(self, run, api):
        api.add(name='mine', queue_position=3, status_reason='no host')
        [short] = run(leases.ListLease, '-f', 'table')
        [long] = run(leases.ListLease, '-f', 'table', '--long')
        assert [*short] == ['Name', 'Reserved', 'Status', 'Start', 'End']
        assert short.items() <= long.items()
        assert (long['Position'], long['Reason']) == (3, 'no host')
        assert long['Project'] == 'demo'
        assert [long] == run(leases.ListLease)

    def test_says_in_which_zone_a_table_is(self, run, stderr):
        run(leases.ListLease, '-f', 'table', '--timezone=Europe/Rome')
        assert stderr.getvalue() == 'Times are in Europe/Rome\n'


class TestShow:
    @pytest.mark.parametrize('key', ['name', 'id'])
    def test_finds_a_lease_by_name_or_id(self, run, api, key):
        lease = api.add(name='mine')
        assert run(leases.ShowLease, lease[key])['id'] == lease['id']

    def test_asks_for_a_lease_that_was_deleted(self, run, api):
        lease = api.add(name='mine')
        run(leases.ShowLease, lease['id'], '--deleted')
        assert api.queries == [{'deleted': ['true']}]

    def test_a_table_leaves_out_what_says_nothing(self, run, api):
        api.add(name='mine', status_reason=None, degraded=False)
        shown = run(leases.ShowLease, 'mine', '-f', 'table')
        assert [*shown] == [
            *('name', 'id', 'status', 'start_date', 'end_date'),
            *('reservations', 'project', 'timezone'),
        ]
        for_machines = run(leases.ShowLease, 'mine')
        assert for_machines['degraded'] is False


class TestName:
    def test_means_the_lease_that_lives(self, run, api):
        for status in ('TERMINATED', 'ERROR', 'TIMEDOUT', 'DELETING'):
            api.add(name='mine')['status'] = status
        living = api.add(name='mine')
        assert run(leases.ShowLease, 'mine')['id'] == living['id']
        run(leases.DeleteLease, 'mine')
        assert living['id'] not in api.leases
        assert len(api.leases) == 4

    def test_means_the_one_that_ended_where_none_lives(self, run, api):
        ended = api.add(name='mine')
        ended['status'] = 'TERMINATED'
        assert run(leases.ShowLease, 'mine')['id'] == ended['id']

    def test_of_several_leases_is_refused_with_all_of_them(self, run, api):
        one = api.add(name='mine', start_date='2040-01-01T10:00:00.000000')
        two = api.add(name='mine', start_date='2040-01-02T10:00:00.000000')
        two['status'] = 'ACTIVE'
        over = api.add(name='mine', start_date='2039-01-02T10:00:00.000000')
        over['status'] = 'TERMINATED'
        with pytest.raises(exceptions.CommandError) as refused:
            run(leases.DeleteLease, 'mine')
        assert str(refused.value).splitlines() == [
            '2 leases have the name mine: give the ID of one',
            f'{one["id"]} PENDING 2040-01-01 10:00 UTC',
            f'{two["id"]} ACTIVE 2040-01-02 10:00 UTC',
        ]
        assert len(api.leases) == 3

    def test_of_several_that_ended_is_refused_with_all_of_them(self, run, api):
        for _ in range(2):
            ended = api.add(name='mine', start_date='2040-01-01')
            ended['status'] = 'TERMINATED'
        with pytest.raises(exceptions.CommandError) as refused:
            run(leases.ShowLease, 'mine')
        assert str(refused.value).count('TERMINATED 2040-01-01') == 2


class TestDelete:
    def test_deletes_leases_by_name_and_id(self, run, api):
        api.add(name='a')
        by_id = api.add(name='b')
        kept = api.add(name='c')
        run(leases.DeleteLease, 'a', by_id['id'])
        assert [*api.leases] == [kept['id']]

    def test_deletes_none_where_one_is_not_found(self, run, api):
        lease = api.add(name='mine')
        with pytest.raises(exceptions.CommandError, match='or ID none'):
            run(leases.DeleteLease, 'mine', 'none')
        assert [*api.leases] == [lease['id']]


MISTAKES = [
    (('--resource-properties=[]',), 'needs --hosts or slots'),
    (('--property=gpu=a100',), '--property needs --hosts or slots'),
    (('--consume=open',), '--consume needs --hosts or slots'),
    (('--amount=3',), '--amount needs --flavor, or --vcpus'),
    (('--affinity', '--hosts=1'), '--anti-affinity needs --flavor'),
    (('--parameter=k=v', '--hosts=1'), '--parameter needs --template'),
    (('--vcpus=2',), 'needs both --vcpus and --memory'),
    (('--flavor=m', '--vcpus=2'), 'by --flavor, or by --vcpus'),
    (('--volume=many',), '--volume: many is no size'),
    (('--template=none.yaml',), 'none.yaml can not be read'),
    (('--hosts=1', '--duration=1h'), 'Give --end or --duration'),
    (('--hosts=1', '--start-before=now'), 'needs --first-free'),
    (('--reservation={"amount": 1}',), 'needs a "resource_type"'),
]


@pytest.mark.parametrize(
    ('command', 'words', 'reason'),
    [
        (create.CreateLease, ('x', *CREATED), 'Say what to lease: --hosts 2'),
        *(
            (create.CreateLease, ('x', *words, *CREATED), said)
            for words, said in MISTAKES
        ),
        (
            change.SetLease,
            ('none', '--name=x'),
            'No lease has the name or ID',
        ),
        (change.SetLease, ('twice', '--name=x'), '2 leases have the name twi'),
        (change.SetLease, ('once',), 'Say what to change: --extend 2h'),
        (
            change.SetLease,
            ('once', '--reservation={"max": 2}'),
            'needs the "id" of the one to change: r1, r2',
        ),
    ],
)
def test_a_mistake_is_refused_before_anything_changes(
    run, api, command, words, reason
):
    api.add(name='once', reservations=[{'id': 'r1'}, {'id': 'r2'}])
    for _ in range(2):
        api.add(name='twice', start_date='2040-01-01 10:00')
    before = json.dumps(api.leases)
    with pytest.raises(exceptions.CommandError) as refused:
        run(command, *words)
    assert reason in str(refused.value)
    assert json.dumps(api.leases) == before


@pytest.mark.parametrize(
    ('words', 'reason'),
    [
        (('--hosts=few',), 'few is neither a number of hosts'),
        (('--hosts=3-',), '3- is neither a number of hosts'),
        (('--reservation={',), 'not JSON'),
        (('--reservation=[]',), 'not a JSON object'),
        (('--count=x',), 'x is no whole number'),
        (('--memory=lots',), 'lots is no size, such as 512M or 8G'),
        (('--duration=long',), 'long is no duration, such as 90m'),
        (('--property=gpu',), 'gpu compares no property'),
        (('--resource=licence,5',), 'is no type with its fields'),
    ],
)
def test_a_malformed_option_is_refused(run, capsys, words, reason):
    with pytest.raises(SystemExit):
        run(create.CreateLease, 'x', *words, *CREATED)
    assert reason in capsys.readouterr().err


@pytest.mark.parametrize(
    ('status', 'body', 'reason'),
    [
        (
            http.HTTPStatus.CONFLICT,
            b'{"error_message": "Not enough hosts available"}',
            'Not enough hosts available',
        ),
        (
            http.HTTPStatus.BAD_GATEWAY,
            b'<html>',
            'GET http://api/v2.1/os-reservations/v1/leases?name=mine was '
            'answered with 502 Bad Gateway',
        ),
    ],
)
def test_a_refusal_by_the_api_is_told(run, api, status, body, reason):
    api.refusal = status, body
    with pytest.raises(exceptions.CommandError) as refused:
        run(leases.ShowLease, 'mine')
    assert reason in str(refused.value)


def test_a_refusal_by_the_policy_is_told_in_words(run, api):
    said = "Policy doesn't allow reservations:leases:list to be performed."
    body = json.dumps({'error_message': said}).encode()
    api.refusal = http.HTTPStatus.FORBIDDEN, body
    with pytest.raises(exceptions.CommandError) as refused:
        run(leases.ListLease)
    assert str(refused.value) == (
        'You may not do this with this project and role: the rule of the '
        'cloud is reservations:leases:list. Ask the operators of the cloud'
    )


def test_the_events_of_a_lease_are_listed_in_order(run, api):
    lease = api.add(name='mine')
    lease['events'] = [
        {
            'event_type': kind,
            'time': f'2040-01-01T{hour}:00:00.000000',
            'status': 'UNDONE',
        }
        for kind, hour in (('end_lease', 12), ('start_lease', 10))
    ]
    assert run(leases.ListEvent, 'mine') == [
        {
            'Event': kind,
            'Time': f'2040-01-01T{hour}:00:00Z',
            'Status': 'UNDONE',
        }
        for kind, hour in (('start_lease', 10), ('end_lease', 12))
    ]


def test_when_there_is_room_is_told_in_the_zone_of_the_user(api, command_line):
    body = {'error_message': 'full', 'earliest_start': '2040-01-01T10:00:00'}
    api.refusal = http.HTTPStatus.BAD_REQUEST, json.dumps(body).encode()
    with pytest.raises(exceptions.CommandError) as refused:
        command_line(leases.ListLease, '--timezone=Europe/Rome')
    assert str(refused.value) == (
        'full\nThere is room from 2040-01-01 11:00 (Europe/Rome)'
    )


def test_a_status_that_there_is_not_is_told_with_those_there_are(run, capsys):
    with pytest.raises(SystemExit):
        run(leases.ListLease, '--status=open')
    assert 'these are CREATING, IN_PROGRESS' in capsys.readouterr().err
