# SPDX-License-Identifier: Apache-2.0
import pytest

from nova_reservations import objects
from nova_reservations.db.leases import leases as rows

UNKNOWN = 'fb5ec2d1-1e3a-4a3f-8b6e-3a1f0a9f2f70'

pytestmark = pytest.mark.usefixtures('enrolled')


def names(answer):
    return [lease['name'] for lease in answer.json['leases']]


def hosts(minimum=1, **asked):
    return [
        {
            'resource_type': 'physical:host',
            'min': minimum,
            'max': minimum,
            **asked,
        }
    ]


def test_only_administrators_read_a_reason_in_full(member, admin, services):
    lease = services.leases.get(member.lease()['id'])
    reason = objects.Reason('a host', 'host h1 of theirs')
    with services.database.writer() as session:
        rows.change(session, lease, lease.created_at, status_reason=reason)
    path = f'/leases/{lease.id}'

    def read(person):
        [listed] = person('GET', '/leases').json['leases']
        shown = person('GET', path).json['lease']
        changed = person('PUT', path, {'name': 'new'}).json['lease']
        return {each['status_reason'] for each in (listed, shown, changed)}

    assert read(member) == {'a host'}
    assert read(admin) == {'host h1 of theirs'}


def test_a_lease_has_all_that_clients_of_blazar_read(member):
    lease = member.lease(
        name='mine', start_date='2050-12-26 12:00', duration='1d'
    )
    assert lease == member('GET', f'/leases/{lease["id"]}').json['lease']
    assert lease['status'] == 'PENDING'
    assert lease['start_date'] == '2050-12-26T12:00:00.000000'
    assert lease['end_date'] == '2050-12-27T12:00:00.000000'
    assert (lease['project_id'], lease['user_id']) == ('ours', 'ours-user')
    assert {event['event_type'] for event in lease['events']} == {
        'start_lease',
        'before_end_lease',
        'end_lease',
    }
    [reservation] = lease['reservations']
    assert reservation['status'] == 'pending'
    assert (reservation['min'], reservation['max']) == (1, 1)
    assert reservation['hypervisor_properties'] == ''


@pytest.mark.parametrize(
    ('start', 'asked', 'given'),
    [
        ('now', {}, 'immediate'),
        ('2050-12-26 12:00', {}, 'scheduled'),
        ('now', {'lease_type': 'immediate'}, 'immediate'),
        ('now', {'lease_type': 'scheduled'}, 'scheduled'),
        ('now', {'lease_type': 'best_effort'}, 'best_effort'),
    ],
)
def test_a_lease_is_of_the_type_asked_for_or_of_that_of_its_start(
    member, start, asked, given
):
    lease = member.lease(start_date=start, duration='1h', **asked)
    shown = member('GET', f'/leases/{lease["id"]}').json['lease']
    assert lease['lease_type'] == shown['lease_type'] == given


def test_a_retry_lease_is_kept_where_others_are_refused(member):
    body = {
        'name': 'mine',
        'reservations': hosts(10),
        'start_date': 'now',
        'duration': '1h',
    }
    assert member('POST', '/leases', body).status_int == 400
    answer = member(
        'POST', '/leases', body | {'lease_type': 'retry', 'max_retries': 5}
    )
    assert answer.status_int == 201
    lease = answer.json['lease']
    assert (lease['status'], lease['lease_type']) == ('CREATING', 'retry')
    assert lease['max_retries'] == 5
    assert lease['queue_position'] == 1
    assert '10 wanted' in lease['status_reason']
    path = f'/leases/{lease["id"]}'
    assert member('GET', path).json['lease'] == lease
    listed = member('GET', '/leases?status=CREATING').json['leases']
    assert listed == [lease]
    shorter = {'end_date': lease['end_date'][:14] + '59'}
    assert member('PUT', path, shorter).status_int == 200
    assert member('DELETE', path).status_int == 204
    assert member('GET', path).status_int == 404


def test_a_body_of_python_blazarclient_is_understood(member):
    answer = member(
        'POST',
        '/leases',
        {
            'name': 'cli',
            'start_date': '2050-01-01 10:00',
            'end_date': '2050-01-01 12:00',
            'before_end_date': None,
            'events': [],
            'reservations': [
                {
                    'resource_type': 'physical:host',
                    'min': '1',
                    'max': 2,
                    'hypervisor_properties': '[">=", "$vcpus", "4"]',
                    'resource_properties': '',
                }
            ],
        },
    )
    assert answer.status_int == 201
    assert answer.json['lease']['reservations'][0]['max'] == 2


@pytest.mark.parametrize(
    ('changes', 'reason'),
    [
        ({'duration': None}, 'duration'),
        ({'end_date': '2050-01-01 10:00'}, 'not both'),
        (
            {'start_date': '2050-01-01'},
            'is an invalid date. Required format: %Y-%m-%d %H:%M',
        ),
        (
            {'start_date': '2001-01-01 10:00'},
            'Start date must be later than current date',
        ),
        ({'duration': 0}, 'End date must be later than start date.'),
        ({'duration': '9999999d'}, '9998'),
        (
            {'before_end_date': '2060-01-01 10:00'},
            'Datetime is out of lease limits',
        ),
        (
            {'reservations': hosts(resource_type='virtual:moon')},
            'The virtual:moon resource type is not supported',
        ),
        (
            {'reservations': [{'resource_type': 'physical:host', 'max': 1}]},
            'Missing parameter min',
        ),
        ({'reservations': hosts(0)}, 'min'),
        ({'reservations': hosts(1.0)}, 'min'),
        ({'reservations': hosts('1.0')}, 'min'),
        ({'reservations': hosts(10**30)}, 'min'),
        ({'reservations': hosts(True)}, 'min'),
        ({'reservations': hosts(resource_properties='["="')}, ''),
        (
            {'reservations': hosts(resource_properties='["=", "$moon", "1"]')},
            'moon',
        ),
        ({'reservations': hosts(trust_id='x')}, 'trust_id'),
        ({'name': 'a\x00b'}, 'NUL'),
        ({'lease_type': 'someday'}, 'lease_type'),
        (
            {'lease_type': 'best_effort', 'start_date': '2050-01-01 10:00'},
            'A lease of type best_effort starts now',
        ),
        ({'lease_type': 'best_effort', 'max_retries': 1}, 'max_retries'),
        ({'max_retries': 3}, 'max_retries'),
        ({'lease_type': 'retry', 'max_retries': -1}, 'max_retries'),
        (
            {'lease_type': 'immediate', 'start_date': '2050-01-01 10:00'},
            'A lease of type immediate starts now',
        ),
    ],
)
def test_a_lease_that_makes_no_sense_is_refused_with_the_reason(
    member, changes, reason
):
    body = {
        'name': 'mine',
        'start_date': 'now',
        'duration': '1h',
        'reservations': hosts(),
    } | changes
    answer = member('POST', '/leases', body)
    assert answer.status_int == 400
    assert answer.json['error_code'] == answer.json['error_name'] == 400
    assert reason in answer.json['error_message']


def test_without_an_end_the_lease_is_refused(member):
    answer = member('POST', '/leases', {'name': 'a', 'start_date': 'now'})
    assert answer.status_int == 400
    assert 'Missing parameter end_date' in answer.json['error_message']


def test_more_hosts_than_are_free_are_refused(member):
    member.lease(reservations=hosts(2))
    answer = member(
        'POST',
        '/leases',
        {
            'name': 'late',
            'start_date': 'now',
            'duration': '1h',
            'reservations': hosts(2),
        },
    )
    assert answer.status_int == 400
    assert 'Not enough hosts available' in answer.json['error_message']
    later = answer.json['earliest_start']
    assert later == '2030-05-17T11:30:25.000000'
    member.lease(start_date=later, reservations=hosts(2))


def test_a_lease_may_hold_nothing(member):
    assert member.lease(reservations=[])['reservations'] == []


def test_leases_are_listed_by_project_and_all_of_them_for_admins(
    admin, member, stranger, reader
):
    member.lease(name='ours')
    stranger.lease(name='theirs')
    assert names(member('GET', '/leases')) == ['ours']
    assert names(reader('GET', '/leases')) == ['ours']
    assert names(admin('GET', '/leases?sort_key=name')) == ['ours', 'theirs']
    assert names(admin('GET', '/leases?project_id=theirs')) == ['theirs']
    assert names(member('GET', '/leases?project_id=ours')) == ['ours']
    assert member('GET', '/leases?project_id=theirs').status_int == 403


def test_pages_follow_each_other_to_the_end(member):
    for name in 'abcde':
        member.lease(name=name, reservations=[])
    found, path = [], '/leases?limit=2&sort_key=name&sort_dir=desc'
    while path:
        answer = member('GET', path)
        found.append(names(answer))
        links = answer.json.get('leases_links')
        path = links and links[0]['href'].partition('/v1')[2]
    assert found == [['e', 'd'], ['c', 'b'], ['a']]


def test_a_link_to_the_next_page_asks_for_the_same(member):
    for _ in range(2):
        member.lease(reservations=[])
    answer = member('GET', '/leases?limit=1&status=PENDING&status=ACTIVE')
    [link] = answer.json['leases_links']
    assert '&status=PENDING&status=ACTIVE&' in link['href']
    path = link['href'].partition('/v1')[2]
    [following] = member('GET', path).json['leases']
    assert following['id'] != answer.json['leases'][0]['id']


def test_a_link_to_the_next_page_is_absolute(member):
    member.lease(reservations=[])
    last = member.lease(reservations=[])
    answer = member('GET', '/leases?limit=1&sort_dir=desc&name=mine')
    [link] = answer.json['leases_links']
    [shown] = answer.json['leases']
    assert link == {
        'rel': 'next',
        'href': (
            'http://localhost/v2.1/os-reservations/v1/leases?limit=1&'
            f'sort_dir=desc&name=mine&marker={shown["id"]}'
        ),
    }
    assert last


@pytest.mark.parametrize(
    ('query', 'expected'),
    [
        ('name=b', ['b']),
        ('status=PENDING', ['a', 'b']),
        ('status=ACTIVE', []),
        ('status=ACTIVE&status=PENDING', ['a', 'b']),
        ('start_before=2050-01-01 10:00', []),
        ('start_before=2050-06-01 00:00', ['a']),
        ('end_after=2050-06-01 00:00', ['b']),
        ('start_before=2050-01-01 10:01&end_after=2050-01-01 10:00', ['a']),
        ('changes-since=now', ['a', 'b']),
        ('changes-since=2050-01-01 00:00', []),
        ('start_after=2050-06-01 00:00', ['b']),
        ('end_before=2050-06-01T00:00:00Z', ['a']),
        ('start_after=now', ['a', 'b']),
        ('sort_key=start_date&sort_dir=desc', ['b', 'a']),
    ],
)
def test_a_list_is_filtered_and_sorted(member, query, expected):
    member.lease(name='a', start_date='2050-01-01 10:00')
    member.lease(name='b', start_date='2050-12-01 10:00')
    query = f'sort_key=name&{query}' if 'sort' not in query else query
    assert names(member('GET', f'/leases?{query}')) == expected


@pytest.mark.parametrize(
    'query',
    [
        'limit=0',
        'limit=-1',
        'limit=x',
        'limit=',
        'limit=1&limit=2',
        'limit=99999999999',
        'marker=x',
        f'marker={UNKNOWN}',
        'sort_key=version',
        'sort_key=',
        'sort_dir=up',
        'status=active',
        'status=ACTIVE&status=x',
        'status=',
        'changes-since=x',
        'start_after=x',
        'name=',
        'name=%00',
        'name=%ff',
        'moon=1',
        'project_id=',
    ],
)
def test_a_query_that_makes_no_sense_is_refused(admin, query):
    assert admin('GET', f'/leases?{query}').status_int == 400


def test_another_projects_lease_does_not_exist(member, stranger, admin):
    path = f'/leases/{member.lease()["id"]}'
    for method, body in (
        ('GET', None),
        ('PUT', {'name': 'x'}),
        ('DELETE', None),
    ):
        answer = stranger(method, path, body)
        assert answer.status_int == 404
        assert 'could not be found' in answer.json['error_message']
    assert admin('GET', path).status_int == 200


def test_a_reader_sees_a_lease_and_may_not_change_it(member, reader):
    path = f'/leases/{member.lease()["id"]}'
    assert reader('GET', path).status_int == 200
    assert reader('PUT', path, {'name': 'x'}).status_int == 403
    answer = reader('DELETE', path)
    assert answer.status_int == 403
    assert answer.json['error_message'] == (
        "Policy doesn't allow reservations:leases:delete to be performed."
    )


@pytest.mark.parametrize(
    'lease_id', [UNKNOWN, '1', 'x' * 5000, '%00', '%ff', 'a%2fb', "'--", '..']
)
def test_a_lease_that_is_not_there_is_not_found(admin, lease_id):
    for method in ('GET', 'DELETE'):
        assert admin(method, f'/leases/{lease_id}').status_int == 404


def test_a_lease_is_renamed_and_extended(member):
    lease = member.lease(start_date='2050-01-01 10:00')
    changed = member(
        'PUT',
        f'/leases/{lease["id"]}',
        {
            'name': 'new',
            'end_date': '2050-01-02 10:00',
            'events': [],
            'before_end_date': None,
        },
    ).json['lease']
    assert changed['name'] == 'new'
    assert changed['end_date'] == '2050-01-02T10:00:00.000000'
    assert changed['start_date'] == lease['start_date']


def test_a_reservation_is_changed_by_its_id(member):
    lease = member.lease(start_date='2050-01-01 10:00')
    [reservation] = lease['reservations']
    answer = member(
        'PUT',
        f'/leases/{lease["id"]}',
        {
            'reservations': [
                {
                    'id': reservation['id'],
                    'resource_type': 'physical:host',
                    'min': '2',
                    'max': 3,
                }
            ]
        },
    )
    [changed] = answer.json['lease']['reservations']
    assert (changed['min'], changed['max']) == (2, 3)


@pytest.mark.parametrize(
    ('changes', 'status', 'reason'),
    [
        ({}, 400, 'Missing parameter id'),
        (
            {'id': UNKNOWN},
            400,
            'Please enter valid reservation IDs. Invalid '
            f'reservation IDs are: {UNKNOWN}',
        ),
        (
            {'resource_type': 'virtual:instance'},
            409,
            'resource_type cannot be updated',
        ),
        ({'min': 0}, 400, 'min'),
        ({'min': 9, 'max': 9}, 400, 'Not enough hosts available'),
        ({'status': 'active'}, 400, 'status'),
    ],
)
def test_a_change_of_a_reservation_that_makes_no_sense_is_refused(
    member, changes, status, reason
):
    lease = member.lease(start_date='2050-01-01 10:00')
    [reservation] = lease['reservations']
    item = {'id': reservation['id']} | changes if changes else {}
    answer = member('PUT', f'/leases/{lease["id"]}', {'reservations': [item]})
    assert answer.status_int == status
    assert reason in answer.json['error_message']
    unchanged = member('GET', f'/leases/{lease["id"]}').json['lease']
    assert unchanged['reservations'] == [reservation]


def test_a_reservation_is_changed_once_in_a_request(member):
    lease = member.lease()
    item = {'id': lease['reservations'][0]['id']}
    answer = member(
        'PUT', f'/leases/{lease["id"]}', {'reservations': [item, item]}
    )
    assert answer.status_int == 400


@pytest.mark.parametrize(
    'body',
    [
        {'project_id': 'theirs'},
        {'user_id': 'x'},
        {'status': 'ACTIVE'},
        {'degraded': True},
        {'trust_id': 'x'},
        {'id': UNKNOWN},
        {'duration': '1h'},
        {'name': None},
    ],
)
def test_a_lease_has_no_other_keys_to_change(member, body):
    lease = member.lease(duration='2h')
    answer = member('PUT', f'/leases/{lease["id"]}', body)
    assert answer.status_int == 400
    assert member('GET', f'/leases/{lease["id"]}').json['lease'] == lease


def test_a_started_lease_ends_now_when_asked_to(member, workers):
    lease = member.lease()
    workers.work()
    shown = member('GET', f'/leases/{lease["id"]}').json['lease']
    assert shown['status'] == 'ACTIVE'
    assert shown['reservations'][0]['status'] == 'active'
    answer = member('PUT', f'/leases/{lease["id"]}', {'end_date': 'now'})
    assert answer.status_int == 200
    workers.work(seconds=5)
    assert (
        member('GET', f'/leases/{lease["id"]}').json['lease']['status']
        == 'TERMINATED'
    )


def test_a_deleted_lease_that_has_nothing_in_nova_is_gone_at_once(member):
    path = f'/leases/{member.lease(start_date="2050-01-01 10:00")["id"]}'
    assert member('DELETE', path).status_int == 204
    assert member('GET', path).status_int == 404


def test_an_active_lease_is_deleted_when_its_resources_are_free(
    member, workers
):
    path = f'/leases/{member.lease()["id"]}'
    workers.work()
    assert member('DELETE', path).status_int == 204
    assert member('GET', path).json['lease']['status'] == 'DELETING'
    workers.work(seconds=5)
    assert member('GET', path).status_int == 404
