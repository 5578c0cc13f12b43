# SPDX-License-Identifier: Apache-2.0
import datetime
import json
import uuid

import pytest

pytestmark = pytest.mark.usefixtures('enrolled')

WEEKLY = {'every': 'P1W', 'count': 3, 'timezone': 'Europe/Rome'}
HOST = {'resource_type': 'physical:host', 'min': 1, 'max': 1}
MANY = {
    'resource_properties': json.dumps(
        ['or', *(['==', '$vcpus', str(number)] for number in range(250))]
    )
}


def body(changed=None, hosts=1, **more):
    """Return a request for 9:00 to 10:00 in Rome on three Sundays; on the
    last, 2030-10-27, the clocks are put back."""
    return {
        'name': 'course',
        'start_date': '2030-10-13 07:00',
        'end_date': '2030-10-13 08:00',
        'reservations': [HOST | {'min': hosts, 'max': hosts}],
        'repeat': {**WEEKLY, **(changed or {})},
    } | more


def create(person, *args, **more):
    answer = person('POST', '/leases', body(*args, **more))
    assert answer.status_int == 201, answer.text
    return answer.json


def starts(leases):
    return [lease['start_date'][:16] for lease in leases]


def refusal(answer, status=400):
    assert answer.status_int == status, answer.text
    return answer.json['error_message']


def test_the_leases_keep_their_local_time(member):
    made = create(member)
    assert made['lease'] == made['leases'][0]
    assert made['refused'] == []
    assert starts(made['leases']) == [
        '2030-10-13T07:00',
        '2030-10-20T07:00',
        '2030-10-27T08:00',
    ]
    assert [lease['end_date'][:16] for lease in made['leases']] == [
        '2030-10-13T08:00',
        '2030-10-20T08:00',
        '2030-10-27T09:00',
    ]
    [series_id] = {lease['series_id'] for lease in made['leases']}
    answer = member('GET', f'/lease-series/{series_id}')
    assert answer.json == {
        'series': {'id': series_id, 'leases': made['leases']}
    }
    listed = member('GET', '/leases?sort_key=start_date').json['leases']
    assert listed == made['leases']


def test_a_lease_alone_is_of_no_series(member):
    assert member.lease()['series_id'] is None


def test_a_night_is_as_long_as_its_duration_or_until_its_end(member):
    """In the night to 2030-10-27 the clocks go from 03:00 back to 02:00."""
    daily = {
        'start_date': '2030-10-25 20:00',
        'repeat': {'every': 'P1D', 'count': 2, 'timezone': 'Europe/Rome'},
    }
    until = create(member, **daily, end_date='2030-10-26 06:00')['leases']
    assert [lease['end_date'][:16] for lease in until] == [
        '2030-10-26T06:00',
        '2030-10-27T07:00',
    ]
    asked = body(**daily)
    del asked['end_date']
    answer = member('POST', '/leases', asked | {'duration': '10h'})
    assert [lease['end_date'][:16] for lease in answer.json['leases']] == [
        '2030-10-26T06:00',
        '2030-10-27T06:00',
    ]


def test_leases_of_a_series_are_warned_as_long_before_their_ends(member):
    made = create(member, before_end_date='2030-10-13 07:30')
    assert [
        event['time'][:16]
        for lease in made['leases']
        for event in lease['events']
        if event['event_type'] == 'before_end_lease'
    ] == ['2030-10-13T07:30', '2030-10-20T07:30', '2030-10-27T08:30']


def test_a_local_time_that_there_is_not_is_refused(member):
    said = refusal(
        member(
            'POST',
            '/leases',
            body(
                {'every': 'P1D', 'count': 5},
                start_date='2031-03-28 01:30',
                end_date='2031-03-28 05:00',
            ),
        )
    )
    assert 'There is no 02:30 in Europe/Rome on 2031-03-30' in said


@pytest.mark.parametrize(
    'wrong',
    [
        {'every': 'P1M'},
        {'every': 'P2D'},
        {'count': 0},
        {'count': 65},
        {'count': True},
        {'count': '3'},
        {'timezone': 'Europe/Roma'},
        {'timezone': 'Europe'},
        {'timezone': '../../../etc/passwd'},
        {'timezone': '/etc/passwd'},
        {'timezone': ''},
        {'timezone': 'Europe/Rome\0'},
        {'timezone': 'x' * 65},
        {'partial': 'yes'},
        {'until': '2030-12-01 10:00'},
        {'count': None},
        {'count': None, 'until': 'later'},
        {'count': None, 'until': '2030-02-30'},
        {'count': None, 'until': '2030-10-12'},
        {'count': None, 'until': '9999-12-31'},
        {'except': '2030-10-13'},
        {'except': ['2030-10-14']},
        {'except': ['2030-13-01']},
        {'except': ['2030-10-13', '2030-10-20', '2030-10-27']},
        {'weekdays': []},
        {'weekdays': ['SU', 'SU']},
        {'weekdays': ['monday']},
        {'weekdays': ['SU'], 'every': 'P1D'},
    ],
)
def test_a_repetition_that_makes_no_sense_is_refused(member, wrong):
    assert refusal(member('POST', '/leases', body(wrong)))
    assert member('GET', '/leases').json['leases'] == []


@pytest.mark.parametrize(
    ('more', 'said'),
    [
        ({'lease_type': 'retry'}, 'retry do not repeat'),
        ({'lease_type': 'best_effort'}, 'best_effort do not repeat'),
        ({'lease_type': 'immediate'}, 'immediate do not repeat'),
        ({'repeat': []}, 'repeat'),
        ({'repeat': {}}, 'every'),
        (
            {'start_date': '9998-12-20 10:00', 'end_date': '9998-12-21 10:00'},
            'after the year 9998',
        ),
        ({'reservations': [HOST] * 60}, '128 reservations'),
        ({'reservations': [HOST | {'max': 2000}]}, '4096 hosts or slots'),
        # Without a bound, to refuse a partial series took 3 s of CPU.
        ({'reservations': [HOST | MANY] * 3}, 'have 682 each, at most'),
        (
            {'reservations': [{'resource_type': 'virtual:server'}]},
            'virtual:server',
        ),
    ],
)
def test_series_that_there_are_not_are_refused(member, more, said):
    assert said in refusal(member('POST', '/leases', body(**more)))


def test_weekdays_repeat_until_a_day_but_for_some(member):
    """The first Wednesday is three days after the start that is given."""
    asked = {
        'count': None,
        'weekdays': ['WE', 'SA'],
        'until': '2030-10-30',
        'except': ['2030-10-19'],
    }
    made = create(member, asked, before_end_date='2030-10-13 07:30')['leases']
    assert starts(made) == [
        '2030-10-16T07:00',
        '2030-10-23T07:00',
        '2030-10-26T07:00',
        '2030-10-30T08:00',
    ]
    assert [lease['end_date'][:16] for lease in made] == [
        '2030-10-16T08:00',
        '2030-10-23T08:00',
        '2030-10-26T08:00',
        '2030-10-30T09:00',
    ]
    assert [
        event['time'][11:16]
        for lease in made
        for event in lease['events']
        if event['event_type'] == 'before_end_lease'
    ] == ['07:30', '07:30', '07:30', '08:30']


def test_a_day_without_the_local_time_can_be_left_out(member):
    made = create(
        member,
        {'every': 'P1D', 'count': 4, 'except': ['2031-03-30']},
        start_date='2031-03-28 01:30',
        end_date='2031-03-28 02:00',
    )
    assert starts(made['leases']) == [
        '2031-03-28T01:30',
        '2031-03-29T01:30',
        '2031-03-31T00:30',
    ]


def test_a_series_ends_not_later_than_a_time(member):
    asked = {'count': None, 'until': '2030-10-27 07:59'}
    assert len(create(member, asked)['leases']) == 2
    asked['until'] = '2030-10-27 09:00+01:00'
    assert len(create(member, asked)['leases']) == 3


def test_a_series_with_too_many_leases_is_told_how_many_it_may_have(member):
    asked = {'count': None, 'every': 'P1D', 'until': '2031-10-13'}
    said = refusal(member('POST', '/leases', body(asked)))
    assert 'more than 64 leases' in said
    assert 'lease 64 is on 2030-12-15; give that as until' in said


def test_there_are_no_offers_for_a_series(member):
    asked = {'duration': '1h', 'reservations': [HOST], 'repeat': WEEKLY}
    assert 'repeat' in refusal(member('POST', '/leases/offers', asked))


def test_a_series_is_had_as_a_whole_or_not_at_all(member):
    member.lease(start_date='2030-10-20 07:30')
    said = refusal(member('POST', '/leases', body(hosts=3)), 400)
    assert said == (
        'Not enough hosts available: 3 hosts match, 1 is taken in this '
        'window, 3 wanted; this is lease 2 of 3 of the series, from '
        '2030-10-20 07:00'
    )
    assert len(member('GET', '/leases').json['leases']) == 1


def test_a_series_in_part_says_what_does_not_fit(member):
    member.lease(start_date='2030-10-20 07:30')
    made = create(member, {'partial': True}, hosts=3)
    assert starts(made['leases']) == ['2030-10-13T07:00', '2030-10-27T08:00']
    assert made['refused'] == [
        {
            'start_date': '2030-10-20T07:00:00.000000',
            'end_date': '2030-10-20T08:00:00.000000',
            'reason': 'Not enough hosts available: 3 hosts match, 1 is taken '
            'in this window, 3 wanted',
        }
    ]


def test_a_request_that_is_repeated_makes_no_second_series(member):
    member.lease(start_date='2030-10-13 07:30')
    asked, headers = body({'partial': True}, hosts=3), {'Idempotency-Key': 'a'}
    made = member('POST', '/leases', asked, headers=headers).json
    assert len(made['leases']) == 2
    again = member('POST', '/leases', asked, headers=headers)
    assert again.status_int == 201
    # Only the first answer tells the refusals.
    assert again.json == {key: made[key] for key in ('lease', 'leases')}
    asked['repeat']['count'] = 4
    answer = member('POST', '/leases', asked, headers=headers)
    assert answer.status_int == 422


def test_a_dry_run_makes_nothing(member):
    answer = member('POST', '/leases?dry_run=true', body())
    assert len(answer.json['leases']) == 3
    assert member('GET', '/leases').json['leases'] == []
    series_id = answer.json['lease']['series_id']
    assert refusal(member('GET', f'/lease-series/{series_id}'), 404)


def test_a_series_is_deleted(member):
    made = create(member)
    path = f'/lease-series/{made["lease"]["series_id"]}'
    answer = member('DELETE', path)
    assert answer.json == {'remaining': []}
    assert member('GET', '/leases').json['leases'] == []
    for method in ('GET', 'DELETE'):
        assert refusal(member(method, path), 404)


def test_a_series_is_deleted_from_a_time_on(member):
    first, second, third = create(member)['leases']
    path = f'/lease-series/{first["series_id"]}'
    for late in '2030-10-27 08:01', '2030-12-01 00:00':
        answer = member('DELETE', f'{path}?from={late}')
        assert answer.json == {'remaining': []}
    assert len(member('GET', path).json['series']['leases']) == 3
    member('DELETE', f'{path}?from=2030-10-20 07:00')
    assert member('GET', path).json['series']['leases'] == [first]
    for missing in second, third:
        answer = member('GET', f'/leases/{missing["id"]}')
        assert refusal(answer, 404)
    for wrong in 'from=later', 'from=', 'since=now':
        assert refusal(member('DELETE', f'{path}?{wrong}'))


def test_leases_that_remain_are_of_those_to_be_deleted(member, workers, clock):
    """The first lease is active: it takes a worker to delete it."""
    first, *_ = create(member)['leases']
    clock.now = datetime.datetime(2030, 10, 13, 7, tzinfo=datetime.UTC)
    workers.work()
    path = f'/lease-series/{first["series_id"]}'
    late = member('DELETE', f'{path}?from=2030-10-14 00:00').json
    assert late == {'remaining': []}
    [left] = member('DELETE', path).json['remaining']
    assert left['lease']['id'] == first['id']


def test_a_single_lease_is_deleted_and_changed_by_itself(member):
    first, second, _ = create(member)['leases']
    member('DELETE', f'/leases/{first["id"]}')
    answer = member('PUT', f'/leases/{second["id"]}', {'name': 'moved'})
    assert answer.json['lease']['series_id'] == first['series_id']
    found = member('GET', f'/lease-series/{first["series_id"]}').json
    assert [lease['name'] for lease in found['series']['leases']] == [
        'moved',
        'course',
    ]


def test_another_projects_series_is_not_there(member, stranger, admin):
    path = f'/lease-series/{create(member)["lease"]["series_id"]}'
    missing = f'/lease-series/{uuid.uuid4()}'
    for method in ('GET', 'DELETE'):
        for other in (path, missing, '/lease-series/mine'):
            answer = stranger(method, other)
            assert refusal(answer, 404).startswith('Series ')
    assert len(admin('GET', path).json['series']['leases']) == 3


def test_a_reader_sees_a_series_and_changes_nothing(member, reader):
    path = f'/lease-series/{create(member)["lease"]["series_id"]}'
    assert reader('GET', path).status_int == 200
    assert reader('DELETE', path).status_int == 403
    assert reader('POST', '/leases', body()).status_int == 403
    assert len(member('GET', path).json['series']['leases']) == 3
