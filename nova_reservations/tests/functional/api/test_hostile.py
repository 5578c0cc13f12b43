# SPDX-License-Identifier: Apache-2.0
"""Hand-written bad input is refused, or handled right, in bounded memory and
CPU time."""

import io
import json
import time
import tracemalloc
import urllib.parse

import pytest

LEASE = {'name': 'mine', 'start_date': 'now', 'duration': '1h'}
RESERVATION = {'resource_type': 'physical:host', 'min': 1, 'max': 1}
UNKNOWN = 'fb5ec2d1-1e3a-4a3f-8b6e-3a1f0a9f2f70'
MAX_BYTES = 8 * 2**20
MAX_SECONDS = 5

pytestmark = pytest.mark.usefixtures('bounded')


@pytest.fixture
def bounded(enrolled):
    """Fail if the test takes more memory or CPU time than allowed."""
    tracemalloc.start()
    began = time.thread_time()
    yield
    elapsed = time.thread_time() - began
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < MAX_BYTES
    assert elapsed < MAX_SECONDS


def post(person, body, path='/leases', **options):
    options = {'content_type': 'application/json'} | options
    return person('POST', path, POST=body, **options)


def lease(**changes):
    return json.dumps(LEASE | changes).encode()


def nested(depth, opening='[', closing=']'):
    return opening * depth + closing * depth


BODIES = {
    'a name of 1 MB': (lease(name='x' * 2**20), 413),
    'a name of 60 KB': (lease(name='x' * 60_000), 400),
    'a body of 1 MB of white space': (b' ' * 2**20, 413),
    '10,000 reservations': (lease(reservations=[RESERVATION] * 10_000), 413),
    '10,000 reservations that are short': (
        lease(reservations=[{}] * 10_000),
        400,
    ),
    '65 reservations': (lease(reservations=[RESERVATION] * 65), 400),
    'more hosts than there are': (
        lease(reservations=[RESERVATION] * 64),
        400,
    ),
    'deep lists': (nested(30_000).encode(), 400),
    'lists that are not closed': (b'[' * 60_000, 400),
    'deep objects': (nested(10_000, '{"a":', '}').encode(), 400),
    'deep lists where anything goes': (
        lease(events='@').replace(b'"@"', nested(200).encode()),
        400,
    ),
    'deep requirements': (
        lease(
            reservations=[RESERVATION | {'resource_properties': nested(8000)}]
        ),
        400,
    ),
    'very many requirements': (
        lease(
            reservations=[
                RESERVATION
                | {
                    'resource_properties': json.dumps(
                        ['or', *[['==', '$a', '1']] * 800]
                    )
                }
            ]
        ),
        400,
    ),
    'a requirement of a huge number': (
        lease(
            reservations=[
                RESERVATION
                | {'resource_properties': f'[">", "$vcpus", "{"9" * 5000}"]'}
            ]
        ),
        400,
    ),
    'the year 9999': (lease(start_date='9999-12-31 23:59'), 400),
    'an offset past the year 9999': (
        lease(start_date='9998-12-31 23:59-23:59'),
        400,
    ),
    'the year 0': (lease(start_date='0000-01-01 00:00'), 400),
    'a date of other digits': (lease(start_date='\uff12050-01-01 10:00'), 400),
    'a longer one': (lease(duration='999999999d'), 400),
    'the longest': (lease(duration=10**400), 400),
    'a duration below nothing': (lease(duration=-1), 400),
    'NUL': (lease(name='a\0b'), 400),
    'NUL in requirements': (
        lease(
            reservations=[
                RESERVATION | {'resource_properties': '["==", "$a", "\0"]'}
            ]
        ),
        400,
    ),
    'escaped NUL in requirements': (
        lease(
            reservations=[
                RESERVATION | {'resource_properties': r'["==","$a","\u0000"]'}
            ]
        ),
        400,
    ),
    'half of a character': (b'{"name": "\\ud800"}', 400),
    'half of a character as a key': (b'{"\\udfff": 1}', 400),
    'half of a character in requirements': (
        lease(
            reservations=[
                RESERVATION | {'resource_properties': r'["==","$\ud800","1"]'}
            ]
        ),
        400,
    ),
    'bytes that are no text': (b'{"name": "\xff\xfe"}', 400),
    'UTF-16': (json.dumps(LEASE).encode('utf-16'), 400),
    'a byte order mark': (b'\xef\xbb\xbf' + lease(), 400),
    'a float': (lease(reservations=[RESERVATION | {'min': 1.0}]), 400),
    '1e400': (lease(duration='@').replace(b'"@"', b'1e400'), 400),
    '1e400 in min': (
        lease(reservations=[RESERVATION | {'min': '@'}]).replace(
            b'"@"', b'1e400'
        ),
        400,
    ),
    'infinity': (lease(duration=float('inf')), 400),
    'a number of 5,000 digits': (
        lease(duration='@').replace(b'"@"', b'9' * 5000),
        400,
    ),
    'a boolean for a number': (
        lease(reservations=[RESERVATION | {'min': True}]),
        400,
    ),
    'the same key twice': (b'{"name": "a", "name": "b"}', 400),
    'the same key twice, deep': (
        lease(reservations='@').replace(b'"@"', b'[{"min": 1, "min": 2}]'),
        400,
    ),
    'keys that mean something in Python': (lease(__class__='x'), 400),
    # Nova has none of these in its names.
    'a name of control characters': (lease(name='a\u202eb'), 400),
    'a name of two lines': (lease(name='a\nb'), 400),
    'a name of spaces': (lease(name=' '), 400),
    'a name of four bytes each': (lease(name='🦄'), 400),
}


@pytest.mark.parametrize('what', BODIES)
def test_a_hostile_lease_is_refused(member, what):
    body, status = BODIES[what]
    assert post(member, body).status_int == status


@pytest.mark.parametrize('name', ['Ärger', '租' * 255, "'; --"])
def test_any_other_name_is_a_name(member, name):
    made = post(member, lease(name=name)).json['lease']
    assert made['name'] == name
    query = urllib.parse.urlencode({'name': name})
    [found] = member('GET', f'/leases?{query}').json['leases']
    assert (found['id'], found['name']) == (made['id'], name)


@pytest.mark.parametrize(
    'query',
    [
        f'limit={10**30}',
        'limit=9999999999',
        'limit=0',
        'limit=-1',
        'limit=1.0',
        'limit=1e3',
        'limit=%00',
        'limit=%d9%a1',
        'limit=1&limit=2',
        'marker=%00',
        f'marker={"a" * 60_000}',
        f'marker={UNKNOWN}',
        'sort_key=__class__',
        'sort_dir=up',
        'start_after=9999-12-30 23:59',
        'name=%ff',
        'name=%ed%a0%80',
        'name=',
        'moon=1',
        '&'.join(f'a{number}=1' for number in range(5000)),
    ],
)
def test_a_hostile_query_is_refused(member, query):
    assert member('GET', f'/leases?{query}').status_int == 400


@pytest.mark.parametrize(
    'query',
    [
        f'start=now&end={end}&step={step}'
        for end, step in [
            ('9998-12-31 23:59', '60'),
            ('9999-12-30 23:59', '365d'),
            ('2040-01-01 10:00', '0'),
            ('2040-01-01 10:00', 'PT0S'),
            ('2040-01-01 10:00', '-1'),
            ('2040-01-01 10:00', '1e400'),
            ('2040-01-01 10:00', '999999999d'),
            ('9998-12-31 23:59', '999999999d'),
            ('9998-12-31 23:59', '2000000d'),
            ('2001-01-01 10:00', '1h'),
        ]
    ],
)
def test_capacity_is_told_in_so_many_steps_or_refused(admin, query):
    answer = admin('GET', f'/os-hosts/capacity?{query}')
    if answer.status_int == 200:
        assert len(answer.json['capacity']) <= 10_000
    else:
        assert answer.status_int == 400


@pytest.mark.parametrize(
    'path',
    [
        '/leases/%00',
        '/leases/%ff',
        '/leases/%ed%a0%80',
        '/leases/..%2fos-hosts',
        f'/leases/{"a" * 60_000}',
        '/leases/{0.__class__}',
        '/os-hosts/%d9%a1',
        '/os-hosts/99999999999999999999',
        '/os-hosts/-1',
        '/os-hosts/1%0a',
        '/os-hosts/%00',
    ],
)
def test_a_hostile_path_is_not_found(admin, path):
    answer = admin.send('GET', f'/os-reservations/v1{path}')
    assert answer.status_int == 404
    assert len(answer.text) < 100_000


@pytest.mark.parametrize('name', ['%00', '%ed%a0%80', 'a' * 60_000, '%ff'])
def test_a_property_of_a_hostile_name_is_refused(admin, name):
    answer = admin('PATCH', f'/os-hosts/properties/{name}', {'private': True})
    assert answer.status_int in (400, 404)


@pytest.mark.parametrize(
    'properties',
    [
        {'a' * 65: '1'},
        {'a': 'x' * 1025},
        {'a': 10**400},
        {'a': '@'},
        {'': '1'},
        {'a b': '1'},
        {'a\0': '1'},
        {'a': ['x']},
        {'trust_id': '1'},
        {f'a{number}': '1' for number in range(300)},
    ],
    ids=lambda properties: next(iter(properties))[:8],
)
def test_hostile_properties_are_refused(admin, properties):
    body = json.dumps({'name': 'h1', **properties}).encode()
    answer = post(admin, body.replace(b'"@"', b'1e400'), '/os-hosts')
    assert answer.status_int == 400


@pytest.mark.parametrize(
    'content_type',
    [
        'text/plain',
        'application/xml',
        'multipart/form-data; boundary=x',
        'application/x-www-form-urlencoded',
        'application/json-patch+json',
        'x' * 10_000,
        '\xff',
    ],
)
def test_another_content_type_is_refused(member, content_type):
    assert post(member, lease(), content_type=content_type).status_int == 400


@pytest.mark.parametrize(
    'length', ['', '-1', 'many', '1e3', '999999999999999999999999']
)
def test_a_length_that_is_no_length_is_no_fault_of_ours(member, length):
    answer = member(
        'POST',
        '/leases',
        content_type='application/json',
        environ={
            'wsgi.input': io.BytesIO(lease()),
            'CONTENT_LENGTH': length,
        },
    )
    assert answer.status_int in (201, 400, 413)


def chunked(body):
    return {
        'wsgi.input': io.BytesIO(body),
        'wsgi.input_terminated': True,
        'HTTP_TRANSFER_ENCODING': 'chunked',
    }


def test_a_body_in_chunks_is_read(member):
    answer = member(
        'POST',
        '/leases',
        content_type='application/json',
        environ=chunked(lease()),
    )
    assert answer.status_int == 201


def test_an_endless_body_in_chunks_is_not(member):
    answer = member(
        'POST',
        '/leases',
        content_type='application/json',
        environ=chunked(b' ' * 4 * 2**20),
    )
    assert answer.status_int == 413


@pytest.mark.parametrize(
    ('hint', 'status'),
    [
        ('', 400),
        ('x' * 2**20, 400),
        (UNKNOWN.upper(), 400),
        (UNKNOWN.replace('-', ''), 400),
        (f'{UNKNOWN}\n', 400),
        (f' {UNKNOWN}', 400),
        ('\0', 400),
        ('\ud800', 400),
        ('租' * 36, 404),
        ('%' * 255, 404),
        ("' OR 1=1 --", 404),
        (1.0, 400),
        (10**400, 400),
        (True, 400),
        (None, 400),
        ({}, 400),
        ({'a': UNKNOWN}, 400),
        ([], 400),
        ([[UNKNOWN]], 400),
        ([UNKNOWN] * 10_000, 400),
        (UNKNOWN, 404),
        ([UNKNOWN], 404),
    ],
    ids=lambda value: repr(value)[:12],
)
def test_a_hostile_hint_is_refused(member, behind, hint, status):
    answer = member.send(
        'POST',
        '/servers',
        {'server': {}, 'os:scheduler_hints': {'reservation': hint}},
    )
    assert answer.status_int == status
    assert len(answer.text) < 1000
    assert behind.bodies == []


@pytest.mark.parametrize(
    'hints',
    [
        '1e400',
        nested(900),
        f'{{"reservation": {nested(900)}}}',
        f'{{"reservation": "{UNKNOWN}", "reservation": "x"}}',
        f'{{"reservation": "x", "reservation": "{UNKNOWN}"}}',
        '{"reservation": NaN}',
        '{"reservation": "\\ud800"}',
    ],
    ids=lambda value: value[:24],
)
def test_hostile_hints_are_refused_or_left_to_nova(member, behind, hints):
    body = f'{{"os:scheduler_hints": {hints}}}'.encode()
    answer = member.send('POST', '/servers', POST=body)
    if answer.status_int == 202:
        assert b'"reservation"' not in body
        assert behind.bodies == [body]
    else:
        assert answer.status_int in (400, 404)
