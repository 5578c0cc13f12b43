# SPDX-License-Identifier: Apache-2.0
"""Allocations of hosts in a window, and their view for a project."""

import pytest

from nova_reservations.engine.outlook import calendar as calendars

HOUR = 'start=2050-01-01 10:00&end=2050-01-01 11:00'


def follow(person, answer, name):
    [link] = answer.json[name]
    return person('GET', link['href'].partition('/v1')[2])


def held(answer):
    """Return the ids of the leases of an answer."""
    return [
        each['lease_id']
        for host in answer.json['allocations']
        for each in host['reservations']
    ]


@pytest.mark.parametrize(
    ('window', 'there'),
    [
        (HOUR, True),
        ('start=2050-01-01 10:59&end=2050-01-02 00:00', True),
        ('start=2050-01-01 11:00&end=2050-01-02 00:00', False),
        ('start=2050-01-01 11:00', False),
        ('start=2050-01-01 10:59', True),
        ('end=2050-01-01 10:00', False),
        ('end=2050-01-01 10:01', True),
    ],
)
def test_allocations_of_a_window_are_those_that_overlap_it(
    admin, member, enrolled, window, there
):
    lease = member.lease(start_date='2050-01-01 10:00')
    found = held(admin('GET', f'/os-hosts/allocations?{window}'))
    assert found == [lease['id']] * there


@pytest.mark.parametrize(
    ('at', 'there'), [('09:59', 0), ('10:00', 1), ('10:59', 1), ('11:00', 0)]
)
def test_allocations_of_an_instant_are_told_of_one_host(
    admin, member, enrolled, at, there
):
    lease = member.lease(start_date='2050-01-01 10:00')
    asked = f'/os-hosts/allocations?at=2050-01-01 {at}'
    every = admin('GET', asked).json['allocations']
    [name] = {
        each['service_name'] for each in every if each['reservations']
    } or {every[0]['service_name']}
    for host in (
        name,
        *(
            each['resource_id']
            for each in every
            if each['service_name'] == name
        ),
    ):
        answer = admin('GET', f'{asked}&host={host}')
        assert held(answer) == [lease['id']] * there
        assert len(answer.json['allocations']) == 1
    others = admin('GET', f'{asked}&host={name}&marker=999').json
    assert others['allocations'] == []


@pytest.mark.parametrize(
    ('query', 'status', 'said'),
    [
        ('host=moon', 404, 'Host moon'),
        ('host=999999999', 404, 'Host 999999999'),
        ('host=99999999999', 404, 'Host 99999999999'),
        ('at=now&end=2050-01-01 10:00', 400, 'give at, or start and end'),
    ],
)
def test_queries_that_name_no_host_or_no_instant_are_refused(
    admin, enrolled, query, status, said
):
    answer = admin('GET', f'/os-hosts/allocations?{query}')
    assert answer.status_int == status
    assert said in answer.json['error_message']


def test_a_lease_that_is_over_is_in_windows_of_its_time(
    admin, member, enrolled, clock, workers
):
    lease = member.lease(start_date='now', duration='10m')
    start = lease['start_date'][:16]
    workers.work(5)
    clock.forward(minutes=20)
    workers.work(10)
    assert held(admin('GET', '/os-hosts/allocations')) == []
    past = f'start={start}&end=now'
    assert held(admin('GET', f'/os-hosts/allocations?{past}')) == [lease['id']]


def test_allocations_are_listed_in_pages_of_hosts(admin, member, enrolled):
    lease = member.lease(
        reservations=[{'resource_type': 'physical:host', 'min': 3, 'max': 3}],
        start_date='2050-01-01 10:00',
    )
    first = admin('GET', f'/os-hosts/allocations?{HOUR}&limit=2')
    assert held(first) == [lease['id']] * 2
    rest = follow(admin, first, 'allocations_links')
    assert held(rest) == [lease['id']]
    assert 'allocations_links' not in rest.json
    shown = first.json['allocations'] + rest.json['allocations']
    assert [each['resource_id'] for each in shown] == [
        host['id'] for host in enrolled
    ]


def test_administrators_see_why_a_host_is_held(
    admin, enrolled, cloud, services, clock
):
    cloud.fail('h1')
    for _ in range(3):
        services.monitoring.poll(clock.now)
        clock.forward(minutes=10)
    shown = admin('GET', '/os-hosts/allocations').json['allocations']
    told = {
        each['service_name']: [hold['reason'] for hold in each['holds']]
        for each in shown
    }
    assert told == {'h1': ['failed'], 'h2': [], 'h3': []}
    past = admin('GET', '/os-hosts/allocations?start=2020-01-01 10:00&end=now')
    assert any(each['holds'] for each in past.json['allocations'])
    past = admin(
        'GET',
        '/os-hosts/allocations?start=2020-01-01 10:00&end=2020-01-02 10:00',
    )
    assert not any(each['holds'] for each in past.json['allocations'])


@pytest.mark.parametrize('path', ['allocations', 'calendar', '1/allocation'])
@pytest.mark.parametrize(
    'query', ['start=x', 'start=now&end=now', 'end=2020-01-01 10:00', 'moon=1']
)
def test_a_window_that_makes_no_sense_is_refused(admin, enrolled, path, query):
    assert admin('GET', f'/os-hosts/{path}?{query}').status_int == 400


def calendar(person, query=HOUR):
    """Return what a person sees of each host, the busiest first."""
    answer = person('GET', f'/os-hosts/calendar?{query}')
    assert answer.status_int == 200, answer.text
    return sorted(
        (host['windows'] for host in answer.json['hosts']),
        key=len,
        reverse=True,
    )


def test_a_member_sees_own_leases_and_that_others_are_taken(
    member, stranger, enrolled
):
    ours = member.lease(duration='2h')
    theirs = stranger.lease(duration='2h')
    [reservation] = ours['reservations']
    query = 'start=2030-05-17 09:00&end=2030-05-17 13:00'
    bars = [bar for bars in calendar(member, query) for bar in bars]
    assert sorted(bars, key=lambda bar: bar['kind']) == [
        {
            'kind': 'own',
            'start_date': ours['start_date'],
            'end_date': ours['end_date'],
            'lease_id': ours['id'],
            'reservation_id': reservation['id'],
        },
        {
            'kind': 'taken',
            'start_date': theirs['start_date'],
            'end_date': theirs['end_date'],
        },
    ]


def test_a_lease_that_has_not_begun_is_promised_and_on_no_host(
    member, stranger, enrolled
):
    ours = member.lease(start_date='2050-01-01 10:00')
    two = {'resource_type': 'physical:host', 'min': 2, 'max': 2}
    theirs = stranger.lease(start_date='2050-01-01 10:30', reservations=[two])
    query = 'start=2050-01-01 09:00&end=2050-01-01 12:00'
    assert calendar(member, query) == [[], [], []]
    shown = member('GET', f'/os-hosts/calendar?{query}').json['promised']
    assert shown == [
        {
            'kind': 'own',
            'start_date': ours['start_date'],
            'end_date': ours['end_date'],
            'lease_id': ours['id'],
            'reservation_id': ours['reservations'][0]['id'],
            'hosts': 1,
        },
        {
            'kind': 'taken',
            'start_date': theirs['start_date'],
            'end_date': theirs['end_date'],
            'hosts': 2,
        },
    ]


def test_nothing_of_others_is_in_what_a_member_sees(
    admin, member, stranger, enrolled
):
    lease = stranger.lease(start_date='2050-01-01 10:00', name='secret')
    answer = member('GET', f'/os-hosts/calendar?{HOUR}')
    assert len(answer.json['hosts']) == 3
    for secret in (
        lease['id'],
        lease['reservations'][0]['id'],
        'secret',
        'theirs',
        *(host['service_name'] for host in enrolled),
        *(host['hypervisor_hostname'] for host in enrolled),
    ):
        assert f'"{secret}"' not in answer.text


def test_a_member_sees_that_a_host_is_held_but_not_why(
    member, enrolled, cloud, services, clock
):
    cloud.fail('h1', disabled=True)
    services.monitoring.poll(clock.now)
    assert calendar(member) == [
        [
            {
                'kind': 'held',
                'start_date': '2050-01-01T10:00:00.000000',
                'end_date': '2050-01-01T11:00:00.000000',
            }
        ],
        [],
        [],
    ]


def test_a_calendar_comes_in_pages_in_which_hosts_keep_their_numbers(
    member, enrolled
):
    first = member('GET', f'/os-hosts/calendar?{HOUR}&limit=2')
    rest = follow(member, first, 'hosts_links')
    assert 'hosts_links' not in rest.json
    assert ['promised' in page.json for page in (first, rest)] == [True, False]
    shown = first.json['hosts'] + rest.json['hosts']
    assert [host['number'] for host in shown] == [1, 2, 3]


@pytest.mark.parametrize('query', ['limit=101', 'limit=0', 'end=9998-01-01'])
def test_a_calendar_is_bounded(member, enrolled, query):
    answer = member('GET', f'/os-hosts/calendar?{query}')
    assert answer.status_int == 400


def test_a_calendar_is_of_a_year_at_most(member, enrolled):
    query = 'start=2050-01-01 10:00&end=2052-01-01 10:00'
    answer = member('GET', f'/os-hosts/calendar?{query}')
    assert answer.status_int == 400
    assert '366 days' in answer.json['error_message']


@pytest.mark.parametrize('start', ['now', '2050-01-01 10:00'])
def test_a_calendar_of_very_many_leases_is_refused(
    member, enrolled, monkeypatch, start
):
    monkeypatch.setattr(calendars, 'MOST', 1)
    for _ in range(2):
        member.lease(start_date=start)
    answer = member('GET', f'/os-hosts/calendar?start={start}')
    assert answer.status_int == 400
    assert 'ask for a shorter time' in answer.json['error_message']
