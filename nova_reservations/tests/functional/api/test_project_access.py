# SPDX-License-Identifier: Apache-2.0
"""Shared reservations, and the rights of owners, sharers and others."""

from nova.api.openstack import identity
import pytest
import webob.exc

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
    return person(
        'POST',
        f'/leases/{lease["id"]}/action',
        {f'{action}ProjectAccess': asked},
    )


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
