# SPDX-License-Identifier: Apache-2.0
"""New servers that name a lease, or a series, in place of a reservation."""

import datetime
import json

from nova.api.openstack import identity
import pytest
import sqlalchemy as sa

from nova_reservations.tests.functional.api import conftest
from nova_reservations.tests.functional.api import server_requests
from nova_reservations.tests.functional.api import test_due_starts

UNKNOWN = 'fb5ec2d1-1e3a-4a3f-8b6e-3a1f0a9f2f70'
HOST = {'resource_type': 'physical:host', 'min': 1, 'max': 1}
SLOTS = test_due_starts.SLOTS


@pytest.fixture
def settings(settings, waiting):
    settings.set_override(
        'resource_types',
        ['physical:host', 'virtual:instance', 'virtual:floatingip'],
        group='reservations',
    )
    settings.set_override('api_threads', 4, group='reservations')
    return settings


@pytest.fixture(autouse=True)
def _hosts(enrolled, monkeypatch):
    """All hosts are enrolled, and keystone knows all projects."""
    monkeypatch.setattr(identity, 'verify_project_id', lambda *_: True)


@pytest.fixture
def at(clock, workers):
    """Let a time come, and workers do what is due."""

    def come(day, hour=10):
        clock.now = datetime.datetime(2030, 5, day, hour, tzinfo=datetime.UTC)
        workers.work(seconds=5)

    return come


@pytest.fixture
def active(member, workers):
    lease = member.lease(name='class')
    workers.work()
    return lease


def boot(
    person,
    hint,
    flavor='1',
    path='/servers',
    key='os:scheduler_hints',
    **server,
):
    server = {'name': 'a', 'flavorRef': flavor, **server}
    return person.send(
        'POST', path, {'server': server, key: {'reservation': hint}}
    )


def named(behind, key='os:scheduler_hints'):
    """Return what Nova was told last."""
    return json.loads(behind.bodies[-1])[key]['reservation']


def reason(answer, status):
    assert answer.status_int == status, answer.text
    [fault] = answer.json.values()
    return fault['message']


def reservation(lease, number=0):
    return lease['reservations'][number]['id']


def series(person, name='course', **more):
    """Leases of an hour on three days from 2030-05-18 on."""
    asked = {
        'name': name,
        'start_date': '2030-05-18 10:00',
        'duration': '1h',
        'reservations': [HOST],
        'repeat': {'every': 'P1D', 'count': 3},
    }
    answer = person('POST', '/leases', asked | more)
    assert answer.status_int == 201, answer.text
    return answer.json['leases']


def share(person, path, project='theirs'):
    asked = {'addProjectAccess': {'projects': [project]}}
    assert person('POST', f'{path}/action', asked).status_int == 200


@pytest.mark.parametrize('key', server_requests.KEYS)
@pytest.mark.parametrize('path', ['/servers', '/0123abc/os-volumes_boot'])
def test_nova_is_told_the_reservation_of_the_lease(
    member, behind, active, path, key
):
    for hint in active['id'], [active['id']], 'class', ['class']:
        assert boot(member, hint, path=path, key=key).status_int == 202
        assert named(behind, key) == reservation(active)


def test_all_else_in_the_request_stays(member, behind, active):
    server = {'user_data': 'YQ==', 'metadata': {'a': 'ü'}, 'min_count': 2}
    boot(member, 'class', **server)
    assert json.loads(behind.bodies[0]) == {
        'server': {'name': 'a', 'flavorRef': '1', **server},
        'os:scheduler_hints': {'reservation': reservation(active)},
    }


def test_a_request_with_the_id_of_a_reservation_stays_as_it_is(
    member, behind, active
):
    body = (
        f'{{"os:scheduler_hints":{{ "reservation":"{reservation(active)}"}}}}'
    )
    member.send('POST', '/servers', POST=body.encode())
    assert behind.bodies == [body.encode()]


def test_a_lease_that_starts_later_is_told_with_its_start(member, waiting):
    lease = member.lease(
        name='later', start_date='2030-05-18 12:00', duration='1h'
    )
    for hint in lease['id'], 'later', reservation(lease):
        said = reason(boot(member, hint), 409)
        assert said.endswith(
            'only while it is ACTIVE, from 2030-05-18 12:00 UTC on'
        )
    assert waiting.seconds == 0


@pytest.mark.parametrize('by', ['id', 'name'])
def test_a_lease_that_starts_now_is_waited_for(
    member, workers, waiting, behind, by
):
    lease = member.lease(name='now')
    waiting.meanwhile = workers.work
    assert boot(member, lease[by]).status_int == 202
    assert named(behind) == reservation(lease)


class TestNames:
    def test_a_lease_that_is_over_has_given_its_name_away(
        self, member, workers, behind, active
    ):
        member('PUT', f'/leases/{active["id"]}', {'end_date': 'now'})
        workers.work(seconds=5)
        assert 'class' in reason(boot(member, 'class'), 404)
        assert 'TERMINATED' in reason(boot(member, active['id']), 409)
        second = member.lease(name='class')
        workers.work()
        assert boot(member, 'class').status_int == 202
        assert named(behind) == reservation(second)

    def test_of_several_leases_the_ids_are_told(self, member, active, behind):
        second = member.lease(name='class')
        said = reason(boot(member, 'class'), 400)
        assert '2 leases have the name class' in said
        assert active['id'] in said
        assert second['id'] in said
        assert behind.bodies == []

    def test_a_series_has_one_name(self, member, behind, at):
        [_, second, _] = series(member)
        at(18)
        at(18, hour=12)
        at(19)
        assert boot(member, 'course').status_int == 202
        assert named(behind) == reservation(second)

    def test_a_series_and_a_lease_of_one_name_are_several(self, member):
        series(member)
        member.lease(name='course')
        assert '4 leases' in reason(boot(member, 'course'), 400)
        series(member, 'other')
        series(member, 'other', start_date='2030-06-18 10:00')
        assert '6 leases' in reason(boot(member, 'other'), 400)

    def test_names_that_others_give_are_not_known(
        self, member, stranger, admin, active
    ):
        share(member, f'/leases/{active["id"]}')
        for person in stranger, admin:
            said = reason(boot(person, 'class'), 404)
            assert active['id'] not in said
        own = stranger.lease(name='class')
        said = reason(boot(stranger, 'class'), 409)
        assert own['id'] in said

    @pytest.mark.parametrize(
        'hint', [UNKNOWN.upper(), UNKNOWN.replace('-', ''), f'{{{UNKNOWN}}}']
    )
    def test_a_name_that_looks_like_an_id_is_none(self, member, hint):
        member.lease(name=hint)
        assert 'lower case' in reason(boot(member, hint), 400)

    def test_an_id_that_is_a_name_too_is_an_id(
        self, member, behind, active, workers
    ):
        member.lease(name=active['id'])
        workers.work()
        assert boot(member, active['id']).status_int == 202
        assert named(behind) == reservation(active)
        member.lease(name=UNKNOWN)
        assert UNKNOWN in reason(boot(member, UNKNOWN), 404)

    def test_leases_in_which_no_server_can_land_do_not_count(
        self, member, behind, active
    ):
        member.lease(name='class', reservations=[])
        assert boot(member, 'class').status_int == 202


class TestSeries:
    def test_the_lease_that_lets_servers_in_is_meant(self, member, at, behind):
        made = series(member)
        for lease, day in zip(made, (18, 19, 20), strict=True):
            at(day)
            assert boot(member, lease['series_id']).status_int == 202
            assert named(behind) == reservation(lease)

    def test_before_and_between_its_leases_the_next_start_is_told(
        self, member, at
    ):
        series_id = series(member)[0]['series_id']
        said = reason(boot(member, series_id), 409)
        assert 'from 2030-05-18 10:00 UTC on' in said
        at(18, hour=12)
        said = reason(boot(member, series_id), 409)
        assert 'from 2030-05-19 10:00 UTC on' in said

    def test_a_series_after_its_last_lease_is_over(self, member, at):
        series_id = series(member)[0]['series_id']
        for day in 18, 19, 20, 21:
            at(day)
            at(day, hour=12)
        assert 'is TERMINATED' in reason(boot(member, series_id), 409)

    def test_the_lease_that_starts_now_is_waited_for(
        self, member, workers, clock, waiting, behind
    ):
        first, *_ = series(member)
        clock.now = datetime.datetime(2030, 5, 18, 10, tzinfo=datetime.UTC)
        waiting.meanwhile = workers.work
        assert boot(member, first['series_id']).status_int == 202
        assert named(behind) == reservation(first)

    def test_leases_that_overlap_are_told_apart_by_who_asks(self, member, at):
        made = series(member, duration='30h')
        at(18)
        at(19, hour=11)
        said = reason(boot(member, made[0]['series_id']), 400)
        assert 'several reservations' in said
        assert reservation(made[0]) in said
        assert reservation(made[1]) in said
        assert reservation(made[2]) not in said

    def test_sharers_have_the_leases_that_are_shared_with_them(
        self, member, stranger, at, behind
    ):
        first, second, _ = series(member)
        path = f'/lease-series/{first["series_id"]}'
        said = reason(boot(stranger, first['series_id']), 404)
        assert first['id'] not in said
        share(member, f'/leases/{second["id"]}')
        at(18)
        said = reason(boot(stranger, first['series_id']), 409)
        assert second['id'] in said
        share(member, path)
        assert boot(stranger, first['series_id']).status_int == 202
        assert named(behind) == reservation(first)


class TestReservations:
    def test_of_several_the_ids_and_types_are_told(self, member, workers):
        lease = member.lease(name='both', reservations=[HOST, SLOTS])
        workers.work()
        said = reason(boot(member, 'both'), 400)
        assert f'{reservation(lease)} (physical:host)' in said
        assert f'{reservation(lease, 1)} (virtual:instance)' in said

    def test_the_flavor_tells_of_which_of_several_it_is(
        self, member, workers, behind
    ):
        lease = member.lease(name='both', reservations=[HOST, SLOTS])
        workers.work()
        slots = reservation(lease, 1)
        for flavor in slots, f'http://nova/v2.1/flavors/{slots}':
            assert boot(member, 'both', flavor).status_int == 202
            assert named(behind) == slots

    def test_slots_are_had_with_their_flavor_which_is_told(
        self, member, workers, behind
    ):
        lease = member.lease(name='slots', reservations=[SLOTS])
        workers.work()
        slots = reservation(lease)
        for hint in 'slots', lease['id'], slots:
            said = reason(boot(member, hint), 400)
            assert f'give the flavor {slots}' in said
            assert boot(member, hint, slots).status_int == 202
            assert named(behind) == slots

    def test_reservations_that_are_not_shared_are_not_known(
        self, member, stranger, workers, behind
    ):
        lease = member.lease(name='both', reservations=[HOST, HOST])
        workers.work()
        assert 'several' in reason(boot(member, lease['id']), 400)
        said = reason(boot(stranger, lease['id']), 404)
        assert reservation(lease) not in said
        path = f'/leases/{lease["id"]}/action'
        one = {
            'projects': ['theirs'],
            'reservation_id': reservation(lease, 1),
        }
        member('POST', path, {'addProjectAccess': one})
        assert boot(stranger, lease['id']).status_int == 202
        assert named(behind) == reservation(lease, 1)
        member('POST', path, {'removeProjectAccess': one})
        assert boot(stranger, lease['id']).status_int == 404


def test_a_reader_who_may_create_no_servers_learns_nothing(
    app, behind, active
):
    reader = conftest.Person(app, 'ours', 'reader')
    for hint in 'class', active['id'], 'unknown', UNKNOWN:
        assert boot(reader, hint).text == 'nova'


def test_a_name_costs_one_small_query_and_an_id_two(
    member, services, active, at
):
    first, *_ = series(member)
    asked = []

    def note(_connection, _cursor, statement, *_):
        if statement.startswith('SELECT'):
            asked.append(statement)

    sa.event.listen(services.database.engine(), 'before_cursor_execute', note)

    def cost(hint):
        asked.clear()
        assert boot(member, hint).status_int == 202
        return len(asked)

    usual = cost(reservation(active))
    assert cost('class') == usual + 1
    # There is no reservation with that id.
    assert cost(active['id']) == usual + 2
    at(day=18)
    assert cost(first['series_id']) == usual + 2
