# SPDX-License-Identifier: Apache-2.0
"""Commands that make leases, and look for times for them, on an API in
memory."""

import json

from osc_lib import exceptions
import pytest

from osc_nova_reservations import create
from osc_nova_reservations import leases
from osc_nova_reservations.sdk import pool as sdk_pool
from osc_nova_reservations.sdk import proxy

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


class TestProperties:
    @pytest.fixture
    def properties(self, monkeypatch):
        """Hosts have two kinds of GPUs."""
        found = [sdk_pool.Property(property='gpu', values=['a100', 'h100'])]
        monkeypatch.setattr(
            proxy.Proxy, 'host_properties', lambda *_, **__: iter(found)
        )

    @pytest.mark.parametrize(
        ('asked', 'said'),
        [
            ('gpu=v100', 'No host has gpu=v100; there are: gpu=a100, gpu=h1'),
            ('gppu=a100', 'gppu is no property of hosts; there are: gpu'),
            ('gpu!=v100', 'no room'),
        ],
    )
    def test_of_which_there_is_none_are_told(
        self, run, api, properties, asked, said
    ):
        api.why_not = 'no room'
        with pytest.raises(exceptions.CommandError, match=said):
            run(
                *(create.CreateLease, 'mine', '--hosts=1', '--dry-run'),
                f'--property={asked}',
            )
