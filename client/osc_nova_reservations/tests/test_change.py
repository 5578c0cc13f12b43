# SPDX-License-Identifier: Apache-2.0
"""Commands that change leases, on an API in memory."""

from osc_lib import exceptions
import pytest

from osc_nova_reservations import change
from osc_nova_reservations import create

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

    def test_an_end_is_the_first_after_the_start(self, run, api):
        api.add(name='mine')
        run(change.SetLease, 'mine', '--end=18:00')
        assert api.sent == [{'end_date': '2040-01-01T18:00:00+00:00'}]

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
