# SPDX-License-Identifier: Apache-2.0
"""Limits as users and operators see them."""

import json

import pytest

from nova_reservations import exception
from nova_reservations.tests.functional.api import conftest
from nova_reservations.tests.functional.api import test_offers

pytestmark = pytest.mark.usefixtures('enrolled')


@pytest.fixture
def settings(settings):
    for name, value in {
        'max_open_leases': 2,
        'max_reserved_hosts': 2,
        'max_lease_duration': 7200,
    }.items():
        settings.set_override(name, value, group='reservations')
    return settings


def absolute(answer):
    assert answer.status_int == 200, answer.text
    assert answer.json['limits']['rate'] == []
    return answer.json['limits']['absolute']


def wanted(count=1, **more):
    return {
        'name': 'mine',
        'start_date': 'now',
        'duration': '1h',
        'reservations': test_offers.hosts(count),
        **more,
    }


@pytest.mark.parametrize('path', ['/leases', '/leases?dry_run=true'])
def test_a_lease_over_the_limit_is_400_with_the_numbers(member, path):
    member.lease()
    answer = member('POST', path, wanted(2))
    assert answer.status_int == 400
    assert answer.json == {
        'error_code': 400,
        'error_name': 400,
        'error_kind': 'over_limit',
        'error_message': 'Over the limit: 3 hosts at 2030-05-17 10:30, 2 '
        'allowed for this project',
    }


def test_a_change_is_refused_as_well(member):
    lease = member.lease()
    path = f'/leases/{lease["id"]}'
    answer = member('PUT', path, {'end_date': '2030-05-17 12:31'})
    assert answer.status_int == 400
    assert 'a duration of' in answer.json['error_message']
    assert 'allowed for this project' in answer.json['error_message']


def test_a_project_sees_its_limits_and_what_it_has(member, reader):
    member.lease(reservations=test_offers.hosts(2), duration='90m')
    assert absolute(reader('GET', '/limits')) == {
        'maxOpenLeases': 2,
        'openLeasesUsed': 1,
        'maxWaitingLeases': -1,
        'waitingLeasesUsed': 0,
        'maxReservedHosts': 2,
        'reservedHostsUsed': 2,
        'maxReservedSlots': -1,
        'reservedSlotsUsed': 0,
        'maxHostHours': -1,
        'hostHoursUsed': 3,
        'maxReservedResources': {},
        'reservedResourcesUsed': {},
        'maxLeaseDuration': 7200,
        'reservationExtensionWindow': -1,
        'maxStartAhead': -1,
    }


def test_administrators_see_those_of_any_project(member, stranger, admin):
    member.lease()
    path = '/limits?project_id=ours'
    assert absolute(admin('GET', path))['openLeasesUsed'] == 1
    assert absolute(admin('GET', '/limits'))['openLeasesUsed'] == 0
    assert stranger('GET', path).status_int == 403


def test_while_keystone_has_never_said_them_nobody_is_let_in(member, services):
    def silent(project_id):
        raise exception.LimitsUnknown(reason='it does not answer')

    services.leases.limits.source = silent
    for answer in (
        member('POST', '/leases', wanted()),
        member('GET', '/limits'),
    ):
        assert answer.status_int == 503
        assert int(answer.headers['Retry-After']) > 0
        assert answer.json['error_message'] == (
            'The limits of this project are not known: keystone can not be '
            'reached at this moment'
        )
    assert member('GET', '/leases').json == {'leases': []}


def test_a_person_without_a_role_sees_no_limits(nobody):
    assert nobody('GET', '/limits').status_int == 403


def test_nothing_else_is_asked(member):
    assert member('GET', '/limits?project=ours').status_int == 400


def test_offers_of_what_would_be_refused_are_refused(member):
    answer = member(
        'POST', test_offers.PATH, test_offers.wanted(duration='3h')
    )
    assert answer.status_int == 400


def test_the_command_shows_them(openstack, member, admin):
    member.lease()
    run = openstack(member, 'lease')
    shown = json.loads(run('limits', 'show', '-f', 'json'))
    assert shown[0] == {'Limit': 'Open leases', 'Allowed': 2, 'Used': 1}
    assert shown[2] == {
        'Limit': 'Hosts at any instant',
        'Allowed': 2,
        'Used': 1,
    }
    assert json.loads(run('limits', '-f', 'json')) == shown


def test_the_command_shows_those_of_another_project(
    app, openstack, member, admin
):
    theirs = 'a' * 32
    conftest.Person(app, theirs, 'member', 'reader').lease()
    words = ('limits', 'show', '--project', theirs, '-f', 'json')
    assert 'You may not do this' in openstack(member, 'lease')(*words)
    shown = json.loads(openstack(admin, 'lease')(*words))
    assert shown[0]['Used'] == 1
