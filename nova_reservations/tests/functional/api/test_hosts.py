# SPDX-License-Identifier: Apache-2.0
import json

import nova.conf
import pytest

from nova_reservations.testing import fake_cloud

UNKNOWN = 'fb5ec2d1-1e3a-4a3f-8b6e-3a1f0a9f2f70'


def names(answer):
    return [host['service_name'] for host in answer.json['hosts']]


def enrol(admin, name='h1', **properties):
    answer = admin('POST', '/os-hosts', {'name': name, **properties})
    assert answer.status_int == 201, answer.text
    return answer.json['host']


def test_an_enrolled_host_has_all_that_clients_of_blazar_read(admin, cloud):
    host = enrol(admin, gpu='A100', rack=7, ssd=True, share=0.5)
    assert host['id'].isdigit()
    assert host['hypervisor_hostname'] == 'h1.example.org'
    assert host['service_name'] == 'h1'
    assert (host['gpu'], host['rack'], host['ssd'], host['share']) == (
        'A100',
        '7',
        'True',
        '0.5',
    )
    assert host['reservable'] is True
    assert json.loads(host['cpu_info']) == {}
    assert admin('GET', f'/os-hosts/{host["id"]}').json['host'] == host
    assert cloud.pool == {'h1'}


def test_a_host_is_named_in_each_way_that_nova_has(admin, cloud):
    enrol(admin, 'h1')
    enrol(admin, 'h2.example.org')
    enrol(admin, cloud.known['h3'].uuid)
    assert [
        host['service_name']
        for host in admin('GET', '/os-hosts').json['hosts']
    ] == ['h1', 'h2', 'h3']


def test_a_host_that_can_not_be_enrolled_is_refused(admin, cloud):
    assert admin('POST', '/os-hosts', {'name': 'moon'}).status_int == 404
    cloud.boot('h2', 'theirs')
    answer = admin('POST', '/os-hosts', {'name': 'h2'})
    assert answer.status_int == 409
    assert 'in use' in answer.json['error_message']
    enrol(admin, 'h1')
    assert admin('POST', '/os-hosts', {'name': 'h1'}).status_int == 409


@pytest.mark.parametrize(
    'body',
    [
        {},
        {'name': ''},
        {'name': 7},
        {'name': 'h1', 'vcpus': '4'},
        {'name': 'h1', 'id': '1'},
        {'name': 'h1', 'x' * 65: '1'},
        {'name': 'h1', 'gpu': {'a': 1}},
        [],
        None,
    ],
)
def test_a_host_that_is_not_well_formed_is_refused(admin, body):
    answer = admin(
        'POST',
        '/os-hosts',
        text=json.dumps(body),
        content_type='application/json',
    )
    assert answer.status_int == 400


def test_properties_are_set_and_unset(admin):
    host = enrol(admin, gpu='A100', rack='7')
    path = f'/os-hosts/{host["id"]}'
    changed = admin('PUT', path, {'gpu': None, 'rack': 8}).json['host']
    assert 'gpu' not in changed
    assert changed['rack'] == '8'
    answer = admin('PUT', path, {})
    assert answer.status_int == 400
    assert answer.json['error_message'] == 'No data to update'


def test_a_host_that_is_sent_back_whole_stays_as_it_is(admin, cloud):
    host = enrol(admin, gpu='A100')
    path = f'/os-hosts/{host["id"]}'
    for body in (
        host,
        admin('GET', f'{path}?detail=True').json['host'],
        {'name': 'h1'},
        {'name': 'h1.example.org'},
    ):
        assert admin('PUT', path, body).json['host'] == host
    changed = admin('PUT', path, {**host, 'name': 'h1', 'gpu': 'H100'})
    assert changed.json['host']['gpu'] == 'H100'


@pytest.mark.parametrize(
    'change', [{'name': 'h2'}, {'vcpus': 1}, {'cell': 'moon'}, {'id': '77'}]
)
def test_a_host_has_the_names_and_the_facts_that_nova_knows(admin, change):
    host = enrol(admin)
    refused = admin('PUT', f'/os-hosts/{host["id"]}', {**host, **change})
    assert refused.status_int == 400
    [key] = change
    assert refused.json['error_message'] == f'{key} cannot be set'


def test_a_property_that_is_null_is_not_set(admin):
    assert 'gpu' not in enrol(admin, gpu=None)


def test_keys_that_blazar_does_not_know_look_like_no_property(admin):
    host = enrol(admin, gpu='A100')
    detailed = admin('GET', f'/os-hosts/{host["id"]}?detail=True').json['host']
    assert detailed.keys() - host.keys() == {'cell', 'status_reason'}
    [listed] = admin('GET', '/os-hosts?detail=True').json['hosts']
    assert listed == detailed


def test_a_property_that_a_lease_was_planned_with_stays(admin, member):
    host = enrol(admin, gpu='A100')
    member.lease(
        reservations=[
            {
                'resource_type': 'physical:host',
                'min': 1,
                'max': 1,
                'resource_properties': '["=", "$gpu", "A100"]',
            }
        ]
    )
    answer = admin('PUT', f'/os-hosts/{host["id"]}', {'gpu': 'H100'})
    assert answer.status_int == 409


def test_a_host_is_given_back_unless_a_lease_holds_it(admin, member, cloud):
    host = enrol(admin)
    lease = member.lease()
    path = f'/os-hosts/{host["id"]}'
    assert admin('DELETE', path).status_int == 409
    assert member('DELETE', f'/leases/{lease["id"]}').status_int == 204
    assert admin('DELETE', path).status_int == 204
    assert admin('GET', path).status_int == 404
    assert cloud.pool == set()


@pytest.mark.parametrize(
    'host_id',
    ['0', '7', 'h1', '-1', '1.0', '9' * 40, '%00', '%D9%A3', UNKNOWN],
)
def test_a_host_that_is_not_there_is_not_found(admin, host_id):
    assert admin('GET', f'/os-hosts/{host_id}').status_int == 404
    assert admin('DELETE', f'/os-hosts/{host_id}').status_int == 404
    assert admin('PUT', f'/os-hosts/{host_id}', {'a': 'b'}).status_int == 404
    assert admin('GET', f'/os-hosts/{host_id}/allocation').status_int == 404


def test_hosts_are_listed_in_pages(admin, enrolled):
    ids = [host['id'] for host in enrolled]
    first = admin('GET', '/os-hosts?limit=2')
    assert [host['id'] for host in first.json['hosts']] == ids[:2]
    [link] = first.json['hosts_links']
    rest = admin('GET', link['href'].partition('/v1')[2])
    assert [host['id'] for host in rest.json['hosts']] == ids[2:]
    assert 'hosts_links' not in rest.json


@pytest.mark.parametrize(
    ('query', 'count'),
    [
        ('name=h1', 1),
        ('name=moon', 0),
        ('availability_zone=nova', 3),
        ('availability_zone=other', 0),
    ],
)
def test_hosts_are_filtered(admin, enrolled, query, count):
    assert len(admin('GET', f'/os-hosts?{query}').json['hosts']) == count


def test_allocations_tell_which_lease_holds_which_host(
    admin, member, enrolled
):
    lease = member.lease()
    [reservation] = lease['reservations']
    held = {
        'id': reservation['id'],
        'lease_id': lease['id'],
        'start_date': lease['start_date'],
        'end_date': lease['end_date'],
    }
    shown = admin('GET', '/os-hosts/allocations').json['allocations']
    assert {item['resource_id'] for item in shown} == {
        host['id'] for host in enrolled
    }
    [taken] = [item for item in shown if item['reservations']]
    assert taken['reservations'] == [held]
    for query in (
        '',
        f'?lease_id={lease["id"]}',
        f'?reservation_id={reservation["id"]}',
    ):
        answer = admin(
            'GET', f'/os-hosts/{taken["resource_id"]}/allocation{query}'
        )
        assert answer.json['allocation'] == taken
    other = admin('GET', f'/os-hosts/allocations?lease_id={UNKNOWN}')
    assert not any(item['reservations'] for item in other.json['allocations'])


def test_capacity_tells_what_is_free_over_time(admin, member, enrolled):
    member.lease(start_date='2050-01-01 11:00', duration='1h')
    points = admin(
        'GET',
        '/os-hosts/capacity?start=2050-01-01 10:00&'
        'end=2050-01-01T12:30:00Z&step=1h',
    ).json['capacity']
    assert [
        (point['hosts'], point['reserved'], point['free']) for point in points
    ] == [(3, 0, 3), (3, 1, 2), (3, 0, 3)]
    assert points[2]['end_date'] == '2050-01-01T12:30:00.000000'


@pytest.mark.parametrize('step', ['999999999s', '999999999d', '20000d'])
def test_capacity_goes_as_far_as_dates_do(member, enrolled, step):
    query = f'start=1970-01-01 00:00&end=9998-12-31 23:59&step={step}'
    points = member('GET', f'/os-hosts/capacity?{query}').json['capacity']
    assert points[-1]['end_date'] == '9998-12-31T23:59:00.000000'


@pytest.mark.parametrize(
    'query',
    [
        '',
        'start=now',
        'start=now&end=now',
        'start=now&end=x',
        'start=now&end=2050-01-01 10:00&step=0',
        'start=now&end=2050-01-01 10:00&step=x',
        'start=now&end=2050-01-01 10:00&step=30s',
        'start=now&end=9998-01-01 10:00&step=60s',
        'start=now&end=2050-01-01 10:00&step=1d&moon=1',
    ],
)
def test_a_capacity_that_can_not_be_told_is_refused(admin, query):
    assert admin('GET', f'/os-hosts/capacity?{query}').status_int == 400


def test_properties_that_hosts_have_are_listed(admin):
    enrol(admin, 'h1', gpu='A100', rack='1')
    enrol(admin, 'h2', gpu='H100')
    answer = admin('GET', '/os-hosts/properties')
    assert answer.json['resource_properties'] == [
        {'property': 'gpu'},
        {'property': 'rack'},
    ]
    detailed = admin('GET', '/os-hosts/properties?detail=True')
    assert detailed.json['resource_properties'][0] == {
        'property': 'gpu',
        'private': False,
        'values': ['A100', 'H100'],
    }


def test_a_private_property_is_listed_on_request_only(admin):
    enrol(admin, 'h1', gpu='A100')
    answer = admin('PATCH', '/os-hosts/properties/gpu', {'private': True})
    assert answer.json['resource_property']['private'] is True
    assert admin('GET', '/os-hosts/properties').json == {
        'resource_properties': []
    }
    for text, count in (('True', 1), ('False', 0)):
        answer = admin('GET', f'/os-hosts/properties?all={text}')
        assert len(answer.json['resource_properties']) == count


@pytest.mark.parametrize(
    ('name', 'body', 'status'),
    [
        ('moon', {'private': True}, 404),
        ('%00', {'private': True}, 400),
        ('%ff', {'private': True}, 404),
        ('gpu', {'private': 'yes'}, 400),
        ('gpu', {}, 400),
        ('gpu', {'private': True, 'name': 'x'}, 400),
    ],
)
def test_a_property_is_only_made_private_or_public(admin, name, body, status):
    enrol(admin, 'h1', gpu='A100')
    answer = admin('PATCH', f'/os-hosts/properties/{name}', body)
    assert answer.status_int == status


@pytest.mark.parametrize(
    ('query', 'expected'),
    [
        ('sort_key=name', ['h1', 'h2', 'h3']),
        ('sort_key=name&sort_dir=desc', ['h3', 'h2', 'h1']),
        ('sort_dir=desc', ['h3', 'h2', 'h1']),
        ('sort_key=memory_mb', ['h3', 'h1', 'h2']),
        ('sort_key=memory_mb&sort_dir=desc', ['h2', 'h1', 'h3']),
        ('sort_key=availability_zone', ['h2', 'h1', 'h3']),
    ],
)
def test_hosts_are_sorted_and_paged_in_that_order(
    admin, cloud, query, expected
):
    for name, changes in {
        'h1': {},
        'h2': {'memory_mb': 2**20, 'availability_zone': 'a'},
        'h3': {'memory_mb': 1024},
    }.items():
        cloud.known[name] = fake_cloud.facts(name, **changes)
        admin('POST', '/os-hosts', {'name': name})
    assert names(admin('GET', f'/os-hosts?{query}')) == expected
    seen = []
    page = admin('GET', f'/os-hosts?{query}&limit=1')
    while 'hosts_links' in page.json:
        seen += names(page)
        [link] = page.json['hosts_links']
        page = admin('GET', link['href'].partition('/v1')[2])
    assert seen + names(page) == expected


def test_a_marker_that_is_no_host_is_refused(admin, enrolled):
    answer = admin('GET', '/os-hosts?marker=99')
    assert answer.status_int == 400
    assert 'marker 99 is no host' in answer.json['error_message']


def test_links_go_through_the_proxy_that_nova_knows_of(admin, enrolled):
    nova.conf.CONF.set_override(
        'compute_link_prefix', 'https://cloud.example.org/compute/', 'api'
    )
    [link] = admin('GET', '/os-hosts?limit=1&sort_key=name').json[
        'hosts_links'
    ]
    assert link['href'] == (
        'https://cloud.example.org/compute/v2.1/os-reservations/v1/os-hosts'
        '?limit=1&sort_key=name&marker=1'
    )


@pytest.mark.parametrize(
    ('wanted', 'status'),
    [
        ({'hypervisor_properties': '["==", "$cell", "a cell"]'}, 201),
        ({'resource_properties': '["not", ["<in>", "$cell", "a"]]'}, 400),
        ({'resource_properties': '{"cell": "a cell"}'}, 201),
    ],
)
def test_only_administrators_ask_for_cells(member, admin, wanted, status):
    for name in ('h1', 'h2.example.org'):
        enrol(admin, name)
    asked = [{'resource_type': 'physical:host', 'min': 1, 'max': 1, **wanted}]
    body = {
        'name': 'mine',
        'start_date': 'now',
        'duration': '1h',
        'reservations': asked,
    }
    refused = member('POST', '/leases', body)
    assert refused.status_int == 403
    assert 'reservations:leases:cell' in refused.text
    assert admin('POST', '/leases', body).status_int == status
    lease = member.lease()
    change = {
        'reservations': [{'id': lease['reservations'][0]['id'], **wanted}]
    }
    answer = member('PUT', f'/leases/{lease["id"]}', change)
    assert answer.status_int == 403


@pytest.mark.parametrize(
    'wanted',
    [
        '["==", "$service_name", "h1"]',
        '["not", ["s<", "$hypervisor_hostname", "h2"]]',
        '{"id": "<= 1"}',
    ],
)
def test_only_administrators_ask_for_hosts_by_their_names(
    member, admin, wanted
):
    for name in ('h1', 'h2.example.org'):
        enrol(admin, name)
    asked = {'hypervisor_properties': wanted}
    body = {
        'name': 'mine',
        'start_date': 'now',
        'duration': '1h',
        'reservations': [
            {'resource_type': 'physical:host', 'min': 1, 'max': 1, **asked}
        ],
    }
    for path in ('/leases', '/leases?dry_run=true'):
        refused = member('POST', path, body)
        assert refused.status_int == 403
        assert 'reservations:leases:host_names' in refused.text
    assert admin('POST', '/leases', body).status_int == 201
    lease = member.lease()
    change = {
        'reservations': [{'id': lease['reservations'][0]['id'], **asked}]
    }
    answer = member('PUT', f'/leases/{lease["id"]}', change)
    assert answer.status_int == 403


DAY = 'start=2050-01-01 10:00&end=2050-01-01 11:00'


def test_a_member_sees_sums_of_capacity(admin, member, nobody, enrolled):
    admin('PUT', f'/os-hosts/{enrolled[0]["id"]}', {'gpu': 'A100'})
    required = '["==", "$gpu", "A100"]'
    member.lease(
        start_date='2050-01-01 10:30',
        reservations=[
            {
                'resource_type': 'physical:host',
                'min': 1,
                'max': 1,
                'resource_properties': required,
            }
        ],
    )
    [all_hosts] = member('GET', f'/os-hosts/capacity?{DAY}').json['capacity']
    assert all_hosts == {
        'start_date': '2050-01-01T10:00:00.000000',
        'end_date': '2050-01-01T11:00:00.000000',
        'hosts': 3,
        'reserved': 1,
        'free': 2,
        'free_without_moves': 2,
        'holds': {},
    }
    [gpus] = member(
        'GET', f'/os-hosts/capacity?{DAY}&resource_properties={required}'
    ).json['capacity']
    assert (gpus['hosts'], gpus['reserved'], gpus['free']) == (1, 1, 0)
    assert nobody('GET', f'/os-hosts/capacity?{DAY}').status_int == 403


def test_administrators_see_what_each_project_holds(admin, member, enrolled):
    member.lease(start_date='2050-01-01 10:30')
    query = f'/os-hosts/capacity?{DAY}&by_project=true'
    [point] = admin('GET', query).json['capacity']
    assert point['projects'] == {'ours': 1}
    assert member('GET', query).status_int == 403


@pytest.mark.parametrize(
    'query',
    [
        'resource_properties=x',
        'resource_properties=["==", "$moon", "full"]',
        'hypervisor_properties=["==", "$cpu", 1',
        'flavor_id=unknown',
        'flavor_id=1&resource_properties=["==", "$vcpus", "1"]',
        'availability_zone=',
        'by_project=x',
    ],
)
def test_capacity_by_what_makes_no_sense_is_refused(admin, enrolled, query):
    answer = admin('GET', f'/os-hosts/capacity?{DAY}&{query}')
    assert answer.status_int == 400


def test_a_member_may_not_count_by_cell(member, enrolled):
    query = 'hypervisor_properties=["==", "$cell", "x"]'
    answer = member('GET', f'/os-hosts/capacity?{DAY}&{query}')
    assert answer.status_int == 403
