# SPDX-License-Identifier: Apache-2.0
"""Shared reservations, and the rights of owners, sharers and others."""

import datetime
import itertools
import types

from nova.api.openstack import identity
import pytest
import webob.exc

from nova_reservations.api.leases import project_access
from nova_reservations.cloud import time_limits
from nova_reservations.engine.leases import sharing
from nova_reservations.policies import leases as policies
from nova_reservations.tests.functional.api import server_requests
from nova_reservations.tests.functional.api import test_offers

pytestmark = pytest.mark.usefixtures('enrolled')

NOBODY = '11111111-1111-1111-1111-111111111111'


@pytest.fixture(autouse=True)
def keystone(monkeypatch):
    """A keystone that knows all projects but ``gone``."""

    def verify(context, project_id):
        if project_id == 'gone':
            raise webob.exc.HTTPBadRequest(
                explanation=f'Project ID {project_id} is not a valid project.'
            )
        return True

    monkeypatch.setattr(identity, 'verify_project_id', verify)


def act(person, lease, action='add', project='theirs', **changes):
    asked = {
        'reservation_id': lease['reservations'][0]['id'],
        'project': project,
    } | changes
    return act_on(person, f'/leases/{lease["id"]}', action, **asked)


def act_on(person, path, action='add', **asked):
    return person('POST', f'{path}/action', {f'{action}ProjectAccess': asked})


def accesses(answer):
    """Return pairs of a reservation and a project."""
    assert answer.status_int == 200, answer.text
    return {
        (each['reservation_id'], each['project_id'])
        for each in answer.json['project_access']
    }


def reservations_of(*leases):
    return [each['id'] for lease in leases for each in lease['reservations']]


def listed(person, query='?shared=true'):
    answer = person('GET', f'/leases{query}')
    assert answer.status_int == 200, answer.text
    return answer.json['leases']


def test_a_reservation_is_shared_and_shared_no_more(member, reader):
    lease = member.lease()
    access = {
        'project_access': [
            {
                'reservation_id': lease['reservations'][0]['id'],
                'project_id': 'theirs',
            }
        ]
    }
    answer = act(member, lease)
    assert (answer.status_int, answer.json) == (200, access)
    path = f'/leases/{lease["id"]}/project-access'
    assert reader('GET', path).json == access
    assert act(member, lease, 'remove').json == {'project_access': []}
    assert reader('GET', path).json == {'project_access': []}


def test_sharers_see_little_and_nothing_of_the_owner(member, stranger):
    lease = member.lease(
        reservations=[*test_offers.hosts(1), *test_offers.hosts(1)]
    )
    act(member, lease)
    [seen] = listed(stranger)
    assert seen == {
        'id': lease['id'],
        'name': 'mine',
        'start_date': lease['start_date'],
        'end_date': lease['end_date'],
        'status': 'PENDING',
        # The other reservation is not shared, and not shown.
        'reservations': [{'id': lease['reservations'][0]['id']}],
    }
    shown = stranger('GET', f'/leases/{lease["id"]}')
    assert shown.json == {'lease': seen}


def test_a_shared_lease_is_in_no_other_list_and_own_ones_not_in_its(
    member, stranger
):
    lease = member.lease()
    act(member, lease)
    own = stranger.lease()
    assert [each['id'] for each in listed(stranger, '')] == [own['id']]
    assert [each['id'] for each in listed(stranger)] == [lease['id']]
    assert listed(member) == []
    assert listed(stranger, '?shared=false')[0]['id'] == own['id']


def test_a_lease_that_is_shared_no_more_is_not_there(member, stranger):
    lease = member.lease()
    assert stranger('GET', f'/leases/{lease["id"]}').status_int == 404
    act(member, lease)
    act(member, lease, 'remove')
    assert stranger('GET', f'/leases/{lease["id"]}').status_int == 404
    assert listed(stranger) == []


def test_sharers_change_nothing(member, stranger):
    lease = member.lease()
    act(member, lease)
    path = f'/leases/{lease["id"]}'
    for method, below, body in (
        ('PUT', '', {'name': 'theirs'}),
        ('DELETE', '', None),
        ('GET', '/project-access', None),
    ):
        answer = stranger(method, path + below, body)
        assert answer.status_int == 404
    assert act(stranger, lease, project='others').status_int == 404


def test_the_list_has_the_filters_and_pages_of_others(member, stranger):
    names = ('a', 'b', 'c')
    for name in names:
        act(member, member.lease(name=name))
    assert [
        each['name']
        for each in listed(stranger, '?shared=1&sort_key=name&limit=2')
    ] == ['a', 'b']
    page = stranger('GET', '/leases?shared=1&sort_key=name&limit=2').json
    [link] = page['leases_links']
    query = link['href'].partition('?')[2]
    assert [each['name'] for each in listed(stranger, f'?{query}')] == ['c']
    assert len(listed(stranger, '?shared=1&name=b')) == 1
    assert listed(stranger, '?shared=1&status=ACTIVE') == []
    answer = stranger('GET', '/leases?shared=1&project_id=ours')
    assert answer.status_int == 400
    marker = stranger.lease(reservations=[])['id']
    answer = stranger('GET', f'/leases?shared=1&limit=1&marker={marker}')
    assert answer.status_int == 400


def test_an_administrator_shares_anybodys(admin, member, stranger):
    lease = member.lease()
    assert act(admin, lease).status_int == 200
    assert listed(stranger)[0]['id'] == lease['id']


@pytest.mark.parametrize('action', ['add', 'remove'])
def test_readers_do_not_share(member, reader, action):
    lease = member.lease()
    answer = act(reader, lease, action)
    assert answer.status_int == 403
    rule = policies.ACCESS_ADD if action == 'add' else policies.ACCESS_REMOVE
    assert rule in answer.json['error_message']


@pytest.mark.parametrize(
    ('action', 'changes', 'status', 'reason'),
    [
        ('add', {'project': 'gone'}, 400, 'not a valid project'),
        ('add', {'project': '../users'}, 400, 'Malformed parameter'),
        ('add', {'project': 'ours'}, 400, 'whose lease it is'),
        ('add', {'user': 'me'}, 400, 'user'),
        ('add', {'reservation_id': NOBODY}, 404, NOBODY),
        ('remove', {}, 404, 'theirs'),
    ],
)
def test_sharing_that_makes_no_sense_is_refused(
    member, action, changes, status, reason
):
    answer = act(member, member.lease(), action, **changes)
    assert answer.status_int == status
    assert reason in answer.json['error_message']


def test_twice_is_a_conflict_and_nothing_changes(member):
    lease = member.lease()
    first = act(member, lease).json
    assert act(member, lease).status_int == 409
    path = f'/leases/{lease["id"]}/project-access'
    assert member('GET', path).json == first


def test_a_project_that_is_gone_is_taken_back(member, monkeypatch):
    lease = member.lease()
    monkeypatch.setattr(identity, 'verify_project_id', lambda *_: True)
    act(member, lease, project='gone')
    monkeypatch.setattr(identity, 'verify_project_id', None)
    assert act(member, lease, 'remove', project='gone').status_int == 200


def test_a_window_of_maintenance_is_not_shared(admin):
    made = admin(
        'POST',
        '/os-hosts/1/action',
        {
            'maintain': {
                'from': '2030-05-18 10:00',
                'until': '2030-05-18 12:00',
            }
        },
    ).json
    lease = admin('GET', f'/leases/{made["lease_id"]}').json['lease']
    answer = act(admin, lease)
    assert answer.status_int == 400
    assert 'can be shared' in answer.json['error_message']


class TestMany:
    """Projects, reservations and leases that are shared at once."""

    @pytest.fixture
    def verified(self, monkeypatch):
        """The projects that keystone was asked for."""
        asked = []
        monkeypatch.setattr(
            identity,
            'verify_project_id',
            lambda _, project_id: asked.append(project_id),
        )
        return asked

    @pytest.fixture
    def told(self, services, monkeypatch):
        """The payloads of notifications."""
        payloads = []
        monkeypatch.setattr(
            services.sharing, 'notify', lambda _, its: payloads.append(its)
        )
        return payloads

    @pytest.fixture
    def series(self, member):
        """Three leases of two reservations each."""
        return member(
            'POST',
            '/leases',
            {
                'name': 'course',
                'start_date': '2030-10-13 07:00',
                'duration': '1h',
                'reservations': [*test_offers.hosts(1), *test_offers.hosts(1)],
                'repeat': {'every': 'P1D', 'count': 3},
            },
        ).json['leases']

    def path(self, series):
        return f'/lease-series/{series[0]["series_id"]}'

    def test_all_reservations_of_a_lease_are_shared_with_projects(
        self, member, series, verified
    ):
        lease = series[0]
        path, projects = f'/leases/{lease["id"]}', ['a', 'b']
        expected = set(itertools.product(reservations_of(lease), projects))
        for _ in range(2):
            answer = act_on(member, path, projects=projects)
            assert accesses(answer) == expected
        assert verified == ['a', 'b'] * 2
        assert accesses(act_on(member, path, project='c')) > expected
        answer = act_on(member, path, 'remove', projects=['a', 'c', 'd'])
        assert accesses(answer) == {
            (key, 'b') for key in reservations_of(lease)
        }

    def test_a_single_reservation_is_shared_with_projects(
        self, member, series
    ):
        [first, second] = reservations_of(series[0])
        path = f'/leases/{series[0]["id"]}'
        one = {'projects': ['a'], 'reservation_id': second}
        assert accesses(act_on(member, path, **one)) == {(second, 'a')}
        assert accesses(act_on(member, path, **one)) == {(second, 'a')}
        both = {(first, 'a'), (second, 'a')}
        assert accesses(act_on(member, path, projects=['a'])) == both
        answer = act_on(member, path, 'remove', **one)
        assert accesses(answer) == {(first, 'a')}
        for action in 'add', 'remove':
            one['reservation_id'] = NOBODY
            assert act_on(member, path, action, **one).status_int == 404

    def test_a_series_is_shared_with_projects(
        self, member, stranger, series, verified
    ):
        path, asked = self.path(series), {'projects': ['theirs', 'b']}
        expected = set(
            itertools.product(reservations_of(*series), asked['projects'])
        )
        assert accesses(act_on(member, path, **asked)) == expected
        assert verified == ['theirs', 'b']
        assert len(listed(stranger)) == 3
        # One lease had lost what was shared.
        act_on(member, f'/leases/{series[1]["id"]}', 'remove', **asked)
        assert accesses(act_on(member, path, **asked)) == expected
        answer = act_on(member, path, 'remove', projects=['b', 'never'])
        assert accesses(answer) == {
            (key, 'theirs') for key in reservations_of(*series)
        }
        assert len(verified) == 4

    def test_a_silent_keystone_is_waited_for_once(
        self, member, series, monkeypatch
    ):
        passed, asked = [0.0], []

        def be_silent(_context, project_id):
            asked.append(project_id)
            passed[0] += time_limits.SECONDS

        monkeypatch.setattr(identity, 'verify_project_id', be_silent)
        monkeypatch.setattr(
            project_access,
            'time',
            types.SimpleNamespace(monotonic=lambda: passed[0]),
        )
        answer = act_on(member, self.path(series), projects=['a', 'b', 'c'])
        assert answer.status_int == 503
        assert 'Keystone can not be reached' in answer.json['error_message']
        assert asked == ['a']
        path = f'/leases/{series[0]["id"]}/project-access'
        assert accesses(member('GET', path)) == set()

    @pytest.mark.usefixtures('verified')
    def test_a_request_that_changes_nothing_writes_nothing(
        self, member, series, services, monkeypatch
    ):
        path, asked = self.path(series), {'projects': ['a', 'b']}
        expected = accesses(act_on(member, path, **asked))
        monkeypatch.setattr(services.database, 'writer', None)
        assert accesses(act_on(member, path, **asked)) == expected
        answer = act_on(member, path, 'remove', projects=['c'])
        assert accesses(answer) == expected

    def test_leases_that_do_not_change_are_not_told_of(
        self, member, series, told
    ):
        path, asked = self.path(series), {'projects': ['a', 'b']}
        act_on(member, f'/leases/{series[1]["id"]}', **asked)
        told.clear()
        act_on(member, path, **asked)
        updates = [series[0]['id'], series[2]['id']]
        assert [each['lease_id'] for each in told] == updates
        act_on(member, path, **asked)
        act_on(member, path, 'remove', projects=['c'])
        assert len(told) == 2
        act_on(member, path, 'remove', projects=['a', 'c'])
        assert len(told) == 5

    def test_leases_that_are_over_are_left_out(
        self, member, workers, series, clock
    ):
        clock.now = datetime.datetime(2030, 10, 13, 7, tzinfo=datetime.UTC)
        workers.work()
        clock.forward(hours=1)
        workers.work(seconds=5)
        first = member('GET', f'/leases/{series[0]["id"]}').json['lease']
        assert first['status'] == 'TERMINATED'
        answer = act_on(member, self.path(series), projects=['a'])
        assert accesses(answer) == {
            (key, 'a') for key in reservations_of(*series[1:])
        }
        alone = f'/leases/{first["id"]}'
        answer = act_on(member, alone, projects=['a'])
        assert answer.status_int == 409
        assert 'not over' in answer.json['error_message']
        answer = act_on(member, alone, 'remove', projects=['a'])
        assert accesses(answer) == set()

    def test_a_refusal_of_one_lease_changes_none(
        self, member, series, monkeypatch
    ):
        monkeypatch.setattr(sharing, 'MOST', 2)
        last = f'/leases/{series[-1]["id"]}'
        had = accesses(act_on(member, last, projects=['a', 'b']))
        answer = act_on(member, self.path(series), projects=['b', 'c'])
        assert answer.status_int == 409
        assert '2 projects at most' in answer.json['error_message']
        answer = act_on(member, self.path(series), 'remove', projects=['x'])
        assert accesses(answer) == had

    @pytest.mark.parametrize(
        ('asked', 'said'),
        [
            ({}, 'project'),
            ({'projects': []}, 'projects'),
            ({'projects': ['a', 'a']}, 'projects'),
            ({'projects': 'a'}, 'projects'),
            ({'projects': ['../users']}, 'projects.0'),
            ({'projects': [f'p{n}' for n in range(51)]}, 'projects'),
            ({'projects': ['a', 'gone']}, 'gone is not a valid project'),
            ({'projects': ['a', 'ours']}, 'whose lease it is'),
            ({'projects': ['a'], 'user': 'me'}, 'user'),
        ],
    )
    def test_sharing_that_makes_no_sense_is_refused_of_both(
        self, member, series, asked, said
    ):
        for path in self.path(series), f'/leases/{series[0]["id"]}':
            answer = act_on(member, path, **asked)
            assert answer.status_int == 400, path
            assert said in answer.json['error_message']
            answer = act_on(member, path, 'remove', projects=['x'])
            assert accesses(answer) == set()

    def test_a_series_has_no_one_reservation_and_a_lease_no_two_words(
        self, member, series
    ):
        reservation_id = reservations_of(series[0])[0]
        one = {'projects': ['a'], 'reservation_id': reservation_id}
        answer = act_on(member, self.path(series), **one)
        assert answer.status_int == 400
        both = {'projects': ['a'], 'project': 'a'}
        answer = act_on(member, f'/leases/{series[0]["id"]}', **both)
        assert answer.status_int == 400
        assert 'one of both' in answer.json['error_message']

    def test_a_lease_without_a_place_for_servers_is_not_shared(self, member):
        made = member(
            'POST',
            '/leases',
            {
                'name': 'empty',
                'start_date': '2030-10-13 07:00',
                'duration': '1h',
                'repeat': {'every': 'P1D', 'count': 1},
            },
        ).json['leases']
        for path in self.path(made), f'/leases/{made[0]["id"]}':
            answer = act_on(member, path, projects=['a'])
            assert answer.status_int == 400
            assert made[0]['id'] in answer.json['error_message']

    def test_another_projects_series_is_not_there(
        self, stranger, reader, series
    ):
        for action in 'add', 'remove':
            for path in self.path(series), f'/lease-series/{NOBODY}':
                answer = act_on(stranger, path, action, projects=['theirs'])
                assert answer.status_int == 404
            answer = act_on(reader, self.path(series), action, projects=['a'])
            assert answer.status_int == 403


class TestServersWithALease:
    @pytest.fixture
    def settings(self, settings):
        settings.set_override(
            'resource_types',
            ['physical:host', 'virtual:server', 'virtual:instance'],
            group='reservations',
        )
        return settings

    @pytest.fixture
    def behind(self, cloud):
        return server_requests.Nova(cloud)

    def test_are_not_shared(self, member, behind):
        server_requests.boot(member)
        lease = server_requests.only_lease(member)
        answer = act(member, lease)
        assert answer.status_int == 400
        assert 'can be shared' in answer.json['error_message']
