# SPDX-License-Identifier: Apache-2.0
"""The commands, on an API in memory."""

import http
import json

from osc_lib import exceptions
import pytest

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
        shown = run(leases.CreateLease, 'mine', '--hosts=2-3', *CREATED)
        lease = api.leases[shown['id']]
        assert lease['name'] == 'mine'
        assert lease['start_date'] == '2040-01-01 10:00'
        assert lease['end_date'] == '2040-01-01 12:00'
        assert lease['reservations'] == [HOSTS]

    def test_leases_hosts_with_properties(self, run):
        shown = run(
            *(leases.CreateLease, 'mine', '--hosts=2-3', *CREATED),
            '--hypervisor-properties=[">=", "$vcpus", "16"]',
            '--resource-properties=["==", "$rack", "3"]',
        )
        [reservation] = shown['reservations']
        assert reservation == HOSTS | {
            'hypervisor_properties': '[">=", "$vcpus", "16"]',
            'resource_properties': '["==", "$rack", "3"]',
        }

    def test_leases_hosts_that_are_used_without_a_hint(self, run):
        shown = run(
            *(leases.CreateLease, 'mine', '--hosts=2-3', *CREATED),
            '--consume=open',
        )
        assert shown['reservations'] == [HOSTS | {'consume': 'open'}]

    def test_leases_what_is_given_as_json(self, run):
        shown = run(
            *(leases.CreateLease, 'mine', *CREATED, '--hosts=2-3'),
            f'--reservation={json.dumps(SLOTS)}',
        )
        assert shown['reservations'] == [SLOTS, HOSTS]

    def test_starts_now_unless_told_otherwise(self, run):
        shown = run(leases.CreateLease, 'mine', '--hosts=1', '--duration=5d')
        assert (shown['start_date'], shown['duration']) == ('now', '5d')
        assert 'end_date' not in shown

    def test_lasts_a_day_unless_told_otherwise(self, run):
        shown = run(leases.CreateLease, 'mine', '--hosts=1', CREATED[0])
        assert shown['duration'] == '1d'
        assert 'end_date' not in shown
        shown = run(leases.CreateLease, 'mine', '--hosts=1', *CREATED)
        assert 'duration' not in shown

    def test_sends_the_type_of_the_lease(self, run):
        shown = run(
            *(leases.CreateLease, 'mine', '--hosts=1', *CREATED),
            *('--type=retry', '--max-retries=5'),
        )
        assert (shown['lease_type'], shown['max_retries']) == ('retry', 5)

    def test_sends_the_actions_of_the_end_for_each_reservation(self, run):
        shown = run(
            *(leases.CreateLease, 'mine', '--hosts=2-3', *CREATED),
            *('--before-end=snapshot', '--before-end-date=2040-01-01 11:00'),
            *('--end-action=shelve', '--end-grace=0'),
            f'--reservation={json.dumps(SLOTS | {"end_action": "delete"})}',
        )
        end = {'before_end': 'snapshot', 'end_grace': 0}
        assert shown['before_end_date'] == '2040-01-01 11:00'
        assert shown['reservations'] == [
            SLOTS | end | {'end_action': 'delete'},
            HOSTS | end | {'end_action': 'shelve'},
        ]


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
    def test_shows_only_leases_that_were_asked_for(self, run, api, words):
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
            'start_before': ['2040-01-03 10:00'],
            'end_after': ['2040-01-02 10:00'],
            'changes-since': ['now'],
        }

    def test_asks_for_those_that_were_deleted(self, run, api):
        run(leases.ListLease, '--deleted')
        [query] = api.queries
        assert query['deleted'] == ['true']

    def test_shows_reasons_and_projects_on_request(self, run, api):
        api.add(
            name='mine',
            queue_position=3,
            status_reason='no host',
            project_id='p',
        )
        [short] = run(leases.ListLease)
        [long] = run(leases.ListLease, '--long')
        assert long == short | {
            'Position': 3,
            'Reason': 'no host',
            'Project': 'p',
        }


class TestShow:
    @pytest.mark.parametrize('key', ['name', 'id'])
    def test_finds_a_lease_by_name_or_id(self, run, api, key):
        lease = api.add(name='mine')
        assert run(leases.ShowLease, lease[key])['id'] == lease['id']

    def test_asks_for_a_lease_that_was_deleted(self, run, api):
        lease = api.add(name='mine')
        run(leases.ShowLease, lease['id'], '--deleted')
        assert api.queries == [{'deleted': ['true']}]

    def test_leaves_out_columns_of_no_use(self, run, api):
        api.add(name='mine')
        shown = run(leases.ShowLease, 'mine')
        assert shown.keys() == {'id', 'name', 'status', 'reservations'}


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
        with pytest.raises(exceptions.CommandError, match='has the name none'):
            run(leases.DeleteLease, 'mine', 'none')
        assert [*api.leases] == [lease['id']]


class TestSet:
    def test_changes_name_and_dates(self, run, api):
        lease = api.add(name='mine', start_date='2040-01-01 10:00')
        run(
            *(leases.SetLease, 'mine', '--name=new', '--end=now'),
            '--before-end-date=2040-01-01 11:00',
        )
        changed = api.leases[lease['id']]
        assert changed == lease | {
            'name': 'new',
            'end_date': 'now',
            'before_end_date': '2040-01-01 11:00',
        }

    def test_changes_a_reservation_by_its_id(self, run, api):
        api.add(name='mine', reservations=[{'id': 'r1'}, {'id': 'r2'}])
        shown = run(
            leases.SetLease, 'mine', '--reservation={"id": "r2", "max": 2}'
        )
        assert shown['reservations'] == [{'id': 'r2', 'max': 2}]

    def test_changes_the_end_of_all_reservations(self, run, api):
        api.add(name='mine', reservations=[{'id': 'r1'}, {'id': 'r2'}])
        shown = run(
            *(leases.SetLease, 'mine', '--end-action=shelve'),
            '--reservation={"id": "r2", "end_action": "migrate"}',
        )
        assert shown['reservations'] == [
            {'id': 'r1', 'end_action': 'shelve'},
            {'id': 'r2', 'end_action': 'migrate'},
        ]

    def test_asks_for_hosts_in_place_of_failed_ones(self, run, api):
        lease = api.add(name='mine')
        run(leases.SetLease, 'mine', '--replace-failed')
        assert api.leases[lease['id']] == lease | {'replace_failed': True}

    def test_gives_hosts_back_of_the_only_reservation_that_has_some(
        self, run, api
    ):
        hosts = {'id': 'h', 'resource_type': 'physical:host'}
        lease = api.add([{'id': 'r'}, hosts], name='mine')
        run(
            leases.SetLease,
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

    @pytest.mark.parametrize('count', [0, 2])
    def test_asks_of_which_reservation_hosts_are_given_back(
        self, run, api, count
    ):
        api.add(
            [
                {'id': str(number), 'resource_type': 'physical:host'}
                for number in range(count)
            ],
            name='mine',
        )
        with pytest.raises(exceptions.CommandError, match=f'has {count}'):
            run(leases.SetLease, 'mine', '--release-host', 'one')


OFFER = {
    'start_date': '2040-01-02T10:00:00.000000',
    'end_date': '2040-01-02T12:00:00.000000',
}


class TestOffers:
    def test_are_listed(self, run, api):
        api.offers = [OFFER]
        shown = run(
            *(leases.ListOffer, '--hosts=2-3', '--duration=2h', '--limit=7'),
            '--start-before=2040-01-03 10:00',
        )
        assert shown == [
            {'Start': OFFER['start_date'], 'End': OFFER['end_date']}
        ]
        assert api.wanted == [
            {
                'duration': '2h',
                'start_after': 'now',
                'start_before': '2040-01-03 10:00',
                'limit': 7,
                'reservations': [HOSTS],
            }
        ]

    def test_offers_that_are_not_all_are_called_so(self, run, stderr):
        assert run(leases.ListOffer, '--hosts=1', '--duration=2h') == []
        assert 'There may be more' in stderr.getvalue()


class TestFirstFree:
    WORDS = ('mine', '--hosts=2-3', '--duration=2h', '--first-free')

    def test_leases_in_the_first_window_that_is_offered(self, run, api):
        api.offers = [OFFER, {}]
        shown = run(
            *(leases.CreateLease, *self.WORDS, '--start=2040-01-01 10:00'),
        )
        lease = api.leases[shown['id']]
        assert lease['start_date'] == OFFER['start_date']
        assert lease['duration'] == '2h'
        assert api.wanted == [
            {
                'duration': '2h',
                'start_after': '2040-01-01 10:00',
                'limit': 1,
                'reservations': [HOSTS],
            }
        ]

    def test_asks_again_if_others_are_faster(self, run, api):
        api.offers, api.taken = [OFFER], 2
        run(leases.CreateLease, *self.WORDS)
        assert (len(api.leases), len(api.wanted)) == (1, 3)

    def test_gives_up_if_others_are_faster_again_and_again(self, run, api):
        api.offers, api.taken = [OFFER], 3
        with pytest.raises(exceptions.CommandError, match='too late'):
            run(leases.CreateLease, *self.WORDS)
        assert not api.leases

    def test_is_refused_where_there_is_no_window(self, run, api):
        with pytest.raises(exceptions.CommandError, match='No window was fo'):
            run(leases.CreateLease, *self.WORDS)

    def test_has_to_know_how_long_it_lasts(self, run):
        with pytest.raises(exceptions.CommandError, match='needs --duration'):
            run(*(leases.CreateLease, 'mine', '--first-free', '--hosts=1'))


class TestRepeated:
    WORDS = ('mine', '--hosts=1', *CREATED)

    def test_a_request_has_a_key_that_no_other_has(self, run, api):
        for _ in range(2):
            run(leases.CreateLease, *self.WORDS)
        assert len({*api.keys}) == 2

    def test_a_request_has_the_key_that_is_given(self, run, api):
        run(leases.CreateLease, *self.WORDS, '--idempotency-key=mine')
        assert api.keys == ['mine']

    def test_a_user_who_loses_the_connection_is_told_how_to_repeat(
        self, run, api
    ):
        api.lost = True
        with pytest.raises(exceptions.CommandError) as refused:
            run(leases.CreateLease, *self.WORDS)
        [key] = api.keys
        assert f'--idempotency-key {key}' in str(refused.value)

    def test_a_key_does_not_go_with_a_window_that_is_looked_for(self, run):
        with pytest.raises(exceptions.CommandError, match='does not go with'):
            run(
                *(leases.CreateLease, *TestFirstFree.WORDS),
                '--idempotency-key=mine',
            )


class TestDryRun:
    def test_of_a_lease_makes_none(self, run, api):
        shown = run(
            leases.CreateLease, 'mine', '--hosts=1', *CREATED, '--dry-run'
        )
        assert shown['name'] == 'mine'
        assert not api.leases

    def test_of_a_change_changes_nothing(self, run, api):
        lease = api.add(name='mine')
        shown = run(leases.SetLease, 'mine', '--end=now', '--dry-run')
        assert shown['end_date'] == 'now'
        assert api.leases == {lease['id']: lease}


@pytest.mark.parametrize(
    ('command', 'words', 'reason'),
    [
        (leases.CreateLease, ('x', *CREATED), 'Give --hosts, or a --reserv'),
        (
            leases.CreateLease,
            ('x', '--resource-properties=[]', *CREATED),
            '--resource-properties need --hosts',
        ),
        (leases.SetLease, ('none', '--name=x'), 'No lease has the name none'),
        (leases.SetLease, ('twice', '--name=x'), '2 leases have the name twi'),
        (leases.SetLease, ('once',), 'Nothing to change was given'),
        (
            leases.SetLease,
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
    ],
)
def test_a_malformed_option_is_refused(run, capsys, words, reason):
    with pytest.raises(SystemExit):
        run(leases.CreateLease, 'x', *words, *CREATED)
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
        (http.HTTPStatus.OK, b'[1]', 'was answered with 200 OK'),
    ],
)
def test_a_refusal_by_the_api_is_told(run, api, status, body, reason):
    api.refusal = status, body
    with pytest.raises(exceptions.CommandError) as refused:
        run(leases.ShowLease, 'mine')
    assert reason in str(refused.value)
