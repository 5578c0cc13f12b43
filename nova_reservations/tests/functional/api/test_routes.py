# SPDX-License-Identifier: Apache-2.0
import io
import json

from hypothesis import given
from hypothesis import HealthCheck
from hypothesis import settings
from hypothesis import strategies
import nova.conf
import pytest

from nova_reservations.tests import profile


def test_names_of_hosts_are_a_matter_of_operators(admin, member):
    admin('POST', '/os-hosts', {'name': 'h1'})
    for path in (
        '/os-hosts/allocations',
        '/os-hosts/1/allocation',
        '/os-hosts?name=h1',
        '/os-hosts/1?detail=True',
    ):
        assert member('GET', path).status_int == 403


@pytest.mark.parametrize('path', ['', '/', '/versions'])
def test_the_mount_tells_which_versions_there_are(member, path):
    answer = member.send('GET', f'/os-reservations{path}')
    assert answer.status_int == 300
    assert answer.json == {
        'versions': [
            {
                'id': 'v1.0',
                'status': 'CURRENT',
                'min_version': '1.0',
                'max_version': '1.0',
                'links': [
                    {
                        'rel': 'self',
                        'href': 'http://localhost/v2.1/os-reservations/v1',
                    }
                ],
            }
        ]
    }


def test_links_go_through_the_proxy_that_nova_knows_of(member):
    nova.conf.CONF.set_override(
        'compute_link_prefix', 'https://cloud.example.org/compute', 'api'
    )
    answer = member.send('GET', '/os-reservations')
    assert answer.json['versions'][0]['links'][0]['href'] == (
        'https://cloud.example.org/compute/v2.1/os-reservations/v1'
    )


def test_the_version_tells_of_itself(member):
    answer = member.send('GET', '/os-reservations/v1')
    assert answer.status_int == 200
    assert answer.json['version']['id'] == 'v1.0'


@pytest.mark.parametrize(
    'path',
    [
        '/moon',
        '/v2/leases',
        '/v1/moon',
        '/v1/leases/',
        '/v1/leases//',
        '/v1/leases/a/b',
        '/v1/os-hosts/1/allocations',
        '/v1/leases%0a',
        '/v1leases',
        '/v1/openapiXjson',
        '/v1/%ff',
    ],
)
def test_paths_that_are_not_served_are_not_found(admin, path):
    answer = admin.send('GET', f'/os-reservations{path}')
    assert answer.status_int == 404
    assert answer.json['error'] == 404
    assert answer.json['error_message']


@pytest.mark.parametrize('path', ['/leases', '/leases.json'])
def test_the_suffix_json_is_accepted(member, path):
    assert member.send('GET', f'/os-reservations/v1{path}').json == {
        'leases': []
    }


def test_the_page_that_tells_of_the_api_is_only_read(member):
    answer = member.send('DELETE', '/os-reservations')
    assert answer.status_int == 405
    assert answer.headers['Allow'] == 'GET'


@pytest.mark.parametrize('method', ['PATCH', 'DELETE', 'HEAD', 'MOON'])
def test_a_wrong_method_is_told_the_right_ones(member, method):
    answer = member.send(method, '/os-reservations/v1/leases')
    assert answer.status_int == 405
    assert answer.headers['Allow'] == 'GET, POST'


def test_the_project_may_be_named_in_the_path(app, member):
    member.context.project_id = 'abc0123'
    path = '/os-reservations/v1/leases'
    assert member.send('GET', f'/abc0123{path}').json == {'leases': []}
    answer = member.send('GET', f'/def4567{path}')
    assert answer.status_int == 400
    assert 'Malformed request URL' in answer.json['error_message']


@pytest.mark.parametrize(
    'asked',
    [
        'reservation 1.0',
        'reservation latest',
        'compute 2.96',
        'nonsense',
        'compute 2.1, reservation 1.0',
    ],
)
def test_the_version_that_there_is_is_accepted(member, asked):
    answer = member('GET', '/leases', headers={'OpenStack-API-Version': asked})
    assert answer.status_int == 200


@pytest.mark.parametrize(
    ('asked', 'status', 'reason'),
    [
        (
            '1.1',
            406,
            'Version 1.1 is not supported by the API. Minimum is 1.0 '
            'and maximum is 1.0.',
        ),
        (
            'foo',
            400,
            'API Version String foo is of invalid format. Must be of '
            'format MajorNum.MinorNum.',
        ),
    ],
)
def test_another_version_is_refused(member, asked, status, reason):
    answer = member.send(
        'GET',
        '/os-reservations/v1/leases',
        headers={'OpenStack-API-Version': f'reservation {asked}'},
    )
    assert answer.json == {'error': status, 'error_message': reason}
    assert 'OpenStack-API-Version' not in answer.headers


@pytest.mark.parametrize(
    'body',
    [
        b'',
        b'{',
        b'null',
        b'[]',
        b'"text"',
        b'7',
        b'{"name": NaN}',
        b'{"name": "a", "name": "b"}',
        b'\xff',
        b'[' * 50000,
    ],
)
def test_a_body_that_is_no_object_of_json_is_refused(member, body):
    answer = member(
        'POST',
        '/leases',
        body=None,
        content_type='application/json',
        POST=body,
    )
    assert answer.status_int == 400


def test_another_content_type_is_refused(member):
    answer = member('POST', '/leases', content_type='text/plain', POST=b'{}')
    assert answer.status_int == 400
    assert answer.json == {
        'error': 400,
        'error_message': "Content type 'text/plain' isn't supported",
    }


def test_a_body_without_content_type_and_accept_is_read(member):
    answer = member(
        'POST',
        '/leases',
        content_type='',
        POST=json.dumps(
            {'name': 'a', 'start_date': 'now', 'duration': 60}
        ).encode(),
    )
    assert answer.status_int == 201


def test_a_large_body_is_refused_without_reading_it(member):
    class Unread(io.BytesIO):
        def read(self, *_):
            raise AssertionError('read')

    answer = member(
        'POST',
        '/leases',
        content_type='application/json',
        environ={'wsgi.input': Unread(), 'CONTENT_LENGTH': str(64 * 1024 + 1)},
    )
    assert answer.status_int == 413
    assert 'larger than 65536 bytes' in answer.json['error_message']


def test_a_large_body_of_unknown_length_is_read_only_so_far(member):
    stream = io.BytesIO(b' ' * 10_000_000)
    answer = member(
        'POST',
        '/leases',
        content_type='application/json',
        environ={'wsgi.input': stream, 'wsgi.input_terminated': True},
    )
    assert answer.status_int == 413
    assert stream.tell() < 100_000


JSON = strategies.recursive(
    strategies.none()
    | strategies.booleans()
    | strategies.integers()
    | strategies.floats()
    | strategies.text()
    | strategies.sampled_from(
        ['now', '1h', '2050-01-01 10:00', 'physical:host', '[]', '']
    ),
    lambda inner: (
        strategies.lists(inner, max_size=3)
        | strategies.dictionaries(
            strategies.text(max_size=8), inner, max_size=3
        )
    ),
    max_leaves=8,
)
RESERVATION = strategies.fixed_dictionaries(
    {},
    optional={
        'resource_type': strategies.just('physical:host') | JSON,
        'min': strategies.integers(-1, 3) | JSON,
        'max': strategies.integers(-1, 3) | JSON,
        'hypervisor_properties': JSON | JSON.map(json.dumps),
        'resource_properties': JSON | JSON.map(json.dumps),
        'before_end': JSON,
    },
)
LEASE = strategies.fixed_dictionaries(
    {},
    optional={
        'name': strategies.just('a') | JSON,
        'start_date': strategies.just('now') | JSON,
        'end_date': strategies.just('2050-01-01 10:00') | JSON,
        'duration': strategies.just('1h') | JSON,
        'before_end_date': JSON,
        'events': JSON,
        'reservations': strategies.lists(RESERVATION, max_size=2) | JSON,
    },
)


@given(body=LEASE | JSON)
@settings(
    max_examples=profile.examples(300),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_nothing_that_a_client_can_send_is_our_fault(member, enrolled, body):
    answer = member(
        'POST',
        '/leases',
        text=json.dumps(body),
        content_type='application/json',
    )
    assert answer.status_int in (201, 400)
    if answer.status_int == 201:
        member('DELETE', f'/leases/{answer.json["lease"]["id"]}')
