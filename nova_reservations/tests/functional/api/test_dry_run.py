# SPDX-License-Identifier: Apache-2.0
import pytest

pytestmark = pytest.mark.usefixtures('enrolled')


def test_a_dry_run_of_a_lease_answers_and_makes_none(member):
    body = {
        'name': 'mine',
        'start_date': 'now',
        'duration': '1h',
        'reservations': [
            {'resource_type': 'physical:host', 'min': 3, 'max': 3}
        ],
    }
    for _ in range(2):
        answer = member('POST', '/leases?dry_run=true', body)
        assert answer.status_int == 201
        assert answer.json['lease']['status'] == 'PENDING'
    assert member('GET', '/leases').json['leases'] == []


def test_a_dry_run_of_a_change_answers_and_changes_nothing(member):
    lease = member.lease()
    path = f'/leases/{lease["id"]}'
    asked = [{'id': lease['reservations'][0]['id'], 'min': 2, 'max': 2}]
    answer = member('PUT', f'{path}?dry_run=1', {'reservations': asked})
    assert answer.json['lease']['reservations'][0]['min'] == 2
    assert member('GET', path).json['lease'] == lease
    asked[0] |= {'min': 9, 'max': 9}
    answer = member('PUT', f'{path}?dry_run=true', {'reservations': asked})
    assert answer.status_int == 400
    assert member('GET', path).json['lease'] == lease


def test_failed_hosts_are_not_replaced_by_a_dry_run(member):
    path = f'/leases/{member.lease()["id"]}?dry_run=true'
    answer = member('PUT', path, {'replace_failed': True})
    assert answer.status_int == 400
    assert 'dry_run' in answer.json['error_message']


def test_a_dry_run_that_makes_no_sense_is_refused(member):
    answer = member('POST', '/leases?dry_run=perhaps', {'name': 'mine'})
    assert answer.status_int == 400
