# SPDX-License-Identifier: Apache-2.0
"""POST /servers with the hint lease_params, in front of a stand-in for Nova
that makes servers."""

import json

import pytest

from nova_reservations import objects
from nova_reservations.tests.functional.api.server_requests import boot
from nova_reservations.tests.functional.api.server_requests import KEYS
from nova_reservations.tests.functional.api.server_requests import leases
from nova_reservations.tests.functional.api.server_requests import Nova
from nova_reservations.tests.functional.api.server_requests import only_lease
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


def test_an_accepted_server_has_its_lease(member, behind):
    answer = boot(member)
    assert (answer.status_int, answer.text) == (202, 'nova')
    lease = only_lease(member)
    assert lease['name'] == 'mine'
    assert lease['status'] == 'PENDING'
    assert lease['start_date'] == '2030-05-17T10:30:25.000000'
    assert lease['end_date'] == '2030-05-17T12:00:00.000000'
    [reservation] = lease['reservations']
    assert reservation['resource_type'] == 'virtual:instance'
    assert reservation['resource_id'] == behind.made[0]
    assert reservation['servers'] == behind.made
    assert reservation['on_end'] == ['delete']


@pytest.mark.parametrize('mount', ['/v2', '/v2.1'])
@pytest.mark.parametrize(
    'path',
    [
        '/servers',
        '/os-volumes_boot',
        '/0123abc/servers',
        '/0123abc/os-volumes_boot',
    ],
)
@pytest.mark.parametrize('key', KEYS)
def test_every_way_to_create_takes_it(member, behind, mount, path, key):
    assert boot(member, mount=mount, path=path, key=key).status_int == 202
    lease = only_lease(member)
    [body] = behind.bodies
    assert body[key] == {'lease_params': lease['reservations'][0]['id']}
    assert body['server'] == {'name': 'a'}


def test_a_hint_in_a_list_of_one_is_the_same(member):
    assert boot(member, [text()]).status_int == 202
    assert only_lease(member)['name'] == 'mine'


def test_other_hints_stay_as_they_are(member, behind):
    boot(member, hints={'group': 'g', 'odd': ['a', 'b']})
    hints = behind.bodies[0][KEYS[0]]
    assert {**hints, 'lease_params': ''} == {
        'group': 'g',
        'odd': ['a', 'b'],
        'lease_params': '',
    }


def test_escapes_do_not_hide_it(member, behind):
    params = json.dumps(text())
    body = (
        '{"server": {}, "os:scheduler\\u005fhints": '
        f'{{"lease\\u005fparams": {params}}}}}'
    )
    member.send('POST', '/servers', POST=body.encode())
    assert only_lease(member)['name'] == 'mine'
    assert 'end' not in json.dumps(behind.bodies)


def test_blazars_own_names_do_as_well(member):
    params = text(
        start=...,
        end=...,
        start_date='2030-05-17 10:30',
        end_date='2030-05-18 12:00',
        before_end_date='2030-05-18 11:00',
        reservations=[{'resource_type': 'anything'}],
    )
    assert boot(member, params).status_int == 202
    lease = only_lease(member)
    assert lease['end_date'] == '2030-05-18T12:00:00.000000'
    assert [
        event['time']
        for event in lease['events']
        if event['event_type'] == 'before_end_lease'
    ] == ['2030-05-18T11:00:00.000000']


def test_servers_of_one_request_share_one_lease(member, behind):
    answer = boot(
        member,
        server={
            'min_count': 3,
            'max_count': 3,
            'return_reservation_id': True,
        },
    )
    assert answer.status_int == 202
    [reservation] = only_lease(member)['reservations']
    assert reservation['servers'] == behind.made
    assert reservation['resource_id'] == behind.made[0]


@pytest.mark.parametrize(
    ('on_end', 'expected'),
    [
        ('create_image', ['create_image']),
        ('delete, create_image', ['create_image', 'delete']),
        (['delete', 'suspend'], ['suspend', 'delete']),
        (None, ['delete']),
    ],
)
def test_actions_at_the_end_are_in_the_order_of_doing(
    member, on_end, expected
):
    assert boot(member, text(on_end=on_end)).status_int == 202
    [reservation] = only_lease(member)['reservations']
    assert reservation['on_end'] == expected


@pytest.mark.parametrize(
    'status', ['400 Bad Request', '403 Forbidden', '500 Internal Server Error']
)
def test_a_server_that_nova_refuses_has_no_lease(member, behind, status):
    behind.status = status
    answer = boot(member)
    assert (answer.status, answer.text) == (status, 'nova')
    assert leases(member) == []


def test_a_nova_that_breaks_leaves_no_lease(member, behind):
    behind.fails = RuntimeError('a bug')
    with pytest.raises(RuntimeError):
        boot(member)
    assert behind.made
    assert leases(member) == []


def test_servers_of_a_request_that_was_refused_are_deleted(
    member, behind, cloud, workers
):
    behind.status = '500 Internal Server Error'
    behind.forgets = True
    boot(member, text(on_end='create_image'))
    assert set(behind.made) == set(cloud.instances)
    workers.work(5)
    assert leases(member) == []
    assert cloud.instances == {}
    assert cloud.images == []


def test_a_request_that_takes_too_long_makes_nothing(
    member, behind, cloud, clock, workers
):
    def wait():
        clock.forward(minutes=6)
        workers.work()
        assert only_lease(member)['status'] == 'ERROR'

    behind.meanwhile = wait
    answer = boot(member)
    assert answer.status_int == 409
    assert 'too long' in reason(answer)
    assert cloud.instances == {}


def test_servers_of_a_lease_are_shown_while_they_are_made(member, behind):
    def look():
        assert only_lease(member)['status'] == 'CREATING'

    behind.meanwhile = look
    assert boot(member).status_int == 202


def test_a_lease_can_not_be_deleted_while_its_servers_are_made(member, behind):
    def delete():
        answer = member('DELETE', f'/leases/{only_lease(member)["id"]}')
        assert answer.status_int == 409

    behind.meanwhile = delete
    assert boot(member).status_int == 202
    assert only_lease(member)['status'] == 'PENDING'


def test_a_lease_can_be_made_longer_while_its_servers_are_made(member, behind):
    def extend():
        answer = member(
            'PUT',
            f'/leases/{only_lease(member)["id"]}',
            {'end_date': '2030-05-18 12:00'},
        )
        assert answer.status_int == 200

    behind.meanwhile = extend
    assert boot(member).status_int == 202
    lease = only_lease(member)
    assert lease['status'] == 'PENDING'
    assert lease['end_date'] == '2030-05-18T12:00:00.000000'


def test_a_lease_can_be_extended_and_told_another_end(member, workers):
    boot(member)
    workers.work()
    lease = only_lease(member)
    assert lease['status'] == 'ACTIVE'
    [reservation] = lease['reservations']
    answer = member(
        'PUT',
        f'/leases/{lease["id"]}',
        {
            'end_date': '2030-05-19 12:00',
            'reservations': [
                {
                    'id': reservation['id'],
                    'resource_type': 'virtual:instance',
                    'on_end': ['suspend'],
                }
            ],
        },
    )
    assert answer.status_int == 200, answer.text
    lease = answer.json['lease']
    assert lease['end_date'] == '2030-05-19T12:00:00.000000'
    assert lease['reservations'][0]['on_end'] == ['suspend']


@pytest.mark.parametrize(
    'change', [{'amount': 2}, {'on_end': 'explode'}, {'guaranteed': True}]
)
def test_nothing_else_of_it_can_be_changed(member, workers, change):
    boot(member)
    lease = only_lease(member)
    [reservation] = lease['reservations']
    answer = member(
        'PUT',
        f'/leases/{lease["id"]}',
        {'reservations': [{'id': reservation['id'], **change}]},
    )
    assert answer.status_int == 400


def test_a_server_is_deleted_at_the_end_of_its_lease(
    member, workers, cloud, clock
):
    boot(member)
    workers.work()
    assert len(cloud.instances) == 1
    clock.forward(hours=2)
    workers.work(5)
    assert cloud.instances == {}
    lease = only_lease(member)
    assert lease['status'] == 'TERMINATED'
    # The lease still shows the server that it was for.
    [reservation] = lease['reservations']
    assert reservation['resource_id'] == reservation['servers'][0]
    member('DELETE', f'/leases/{lease["id"]}')
    assert leases(member) == []


def test_other_projects_do_not_see_the_lease(member, stranger):
    boot(member)
    assert leases(stranger) == []


def test_hours_and_offsets_of_dates_are_understood(member):
    boot(member, text(end='2030-05-17T14:00:00+02:00'))
    assert only_lease(member)['end_date'] == '2030-05-17T12:00:00.000000'


def test_the_document_offers_no_reservation_of_it(app, member):
    answer = member.send('GET', '/os-reservations/v1/openapi.json')
    schemas = answer.json['components']['schemas']
    assert 'virtual:server' not in json.dumps(schemas['NewReservation'])
