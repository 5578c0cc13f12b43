# SPDX-License-Identifier: Apache-2.0
"""``openstack lease``, against the API over HTTP."""

import dataclasses
import json

import pytest

from nova_reservations.objects import states


@pytest.fixture
def run(openstack, member, enrolled):
    return openstack(member, 'lease')


LATER = ('--start=2040-01-01 10:00', '--end=2040-01-01 12:00')


def test_hosts_are_leased_with_few_words(run, member):
    shown = run('create', 'mine', '--hosts=1-2', *LATER, '-f', 'json')
    created = json.loads(shown)
    [lease] = member('GET', '/leases').json['leases']
    [reservation] = lease['reservations']
    assert created['id'] == lease['id']
    assert created['lease_type'] == 'scheduled'
    assert (reservation['min'], reservation['max']) == (1, 2)
    assert lease['end_date'] == '2040-01-01T12:00:00.000000'


def test_a_lease_starts_now_unless_told_and_lasts_its_duration(run, member):
    run('create', 'mine', '--hosts=1', '--duration=90m', '--type=immediate')
    [lease] = member('GET', '/leases').json['leases']
    assert lease['lease_type'] == 'immediate'
    assert lease['start_date'] == '2030-05-17T10:30:25.000000'
    assert lease['end_date'] == '2030-05-17T12:00:25.000000'


def test_a_lease_without_an_end_lasts_a_day(run, member):
    run('create', 'mine', '--hosts=1')
    [lease] = member('GET', '/leases').json['leases']
    assert lease['end_date'] == '2030-05-18T10:30:25.000000'


def test_dates_are_in_the_zone_that_is_named(run, member):
    run(
        *('create', 'mine', '--hosts=1', '--timezone=Europe/Rome'),
        *('--start=2040-01-01 09:00', '--end=2040-07-01'),
    )
    [lease] = member('GET', '/leases').json['leases']
    assert lease['start_date'] == '2040-01-01T08:00:00.000000'
    assert lease['end_date'] == '2040-06-30T22:00:00.000000'


def test_a_name_means_the_lease_that_lives(run, member, workers):
    over = member.lease(duration='1m')
    workers.work(3)
    workers.clock.forward(minutes=1)
    workers.work(3)
    assert json.loads(run('show', 'mine', '-f', 'json'))['id'] == over['id']
    living = member.lease()
    assert json.loads(run('show', 'mine', '-f', 'json'))['id'] == living['id']
    other = member.lease()
    said = run('delete', 'mine')
    for lease in (living, other):
        assert f'{lease["id"]} PENDING 2030-05-17 10:31 UTC' in said
    assert over['id'] not in said


def test_the_first_free_window_is_listed_and_leased(run, member):
    member.lease(
        reservations=[{'resource_type': 'physical:host', 'min': 3, 'max': 3}]
    )
    words = ('--hosts=1', '--duration=90m')
    [offer] = json.loads(run('offer', 'list', *words, '-f', 'json'))
    created = json.loads(
        run('create', 'next', *words, '--first-free', '-f', 'json')
    )
    assert created['start_date'] == offer['Start']
    assert created['end_date'] == offer['End']
    assert offer['Start'] == '2030-05-17T11:30:25Z'


def test_a_lease_repeats_and_its_series_is_deleted(run, member):
    created = json.loads(
        run(
            *('create', 'course', '--hosts=1', *LATER, '-f', 'json'),
            *('--repeat=weekly', '--count=2', '--timezone=Europe/Rome'),
        )
    )
    leases = json.loads(run('series', 'show', 'course', '-f', 'json'))
    assert [lease['ID'] for lease in leases] == [
        lease['id'] for lease in created['leases']
    ]
    assert json.loads(run('series', 'delete', 'course', '-f', 'json')) == []
    assert member('GET', '/leases').json['leases'] == []


def test_any_reservation_can_be_given_as_the_api_takes_it(run, member):
    one = {
        'resource_type': 'physical:host',
        'min': 1,
        'max': 1,
        'hypervisor_properties': ['>=', '$vcpus', '2'],
    }
    run('create', 'mine', f'--reservation={json.dumps(one)}', *LATER)
    [lease] = member('GET', '/leases').json['leases']
    assert lease['reservations'][0]['min'] == 1


def test_leases_are_listed_page_by_page(run, member):
    names = ['a', 'b', 'c']
    for name in names:
        run('create', name, '--hosts=1', *LATER)
    rows = json.loads(run('list', '--sort=name:desc', '--limit=2', '-fjson'))
    assert [row['Name'] for row in rows] == ['c', 'b']
    assert rows[0]['Type'] == 'scheduled'
    rest = run(
        *('list', '--sort=name:desc', '--long', '-fjson'),
        f'--marker={rows[-1]["ID"]}',
    )
    [row] = json.loads(rest)
    assert (row['Name'], row['Reason']) == ('a', None)
    assert json.loads(run('list', '--status=ACTIVE', '-fjson')) == []


def test_a_lease_is_changed_by_its_name(run, member):
    run('create', 'mine', '--hosts=1', *LATER)
    [lease] = member('GET', '/leases').json['leases']
    wanted = {'id': lease['reservations'][0]['id'], 'max': 2}
    run(
        *('set', 'mine', '--name=new', '--end=2040-01-01 13:00'),
        f'--reservation={json.dumps(wanted)}',
    )
    [lease] = member('GET', '/leases').json['leases']
    assert lease['name'] == 'new'
    assert lease['end_date'] == '2040-01-01T13:00:00.000000'
    assert lease['reservations'][0]['max'] == 2


def test_a_lease_is_shown_by_its_name_and_deleted(run, member):
    for name in ('mine', 'yours', 'others'):
        member.lease(name=name)
    shown = json.loads(run('show', 'mine', '-f', 'json'))
    [lease] = member('GET', '/leases?name=mine').json['leases']
    assert (shown['id'], shown['status']) == (lease['id'], 'PENDING')
    assert run('delete', 'yours', lease['id']) == ''
    [lease] = member('GET', '/leases').json['leases']
    assert lease['name'] == 'others'


def test_of_several_leases_all_are_deleted_or_none(run, member):
    member.lease(name='mine')
    assert 'No lease has the name or ID none' in run('delete', 'mine', 'none')
    assert len(member('GET', '/leases').json['leases']) == 1


@pytest.fixture
def failed(services, member, enrolled, workers, cloud):
    """A lease whose host has failed, and is not replaced automatically."""
    services.healing.options = dataclasses.replace(
        services.healing.options, heal_active=states.HealActive.NEVER
    )
    lease = member.lease(name='mine')
    workers.work(3)
    [reservation] = lease['reservations']
    [host] = cloud.aggregate_hosts[reservation['id']]
    cloud.fail(host, forced_down=True)
    services.monitoring.poll(workers.clock.now)
    workers.work(3)
    return host


class TestReplaceFailed:
    def test_gives_another_host(self, run, member, failed):
        [lease] = member('GET', '/leases').json['leases']
        assert lease['reservations'][0]['missing_resources']
        shown = json.loads(run('set', 'mine', '--replace-failed', '-fjson'))
        assert shown['degraded']
        [reservation] = shown['reservations']
        assert reservation['resources_changed']
        assert not reservation['missing_resources']
        said = run('set', 'mine', '--replace-failed')
        assert 'none of its resources has failed' in said

    def test_is_refused_where_no_other_is_free(self, run, member, failed):
        member.lease(
            name='others',
            reservations=[
                {'resource_type': 'physical:host', 'min': 2, 'max': 2}
            ],
        )
        said = run('set', 'mine', '--replace-failed')
        assert 'nothing is free at this moment' in said
        assert failed not in said

    def test_comes_by_itself(self, run, failed):
        said = run('set', 'mine', '--replace-failed', '--name=yours')
        assert 'can not be combined' in said

    def test_is_for_members_of_the_project(self, member, stranger, failed):
        [lease] = member('GET', '/leases').json['leases']
        path, body = f'/leases/{lease["id"]}', {'replace_failed': True}
        assert stranger('PUT', path, body).status_int == 404


@pytest.mark.parametrize(
    ('words', 'reason'),
    [
        (('create', 'x', '--hosts=9', *LATER), 'Not enough hosts available'),
        (('create', 'x', *LATER), 'Say what to lease: --hosts 2'),
        (
            ('create', 'x', '--resource-properties=[]', *LATER),
            '--resource-properties needs --hosts or slots',
        ),
        (('create', 'x', '--hosts=few', *LATER), 'neither a number of hosts'),
        (('create', 'x', '--reservation={', *LATER), 'not JSON'),
        (('create', 'x', '--reservation=[]', *LATER), 'not a JSON object'),
        (('set', 'none', '--name=x'), 'No lease has the name or ID none'),
        (('set', 'twice', '--name=x'), '2 leases have the name twice'),
        (('set', 'once'), 'Say what to change: --extend 2h'),
        (
            ('set', 'once', '--reservation={"max": 2}'),
            'A --reservation needs the "id"',
        ),
        (('list', '--sort=colour'), 'colour'),
        (('show', 'twice'), '2 leases have the name twice'),
        (('delete', 'twice'), '2 leases have the name twice'),
    ],
)
def test_a_mistake_is_told_in_words_that_help(run, member, words, reason):
    for name in ('once', 'twice', 'twice'):
        member.lease(name=name)
    assert reason in run(*words)
    assert len(member('GET', '/leases').json['leases']) == 3


def test_blazars_commands_are_there_beside_it(openstack, member, enrolled):
    openstack(member, 'lease')('create', 'mine', '--hosts=1', *LATER)
    blazars = openstack(member)
    shown = json.loads(blazars('lease', 'show', 'mine', '-f', 'json'))
    assert shown['name'] == 'mine'


CAPACITY = (
    'capacity',
    '--start=2050-01-01 10:00',
    '--end=2050-01-01 12:00',
    '--availability-zone=nova',
    '-f',
    'json',
)


def test_capacity_is_shown_step_by_step(run, member):
    member.lease(start_date='2050-01-01 11:00', duration='1h')
    first, second = json.loads(run(*CAPACITY))
    assert (first['Hosts'], first['Free']) == (3, 3)
    assert (second['Reserved'], second['Free'], second['Held']) == (1, 2, '')
    assert 'You may not do this' in run(*CAPACITY, '--by-project')


def test_capacity_is_shown_by_project(openstack, admin, member, enrolled):
    member.lease(start_date='2050-01-01 11:00', duration='1h')
    shown = json.loads(openstack(admin, 'lease')(*CAPACITY, '--by-project'))
    assert [row['Projects'] for row in shown] == ['', 'ours: 1']
