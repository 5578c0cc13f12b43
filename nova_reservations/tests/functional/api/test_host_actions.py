# SPDX-License-Identifier: Apache-2.0
import functools
import json

import pytest

pytestmark = pytest.mark.usefixtures('enrolled')

WINDOW = {'from': '2030-05-18 08:00', 'until': '2030-05-18 10:00'}


@pytest.fixture
def act(admin):
    """Do an action on the host h1."""
    [found] = admin('GET', '/os-hosts?name=h1').json['hosts']

    def act(body):
        return admin('POST', f'/os-hosts/{found["id"]}/action', body)

    return act


@pytest.mark.parametrize('nothing', [None, {}])
def test_a_host_is_cordoned_and_uncordoned(act, member, nothing):
    asked = [{'resource_type': 'physical:host', 'min': 3, 'max': 3}]
    lease = member.lease(reservations=asked, name='first')
    answer = act({'cordon': nothing})
    assert answer.status_int == 200
    assert answer.json['host']['reservable'] is False
    [held] = answer.json['leases']
    assert (held['id'], held['leaving']) == (lease['id'], False)
    assert member('DELETE', f'/leases/{lease["id"]}').status_int == 204
    assert act({'drain': nothing}).json['leases'] == []
    assert act({'drain': {'servers': 'migrate'}}).json['servers'] == []
    answer = act({'uncordon': nothing})
    assert answer.json['host']['reservable'] is True


def test_a_window_is_a_lease_of_the_callers_project(act, admin, member):
    answer = act({'maintain': WINDOW})
    assert answer.status_int == 200
    path = f'/leases/{answer.json["lease_id"]}'
    shown = admin('GET', path).json['lease']
    assert shown['name'] == 'maintenance of h1'
    assert shown['start_date'] == '2030-05-18T08:00:00.000000'
    assert member('GET', path).status_int == 404
    again = act({'maintain': WINDOW})
    assert again.status_int == 409
    assert shown['id'] in again.json['error_message']
    assert admin('DELETE', path).status_int == 204
    assert act({'maintain': WINDOW}).status_int == 200


@pytest.mark.parametrize(
    'body',
    [
        {},
        {'reboot': None},
        {'cordon': None, 'drain': None},
        {'cordon': {'now': True}},
        {'cordon': 'yes'},
        {'drain': {'servers': 'delete'}},
        {'drain': {'now': True}},
        {'maintain': None},
        {'maintain': {'from': 'now'}},
        {'maintain': {'from': 'now', 'until': 'tomorrow'}},
        {'maintain': {'from': 'now', 'until': '2030-05-16 08:00'}},
        {'maintain': {'from': '2029-01-01 00:00', 'until': WINDOW['until']}},
        {'maintain': {**WINDOW, 'why': 'kernel'}},
    ],
)
def test_a_body_that_is_no_action_is_refused(act, body):
    answer = act(body)
    assert answer.status_int == 400, answer.text


def test_members_do_nothing_to_hosts(member, admin):
    for host_id in '1', '999':
        path = f'/os-hosts/{host_id}/action'
        for body in {'cordon': None}, {'maintain': WINDOW}:
            assert member('POST', path, body).status_int == 403
    answer = admin('POST', '/os-hosts/999/action', {'cordon': None})
    assert answer.status_int == 404


def test_the_commands_of_operators(openstack, admin, act):
    run = functools.partial(openstack(admin, 'lease'), 'host')
    window = ('--from', WINDOW['from'], '--until', WINDOW['until'])
    assert json.loads(run('maintain', 'h1', *window, '-f', 'json')) == []
    [lease] = json.loads(run('cordon', 'h1', '-f', 'json'))
    assert lease['Status'] == 'PENDING'
    assert act({'cordon': None}).json['leases'][0]['id'] == lease['Lease']
    words = ('--servers', 'migrate', '-f', 'json')
    assert len(json.loads(run('drain', 'h1', *words))) == 1
    run('uncordon', 'h1.example.org')
    [host] = admin('GET', '/os-hosts?name=h1').json['hosts']
    assert host['reservable']
