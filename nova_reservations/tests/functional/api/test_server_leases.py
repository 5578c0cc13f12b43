# SPDX-License-Identifier: Apache-2.0
"""POST /servers with the hint lease_params, in front of a stand-in for Nova
that makes servers."""

import json
import uuid

import pytest
import webob

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.api.servers import create

KEYS = ('os:scheduler_hints', 'OS-SCH-HNT:scheduler_hints')


class Nova:
    """:ivar status: of its answer.

    :ivar meanwhile: called while it has the request, before it makes any.
    :ivar fails: raised when it has made them.
    :ivar forgets: whether servers that it refuses are there nevertheless.
    """

    def __init__(self, cloud):
        self.cloud = cloud
        self.bodies = []
        self.made = []
        self.status = '202 Accepted'
        self.meanwhile = lambda: None
        self.fails = None
        self.forgets = False

    def __call__(self, environ, start_response):
        body = webob.Request(environ).json
        self.bodies.append(body)
        self.meanwhile()
        if self.status[0] == '2' or self.fails or self.forgets:
            for _ in range(body['server'].get('min_count', 1)):
                self._make(environ['nova.context'].project_id)
        if self.fails:
            raise self.fails
        start_response(self.status, [('Content-Type', 'text/plain')])
        return [b'nova']

    def _make(self, project_id):
        server = str(uuid.uuid4())
        create.announce(server)
        self.made.append(server)
        if self.fails is None or self.forgets:
            self.cloud.instances[server] = ports.Server(
                server, project_id, 'h1', 'active'
            )


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


def text(**changes):
    params = {'name': 'mine', 'start': 'now', 'end': '2030-05-17 12:00'}
    return json.dumps(
        {k: v for k, v in (params | changes).items() if v is not ...}
    )


def boot(person, params=None, key=KEYS[0], path='/servers', **options):
    server = options.pop('server', {})
    hints = options.pop('hints', {})
    return person.send(
        'POST',
        path,
        {
            'server': {'name': 'a', **server},
            key: {'lease_params': text() if params is None else params}
            | hints,
        },
        **options,
    )


def leases(person):
    return person('GET', '/leases').json['leases']


def only_lease(person):
    [lease] = leases(person)
    return lease


def reason(answer):
    [fault] = answer.json.values()
    return fault['message']


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
def test_what_is_done_at_the_end_is_in_the_order_of_doing(
    member, on_end, expected
):
    assert boot(member, text(on_end=on_end)).status_int == 202
    [reservation] = only_lease(member)['reservations']
    assert reservation['on_end'] == expected


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
    'a year too late': text(end='9999-12-31 23:59'),
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
def test_what_is_wrong_is_refused_before_anything_is_made(
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

    def test_it_is_refused_by_name(self, member, behind):
        answer = boot(member)
        assert answer.status_int == 400
        assert 'virtual:server' in reason(answer)
        assert behind.bodies == []


def test_who_may_create_no_lease_gets_no_server(nobody, member, behind):
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


@pytest.mark.parametrize(
    'status', ['400 Bad Request', '403 Forbidden', '500 Internal Server Error']
)
def test_what_nova_refuses_has_no_lease(member, behind, status):
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


def test_its_servers_are_shown_while_they_are_made(member, behind):
    def look():
        assert only_lease(member)['status'] == 'CREATING'

    behind.meanwhile = look
    assert boot(member).status_int == 202


def test_it_can_not_be_deleted_while_they_are_made(member, behind):
    def delete():
        answer = member('DELETE', f'/leases/{only_lease(member)["id"]}')
        assert answer.status_int == 409

    behind.meanwhile = delete
    assert boot(member).status_int == 202
    assert only_lease(member)['status'] == 'PENDING'


def test_it_can_be_made_longer_while_they_are_made(member, behind):
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


def test_at_its_end_the_server_is_deleted(member, workers, cloud, clock):
    boot(member)
    workers.work()
    assert len(cloud.instances) == 1
    clock.forward(hours=2)
    workers.work(5)
    assert cloud.instances == {}
    lease = only_lease(member)
    assert lease['status'] == 'TERMINATED'
    # What it was of is still told.
    [reservation] = lease['reservations']
    assert reservation['resource_id'] == reservation['servers'][0]
    member('DELETE', f'/leases/{lease["id"]}')
    assert leases(member) == []


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


def test_others_do_not_see_it(member, stranger):
    boot(member)
    assert leases(stranger) == []


def test_hours_and_offsets_of_dates_are_understood(member):
    boot(member, text(end='2030-05-17T14:00:00+02:00'))
    assert only_lease(member)['end_date'] == '2030-05-17T12:00:00.000000'


def test_the_document_offers_no_reservation_of_it(app, member):
    answer = member.send('GET', '/os-reservations/v1/openapi.json')
    schemas = answer.json['components']['schemas']
    assert 'virtual:server' not in json.dumps(schemas['NewReservation'])
