# SPDX-License-Identifier: Apache-2.0
"""Demand that was refused, as administrators read it."""

import json

import pytest

MANY = {'resource_type': 'physical:host', 'min': 4, 'max': 4}


def refuse(person, duration='1h'):
    answer = person(
        'POST',
        '/leases',
        {
            'name': 'mine',
            'start_date': '2050-01-01 10:00',
            'duration': duration,
            'reservations': [MANY],
        },
    )
    assert answer.status_int == 400
    return answer


def test_administrators_read_what_was_refused(
    admin, member, stranger, enrolled
):
    refuse(member)
    refuse(member)
    refuse(stranger)
    ours, theirs = admin('GET', '/demand').json['demand']
    assert ours == {
        'id': ours['id'],
        'project_id': 'ours',
        'asked_at': '2030-05-17T10:30:25.000000',
        'start_date': '2050-01-01T10:00:00.000000',
        'end_date': '2050-01-01T11:00:00.000000',
        'kind': 'physical:host',
        'reservations': [MANY],
    }
    only = admin('GET', '/demand?project_id=theirs').json['demand']
    assert only == [theirs]
    assert admin('GET', '/demand?end=2030-01-01 10:00').json['demand'] == []
    assert member('GET', '/demand').status_int == 403


def test_demand_comes_in_pages(admin, member, enrolled):
    for hours in (1, 2, 3):
        refuse(member, f'{hours}h')
    first = admin('GET', '/demand?limit=2')
    [link] = first.json['demand_links']
    rest = admin('GET', link['href'].partition('/v1')[2])
    assert 'demand_links' not in rest.json
    shown = first.json['demand'] + rest.json['demand']
    assert len({refusal['id'] for refusal in shown}) == 3


@pytest.mark.parametrize(
    'query', ['limit=1001', 'limit=0', 'marker=7', 'start=x', 'moon=1']
)
def test_a_list_of_demand_that_makes_no_sense_is_refused(admin, query):
    assert admin('GET', f'/demand?{query}').status_int == 400


def test_a_refusal_that_is_remembered_reads_as_ever(member, enrolled):
    first, again = refuse(member), refuse(member)
    assert first.json == again.json
    assert '3 hosts match' in first.json['error_message']


def test_the_command_lists_demand(openstack, admin, member, enrolled):
    refuse(member)
    [row] = json.loads(
        openstack(admin, 'lease')('demand', 'list', '-f', 'json')
    )
    assert row['Project'] == 'ours'
    [asked] = row['Asked for']
    assert (asked['resource_type'], asked['min']) == ('physical:host', 4)
    refuse(member, '2h')
    assert '--marker' not in openstack(admin, 'lease')('demand', 'list')
