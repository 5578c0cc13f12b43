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


class TestCreate:
    def test_leases_hosts(self, run, api):
        shown = run(create.CreateLease, 'mine', '--hosts=2-3', *CREATED)
        assert shown['id'] in api.leases
        [lease] = api.sent
        assert lease['name'] == 'mine'
        assert lease['start_date'] == '2040-01-01T10:00:00+00:00'
        assert lease['end_date'] == '2040-01-01T12:00:00+00:00'
        assert lease['reservations'] == [HOSTS]

    def test_leases_hosts_that_are_used_without_a_hint(self, run):
        shown = run(
            *(create.CreateLease, 'mine', '--hosts=2-3', *CREATED),
            '--consume=open',
        )
        assert shown['reservations'] == [HOSTS | {'consume': 'open'}]

    def test_leases_what_is_given_as_json(self, run):
        shown = run(
            *(create.CreateLease, 'mine', *CREATED, '--hosts=2-3'),
            f'--reservation={json.dumps(SLOTS)}',
        )
        assert shown['reservations'] == [HOSTS, SLOTS]

    def test_starts_now_and_lasts_a_day_unless_told_otherwise(self, run, api):
        run(create.CreateLease, 'mine', '--hosts=1')
        run(create.CreateLease, 'mine', '--hosts=1', '--duration=5d')
        run(create.CreateLease, 'mine', '--hosts=1', *CREATED)
        assert [each.get('duration') for each in api.sent] == [
            *('PT86400S', 'PT432000S', None),
        ]
        assert api.sent[0]['start_date'] == 'now'
        assert 'end_date' not in api.sent[0]

    def test_sends_the_type_of_the_lease(self, run):
        shown = run(
            *(create.CreateLease, 'mine', '--hosts=1', *CREATED),
            *('--type=retry', '--max-retries=5'),
        )
        assert (shown['lease_type'], shown['max_retries']) == ('retry', 5)

    def test_sends_the_actions_of_the_end_for_each_reservation(self, run, api):
        shown = run(
            *(create.CreateLease, 'mine', '--hosts=2-3', *CREATED),
            *('--before-end=snapshot', '--before-end-date=2040-01-01 11:00'),
            *('--end-action=shelve', '--end-grace=0'),
            f'--reservation={json.dumps(SLOTS | {"end_action": "delete"})}',
        )
        end = {'before_end': 'snapshot', 'end_grace': 0}
        assert api.sent[0]['before_end_date'] == '2040-01-01T11:00:00+00:00'
        assert shown['reservations'] == [
            HOSTS | end | {'end_action': 'shelve'},
            SLOTS | end | {'end_action': 'delete'},
        ]

    def test_says_which_ids_the_reservations_have(self, run, api):
        api.add([{'id': 'r1'}, {'id': 'r2'}], name='mine')
        shown = run(leases.ShowLease, 'mine')
        assert shown['reservation_ids'] == ['r1', 'r2']


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
            *('reservations', 'reservation_ids', 'project', 'timezone'),
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
            f'{one["id"]} PENDING 2040-01-01T10:00:00.000000',
            f'{two["id"]} ACTIVE 2040-01-02T10:00:00.000000',
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


class TestSet:
    def test_changes_name_and_times(self, run, api):
        api.add(name='mine')
        run(
            *(change.SetLease, 'mine', '--name=new', '--end=now'),
            '--before-end-date=2040-01-01 11:00',
        )
        assert api.sent == [
            {
                'name': 'new',
                'end_date': 'now',
                'before_end_date': '2040-01-01T11:00:00+00:00',
            }
        ]

    @pytest.mark.parametrize(
        ('words', 'start', 'end'),
        [
            (('--extend=2h',), None, '14:00'),
            (('--shorten=30m',), None, '11:30'),
            (('--later=1h',), '11:00', '13:00'),
            (('--earlier=1h', '--extend=1h'), '09:00', None),
            (('--move-to=2040-01-01 15:00',), '15:00', '17:00'),
        ],
    )
    def test_moves_a_lease_by_words(self, run, api, words, start, end):
        api.add(name='mine')
        run(change.SetLease, 'mine', *words)
        [sent] = api.sent
        assert sent == {
            key: f'2040-01-01T{time}:00+00:00'
            for key, time in (('start_date', start), ('end_date', end))
            if time
        }

    @pytest.mark.parametrize(
        'words',
        [
            ('--extend=2h', '--shorten=1h'),
            ('--later=2h', '--earlier=1h'),
            ('--end=now', '--extend=1h'),
            ('--move-to=now', '--start=now'),
        ],
    )
    def test_refuses_times_that_contradict(self, run, api, words):
        api.add(name='mine')
        with pytest.raises(exceptions.CommandError):
            run(change.SetLease, 'mine', *words)
        assert not api.sent

    def test_changes_what_the_lease_has_by_numbers(self, run, api):
        hosts = {'id': 'h', 'resource_type': 'physical:host'}
        slots = {'id': 's', 'resource_type': 'flavor:instance', 'amount': 3}
        part = {'id': 'p', 'resource_type': 'physical:host', 'part_of': 's'}
        api.add([hosts, slots, part], name='mine')
        run(
            *(change.SetLease, 'mine', '--hosts=1', '--amount=2'),
            *('--property=gpu=a100',),
        )
        [sent] = api.sent
        assert sent['reservations'] == [
            {
                'id': 'h',
                'min': 1,
                'max': 1,
                'resource_properties': '["==", "$gpu", "a100"]',
            },
            {'id': 's', 'amount': 2},
        ]

    def test_asks_which_of_several_is_meant(self, run, api):
        both = [{'id': key, 'resource_type': 'physical:host'} for key in 'ab']
        api.add(both, name='mine')
        with pytest.raises(exceptions.CommandError, match='is meant: a, b'):
            run(change.SetLease, 'mine', '--hosts=1')
        with pytest.raises(exceptions.CommandError, match='has nothing that'):
            run(change.SetLease, 'mine', '--amount=1')

    def test_changes_a_reservation_by_its_id(self, run, api):
        api.add(name='mine', reservations=[{'id': 'r1'}, {'id': 'r2'}])
        shown = run(
            change.SetLease, 'mine', '--reservation={"id": "r2", "max": 2}'
        )
        assert shown['reservations'] == [{'id': 'r2', 'max': 2}]

    def test_changes_the_end_of_all_reservations(self, run, api):
        api.add(name='mine', reservations=[{'id': 'r1'}, {'id': 'r2'}])
        shown = run(
            *(change.SetLease, 'mine', '--end-action=shelve'),
            '--reservation={"id": "r2", "end_action": "migrate"}',
        )
        assert shown['reservations'] == [
            {'id': 'r1', 'end_action': 'shelve'},
            {'id': 'r2', 'end_action': 'migrate'},
        ]

    def test_asks_for_hosts_in_place_of_failed_ones(self, run, api):
        lease = api.add(name='mine')
        run(change.SetLease, 'mine', '--replace-failed')
        assert api.leases[lease['id']] == lease | {'replace_failed': True}

    def test_gives_hosts_back_of_the_only_reservation_that_has_some(
        self, run, api
    ):
        hosts = {'id': 'h', 'resource_type': 'physical:host'}
        lease = api.add([{'id': 'r'}, hosts], name='mine')
        run(
            change.SetLease,
            'mine',
            '--release-host',
            'one',
            '--release-host',
            'two',
            '--reservation',
            '{"id": "h", "min": 1}',
        )
        assert api.leases[lease['id']]['reservations'] == [
            {'id': 'h', 'min': 1, 'release_hosts': ['one', 'two']}
        ]


OFFER = {
    'start_date': '2040-01-02T10:00:00.000000',
    'end_date': '2040-01-02T12:00:00.000000',
}


class TestOffers:
    def test_are_listed(self, run, api):
        api.offers = [OFFER]
        shown = run(
            *(create.ListOffer, '--hosts=2-3', '--duration=2h', '--limit=7'),
            '--start-before=2040-01-03 10:00',
        )
        assert shown == [
            {'Start': '2040-01-02T10:00:00Z', 'End': '2040-01-02T12:00:00Z'}
        ]
        assert api.wanted == [
            {
                'duration': 'PT7200S',
                'start_after': 'now',
                'start_before': '2040-01-03T10:00:00+00:00',
                'limit': 7,
                'reservations': [HOSTS],
            }
        ]

    def test_offers_that_are_not_all_are_called_so(self, run, stderr):
        assert run(create.ListOffer, '--hosts=1', '--duration=2h') == []
        assert 'There may be more' in stderr.getvalue()

    def test_an_empty_list_says_why(self, run, api, stderr):
        api.why_not = 'Not enough hosts available: 2 hosts match, 2 are taken'
        assert run(create.ListOffer, '--hosts=2', '--duration=2h') == []
        assert '2 are taken' in stderr.getvalue()


class TestFirstFree:
    WORDS = ('mine', '--hosts=2-3', '--duration=2h', '--first-free')

    def test_leases_in_the_first_window_that_is_offered(self, run, api):
        api.offers = [OFFER, {}]
        shown = run(
            *(create.CreateLease, *self.WORDS, '--start=2040-01-01 10:00'),
        )
        lease = api.leases[shown['id']]
        assert lease['start_date'] == OFFER['start_date']
        assert lease['duration'] == 'PT7200S'
        assert api.wanted == [
            {
                'duration': 'PT7200S',
                'start_after': '2040-01-01T10:00:00+00:00',
                'limit': 1,
                'reservations': [HOSTS],
            }
        ]

    def test_asks_again_if_others_are_faster(self, run, api):
        api.offers, api.taken = [OFFER], 2
        run(create.CreateLease, *self.WORDS)
        assert (len(api.leases), len(api.wanted)) == (1, 3)

    def test_gives_up_if_others_are_faster_again_and_again(self, run, api):
        api.offers, api.taken = [OFFER], 3
        with pytest.raises(exceptions.CommandError, match='too late'):
            run(create.CreateLease, *self.WORDS)
        assert not api.leases

    def test_is_refused_where_there_is_no_window(self, run, api):
        with pytest.raises(exceptions.CommandError, match='No window was fo'):
            run(create.CreateLease, *self.WORDS)

    def test_has_to_know_how_long_it_lasts(self, run):
        with pytest.raises(exceptions.CommandError, match='needs --duration'):
            run(*(create.CreateLease, 'mine', '--first-free', '--hosts=1'))


class TestRepeated:
    WORDS = ('mine', '--hosts=1', *CREATED)

    def test_a_request_has_a_key_that_no_other_has(self, run, api):
        for _ in range(2):
            run(create.CreateLease, *self.WORDS)
        assert len({*api.keys}) == 2

    def test_a_request_has_the_key_that_is_given(self, run, api):
        run(create.CreateLease, *self.WORDS, '--idempotency-key=mine')
        assert api.keys == ['mine']

    def test_a_user_who_loses_the_connection_is_told_how_to_repeat(
        self, run, api
    ):
        api.lost = True
        with pytest.raises(exceptions.CommandError) as refused:
            run(create.CreateLease, *self.WORDS)
        [key] = api.keys
        assert f'--idempotency-key {key}' in str(refused.value)

    def test_a_key_does_not_go_with_a_window_that_is_looked_for(self, run):
        with pytest.raises(exceptions.CommandError, match='does not go with'):
            run(
                *(create.CreateLease, *TestFirstFree.WORDS),
                '--idempotency-key=mine',
            )


class TestDryRun:
    def test_of_a_lease_makes_none_and_says_so(self, run, api, stderr):
        shown = run(
            create.CreateLease, 'mine', '--hosts=1', *CREATED, '--dry-run'
        )
        assert shown['name'] == 'mine'
        assert not {'id', 'reservation_ids', 'series_id'} & shown.keys()
        assert 'Nothing is done' in stderr.getvalue()
        assert not api.leases

    def test_of_a_change_changes_nothing(self, run, api, stderr):
        lease = api.add(name='mine')
        shown = run(change.SetLease, 'mine', '--end=now', '--dry-run')
        assert shown['end_date'] == '2039-06-01T12:00:00Z'
        assert 'Nothing is done' in stderr.getvalue()
        assert api.leases == {lease['id']: lease}


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
