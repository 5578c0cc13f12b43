# SPDX-License-Identifier: Apache-2.0
import pytest

pytestmark = pytest.mark.usefixtures('enrolled')

PATH = '/leases/offers'


def hosts(count, **asked):
    return [
        {'resource_type': 'physical:host', 'min': count, 'max': count, **asked}
    ]


def wanted(count=1, **more):
    return {'duration': '1h', 'reservations': hosts(count), **more}


def starts(answer):
    assert answer.status_int == 200, answer.text
    assert not answer.json['truncated']
    return [offer['start_date'] for offer in answer.json['offers']]


def test_a_window_that_is_offered_is_leased(member):
    member.lease(reservations=hosts(2))
    [start] = starts(member('POST', PATH, wanted(3)))
    assert start == '2030-05-17T11:30:25.000000'
    member.lease(start_date=start, reservations=hosts(3))


def test_windows_are_between_the_times_and_as_many_as_are_wanted(member):
    member.lease(start_date='2030-05-18 10:00')
    member.lease(start_date='2030-05-18 12:00')
    asked = wanted(3, start_after='2030-05-18 09:30')
    everything = starts(member('POST', PATH, asked))
    assert everything == [
        '2030-05-18T11:00:00.000000',
        '2030-05-18T13:00:00.000000',
    ]
    assert starts(member('POST', PATH, asked | {'limit': 1})) == everything[:1]
    asked['start_before'] = '2030-05-18 10:59'
    assert starts(member('POST', PATH, asked)) == []


def test_a_reader_may_look_and_sees_nobody_elses_leases(member, reader):
    lease = member.lease(reservations=hosts(3))
    answer = reader('POST', PATH, wanted())
    assert starts(answer)
    assert lease['id'] not in answer.text
    assert member('GET', '/leases').json['leases'] == [lease]


@pytest.mark.parametrize(
    'body',
    [
        {},
        wanted(duration='for ever'),
        wanted(duration=0),
        wanted(limit=0),
        wanted(limit=21),
        wanted(limit=True),
        wanted(name='mine'),
        wanted(start_date='now'),
        wanted(start_after='2029-01-01 10:00'),
        wanted(start_after='2031-01-01 10:00', start_before='now'),
        wanted(start_after='9998-12-31 23:30'),
        wanted(reservations=[]),
        wanted(reservations=[{'resource_type': 'unknown'}]),
        wanted(0),
    ],
)
def test_a_search_that_makes_no_sense_is_refused(member, body):
    answer = member('POST', PATH, body)
    assert answer.status_int == 400
    assert answer.json['error_message']


def test_members_find_no_windows_by_cells(member, admin):
    asked = wanted(
        reservations=hosts(1, resource_properties='["==", "$cell", "one"]')
    )
    assert member('POST', PATH, asked).status_int == 403
    assert admin('POST', PATH, asked).status_int == 200


def test_offers_can_only_be_asked_for(member):
    answer = member.send('GET', '/os-reservations/v1/leases/offers')
    assert answer.status_int == 405
