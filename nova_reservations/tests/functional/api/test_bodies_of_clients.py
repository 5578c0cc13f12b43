# SPDX-License-Identifier: Apache-2.0
"""Bodies and queries that clients of Blazar send and that ask for nothing:
null, what was read, keys without a meaning here."""

import pytest

HOST = {'resource_type': 'physical:host', 'min': 1, 'max': 1}
SLOT = {
    'resource_type': 'virtual:instance',
    'vcpus': 1,
    'memory_mb': 512,
    'disk_gb': 0,
    'amount': 1,
    'affinity': None,
    'resource_properties': '',
}


@pytest.fixture
def settings(settings):
    settings.set_override(
        'resource_types',
        ['physical:host', 'virtual:instance', 'virtual:network'],
        group='reservations',
    )
    return settings


@pytest.fixture(autouse=True)
def hosts(enrolled):
    return enrolled


def shown(person, lease):
    return person('GET', f'/leases/{lease["id"]}').json['lease']


def put(person, lease, body):
    answer = person('PUT', f'/leases/{lease["id"]}', body)
    assert answer.status_int == 200, answer.text
    return answer.json['lease']


@pytest.mark.parametrize(
    'changes',
    [
        {'events': None},
        {'before_end_date': None, 'project_id': None, 'reservations': None},
        {'lease_type': None, 'max_retries': None, 'repeat': None},
        {'end_date': None},
        {'reservations': [{**HOST, 'before_end': None, 'end_action': None}]},
        {'reservations': [{**SLOT, 'before_end': None, 'end_grace': None}]},
        {'reservations': [{**SLOT, 'ephemeral_gb': 0, 'extra_specs': {}}]},
        {'repeat': {'every': 'P1D', 'count': 1, 'timezone': None}},
    ],
)
def test_null_is_not_set(member, changes):
    assert member.lease(**changes)


@pytest.mark.parametrize(
    'changes',
    [
        {'name': None},
        {'start_date': None},
        {'reservations': [{**HOST, 'min': None}]},
        {'reservations': [{**SLOT, 'ephemeral_gb': 1}]},
        {'reservations': [{**SLOT, 'extra_specs': {'hw:numa_nodes': '1'}}]},
    ],
)
def test_nothing_that_is_wanted_is_left_out(member, changes):
    body = {'name': 'a', 'start_date': 'now', 'duration': 60, **changes}
    assert member('POST', '/leases', body).status_int == 400


def test_a_lease_that_is_sent_back_whole_stays_as_it_is(member, workers):
    lease = member.lease(reservations=[HOST, SLOT])
    assert put(member, lease, lease) == lease
    workers.work()
    active = shown(member, lease)
    assert active['status'] == 'ACTIVE'
    assert (
        put(member, lease, active).items()
        >= {
            key: active[key] for key in ('status', 'updated_at', 'end_date')
        }.items()
    )
    assert shown(member, lease) == active


def test_dates_that_are_sent_back_in_the_minute_after_the_start_stay(
    member, workers, clock
):
    # It is 10:30:25.
    lease = member.lease(reservations=[HOST])
    workers.work()
    asked = {key: lease[key] for key in ('name', 'start_date', 'end_date')}
    for _ in range(4):
        clock.forward(seconds=30)
        assert put(member, lease, asked)['start_date'] == lease['start_date']


def test_a_lease_that_waits_can_not_be_moved_beyond_the_last_date(
    member, enrolled
):
    member.lease(reservations=[{**HOST, 'min': 3, 'max': 3}])
    waits = member.lease(
        reservations=[HOST], duration='365d', lease_type='retry'
    )
    path = f'/leases/{waits["id"]}'
    answer = member('PUT', path, {'start_date': '9998-12-31 23:59:59'})
    assert answer.status_int == 400
    assert 'after the year 9998' in answer.json['error_message']


def test_nothing_is_needed_to_change_nothing(member, workers):
    lease = member.lease(reservations=[HOST])
    workers.work()
    put(member, lease, {'end_date': 'now'})
    workers.work(seconds=5)
    over = shown(member, lease)
    assert over['status'] == 'TERMINATED'
    assert put(member, lease, over)['updated_at'] == over['updated_at']


def test_of_a_lease_that_is_sent_back_the_difference_is_changed(member):
    lease = member.lease(
        reservations=[HOST, SLOT], start_date='2050-01-01 9:00'
    )
    slot = {**lease['reservations'][1], 'amount': 2}
    changed = put(
        member,
        lease,
        {
            **lease,
            'name': 'new',
            'reservations': [lease['reservations'][0], slot],
        },
    )
    assert changed['name'] == 'new'
    assert changed['end_date'] == lease['end_date']
    assert [each.get('amount') for each in changed['reservations']] == [
        None,
        2,
    ]


@pytest.mark.parametrize(
    'change', [{'status': 'ACTIVE'}, {'project_id': 'theirs'}, {'id': '7'}]
)
def test_keys_that_can_not_be_changed_are_refused_if_they_differ(
    member, change
):
    lease = member.lease()
    refused = member('PUT', f'/leases/{lease["id"]}', {**lease, **change})
    assert refused.status_int == 400
    [key] = change
    assert refused.json['error_message'] == f'{key} cannot be set'
    [reservation] = lease['reservations']
    refused = member(
        'PUT',
        f'/leases/{lease["id"]}',
        {'reservations': [{**reservation, 'lease_id': 'x'}]},
    )
    assert refused.status_int == 400
    assert refused.json['error_message'] == 'lease_id cannot be set'


def test_a_lease_of_the_minute_that_has_just_passed_begins_now(member):
    # It is 10:30:25.
    lease = member.lease(start_date='2030-05-17 10:29')
    assert lease['start_date'] == '2030-05-17T10:30:25.000000'
    refused = member(
        'POST',
        '/leases',
        {'name': 'a', 'start_date': '2030-05-17 10:28', 'duration': '1h'},
    )
    assert refused.status_int == 400


def test_a_lease_for_ever_ends_on_the_last_day(member):
    lease = member.lease(duration=None, end_date='9999-12-31 23:59')
    assert lease['end_date'] == '9998-12-31T23:59:59.000000'
    assert put(member, lease, {'end_date': '9999-12-31'}) == shown(
        member, lease
    )


def test_a_list_is_of_one_lease_and_of_the_projects_asked_for(
    member, stranger, admin
):
    lease, theirs = member.lease(), stranger.lease()

    def listed(person, query):
        answer = person('GET', f'/leases?{query}')
        assert answer.status_int == 200, answer.text
        return {each['id'] for each in answer.json['leases']}

    assert listed(member, f'lease_id={lease["id"]}') == {lease['id']}
    assert listed(member, f'lease_id={theirs["id"]}') == set()
    assert listed(admin, 'all_tenants=True') == {lease['id'], theirs['id']}
    assert listed(admin, 'all_tenants=0') == set()
    assert member('GET', '/leases?all_tenants=1').status_int == 403


@pytest.mark.parametrize(
    ('query', 'count'),
    [
        ('lease_name=b', 1),
        ('name=b&lease_name=b', 1),
        ('all_tenants=False', 2),
        ('lease_id=None&marker=None&limit=None', 2),
        ('status=None&start_after=None', 2),
        ('lease_name=None', 0),
        ('lease_id=fb5ec2d1-1e3a-4a3f-8b6e-3a1f0a9f2f70', 0),
    ],
)
def test_the_word_none_is_no_filter_but_a_name(member, query, count):
    for name in ('a', 'b'):
        member.lease(name=name, reservations=[])
    assert len(member('GET', f'/leases?{query}').json['leases']) == count


@pytest.mark.parametrize(
    'query',
    ['moon=None', 'name=a&lease_name=b', 'lease_id=1', 'all_tenants=x'],
)
def test_a_filter_is_never_left_out_because_nobody_knows_it(member, query):
    assert member('GET', f'/leases?{query}').status_int == 400


def test_no_free_vlan_is_no_room(member):
    refused = member(
        'POST',
        '/leases',
        {
            'name': 'a',
            'start_date': 'now',
            'duration': '1h',
            'reservations': [
                {
                    'resource_type': 'virtual:network',
                    'network_name': 'lab',
                    'network_properties': '["==", "$physical_network", "p1"]',
                }
            ],
        },
    )
    assert 'Not enough networks available' in refused.json['error_message']
