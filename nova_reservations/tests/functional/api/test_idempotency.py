# SPDX-License-Identifier: Apache-2.0
import pytest

pytestmark = pytest.mark.usefixtures('enrolled')

BODY = {
    'name': 'mine',
    'start_date': 'now',
    'duration': '1h',
    'reservations': [{'resource_type': 'physical:host', 'min': 1, 'max': 1}],
}


def post(person, key, path='/leases', **changes):
    return person(
        'POST', path, BODY | changes, headers={'Idempotency-Key': key}
    )


def leases(person):
    return person('GET', '/leases').json['leases']


def test_the_same_request_makes_one_lease(member, clock):
    first = post(member, 'k')
    assert first.status_int == 201
    clock.forward(hours=2)
    again = post(member, 'k')
    assert (again.status_int, again.json) == (201, first.json)
    assert len(leases(member)) == 1


def test_the_order_of_a_body_does_not_matter(member):
    first = post(member, 'k')
    turned = dict(reversed(BODY.items()))
    again = member('POST', '/leases', turned, headers={'Idempotency-Key': 'k'})
    assert again.json == first.json


def test_a_lease_is_shown_as_it_is_now(member):
    lease = post(member, 'k').json['lease']
    member('PUT', f'/leases/{lease["id"]}', {'name': 'other'})
    assert post(member, 'k').json['lease']['name'] == 'other'


def test_another_key_and_no_key_make_other_leases(member):
    post(member, 'k')
    post(member, 'l')
    member('POST', '/leases', BODY)
    assert len(leases(member)) == 3


def test_another_body_is_refused(member):
    post(member, 'k')
    answer = post(member, 'k', name='other')
    assert answer.status_int == 422
    assert 'another body' in answer.json['error_message']
    assert len(leases(member)) == 1


def test_a_lease_that_was_deleted_is_not_made_again(member):
    lease = post(member, 'k').json['lease']
    member('DELETE', f'/leases/{lease["id"]}')
    answer = post(member, 'k')
    assert answer.status_int == 409
    assert f'{lease["id"]} is deleted' in answer.json['error_message']
    assert leases(member) == []


def test_a_refusal_is_not_remembered(member):
    full = member.lease(
        reservations=[{'resource_type': 'physical:host', 'min': 3, 'max': 3}]
    )
    assert post(member, 'k').status_int == 400
    member('DELETE', f'/leases/{full["id"]}')
    assert post(member, 'k').status_int == 201


def test_a_dry_run_remembers_nothing(member):
    path = '/leases?dry_run=true'
    for changes in ({}, {'name': 'other'}):
        assert post(member, 'k', path, **changes).status_int == 201
    assert post(member, 'k').json['lease'] == leases(member)[0]


def test_another_project_has_keys_of_its_own(member, stranger):
    post(member, 'k')
    assert post(stranger, 'k', name='theirs').status_int == 201
    assert [lease['name'] for lease in leases(stranger)] == ['theirs']


@pytest.mark.parametrize('key', ['', 'x' * 256, 'caf\xe9', 'a\tb'])
def test_a_malformed_key_is_refused(member, key):
    answer = post(member, key)
    assert answer.status_int == 400
    assert 'Idempotency-Key' in answer.json['error_message']
    assert '1 to 255 printable' in answer.json['error_message'] or key[1:]
    assert leases(member) == []


def test_longest_key_and_blanks_are_taken(member):
    for key in ('x' * 255, 'two words'):
        assert post(member, key).status_int == 201
