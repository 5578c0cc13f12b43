# SPDX-License-Identifier: Apache-2.0
"""POST /servers with the hint lease_params is refused, and nothing is made."""

import json
import uuid

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.tests.functional.api.server_requests import boot
from nova_reservations.tests.functional.api.server_requests import KEYS
from nova_reservations.tests.functional.api.server_requests import leases
from nova_reservations.tests.functional.api.server_requests import Nova
from nova_reservations.tests.functional.api.server_requests import reason
from nova_reservations.tests.functional.api.server_requests import text


@pytest.fixture
def settings(settings):
    settings.set_override(
        'resource_types',
        [objects.HOST, objects.SERVER, 'virtual:instance'],
        group='reservations',
    )
    return settings


@pytest.fixture
def behind(cloud):
    return Nova(cloud)


WRONG = {
    'no text': 7,
    'an object': {'name': 'mine'},
    'two texts': [text(), text()],
    'no JSON': '{"name": ',
    'an empty text': '',
    'JSON, but no object': '[]',
    'a number': '7',
    'a UUID': str(uuid.UUID(int=1)),
    'a name twice': '{"name": "a", "name": "b"}',
    'NaN': text(name=float('nan')),
    'an unknown key': text(amount=1),
    'no name': text(name=...),
    'an empty name': text(name=''),
    'a long name': text(name='x' * 256),
    'a NUL in the name': text(name='a\0'),
    'half a surrogate in the name': text(name='\ud800'),
    'no start': text(start=...),
    'no end': text(end=...),
    'two starts': text(start_date='now'),
    'two ends': text(end_date='2030-05-17 12:00'),
    'a wrong date': text(end='tomorrow'),
    'a date that is none': text(end='2030-02-30 12:00'),
    'a year too late': text(end='9999-12-30 23:59'),
    'a start that is past': text(start='2030-05-17 10:00'),
    'an end that is past': text(end='2030-05-17 10:00'),
    'an end at the start': text(end='now'),
    'a warning after the end': text(before_end_date='2030-05-17 13:00'),
    'an unknown action': text(on_end='explode'),
    'an unknown action of a list': text(on_end=['explode']),
    'no action': text(on_end=[]),
    'an action twice': text(on_end=['delete', 'delete']),
    'an empty action': text(on_end=''),
    'an action that is none': text(on_end=1),
    'guaranteed by a text': text(guaranteed='yes'),
    'a number of a million digits': f'{{"name": {"9" * 10**6}}}',
    'nested 100,000 times': '[' * 100_000,
    'nested 100 times': text(reservations=json.loads('[' * 100 + ']' * 100)),
    'a megabyte': text(reservations='x' * 2**20),
    'too long by one': text(reservations='x' * 16384),
}


@pytest.mark.timeout(10)
@pytest.mark.parametrize('params', WRONG.values(), ids=WRONG)
def test_wrong_params_are_refused_before_anything_is_made(
    member, behind, params
):
    answer = boot(member, params)
    assert answer.status_int == 400, answer.text
    assert len(reason(answer)) > 10
    assert behind.bodies == []
    assert leases(member) == []


def test_two_of_our_hints_are_refused(member, behind):
    answer = boot(member, hints={'reservation': str(uuid.UUID(int=1))})
    assert answer.status_int == 400
    assert 'one lease only' in reason(answer)
    assert (behind.bodies, leases(member)) == ([], [])


def test_both_keys_of_hints_are_refused(member, behind):
    answer = member.send(
        'POST',
        '/servers',
        {'server': {}, KEYS[0]: {'lease_params': text()}, KEYS[1]: {}},
    )
    assert answer.status_int == 400
    assert (behind.bodies, leases(member)) == ([], [])


class TestNotOffered:
    @pytest.fixture
    def settings(self, settings):
        settings.set_override(
            'resource_types', [objects.HOST], group='reservations'
        )
        return settings

    def test_a_type_that_is_not_offered_is_refused_by_name(
        self, member, behind
    ):
        answer = boot(member)
        assert answer.status_int == 400
        assert 'virtual:server' in reason(answer)
        assert behind.bodies == []


def test_a_person_who_may_create_no_lease_gets_no_server(
    nobody, member, behind
):
    assert boot(nobody).status_int == 403
    assert (behind.bodies, leases(member)) == ([], [])


def test_a_server_in_a_slot_of_a_reservation_has_no_second_lease(
    member, workers, enrolled, behind
):
    lease = member.lease(
        reservations=[
            {
                'resource_type': 'virtual:instance',
                'vcpus': 1,
                'memory_mb': 1,
                'disk_gb': 0,
                'amount': 1,
                'affinity': None,
                'resource_properties': '',
            }
        ]
    )
    workers.work()
    flavor = lease['reservations'][0]['id']
    answer = boot(member, server={'flavorRef': f'http://nova/{flavor}'})
    assert answer.status_int == 400
    assert behind.bodies == []


def test_a_later_start_wants_credentials_to_shelve(member, cloud, behind):
    cloud.trusted = False
    later = text(start='2030-05-17 11:00')
    answer = boot(member, later)
    assert answer.status_int == 400
    assert 'service_user' in reason(answer)
    assert (behind.bodies, leases(member)) == ([], [])
    assert boot(member).status_int == 202
    cloud.trusted = True
    assert boot(member, later).status_int == 202


def test_a_later_start_wants_a_keystone_that_answers(
    member, cloud, behind, monkeypatch
):
    def check_acting():
        raise exception.CloudUnavailable(service='Keystone', reason='no')

    monkeypatch.setattr(cloud.servers, 'check_acting', check_acting)
    answer = boot(member, text(start='2030-05-17 11:00'))
    assert answer.status_int == 503
    assert answer.headers['Retry-After']
    assert (behind.bodies, leases(member)) == ([], [])


def test_no_lease_can_ask_for_it(member):
    answer = member(
        'POST',
        '/leases',
        {
            'name': 'a',
            'start_date': 'now',
            'duration': '1h',
            'reservations': [{'resource_type': 'virtual:server'}],
        },
    )
    assert answer.status_int == 400
    assert 'virtual:server' in answer.json['error_message']
