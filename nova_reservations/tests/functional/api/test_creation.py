# SPDX-License-Identifier: Apache-2.0
"""The project of a new lease, and the rules for types of leases."""

from nova import policy
from nova.api.openstack import identity
import nova.conf
import pytest
import webob.exc

from nova_reservations.policies import leases as policies
from nova_reservations.tests.functional.api import server_requests
from nova_reservations.tests.functional.api import test_offers

pytestmark = pytest.mark.usefixtures('enrolled')

LATER = {'start_date': '2030-05-18 10:00'}


@pytest.fixture(autouse=True)
def keystone(monkeypatch):
    """A keystone that knows two projects."""

    def verify(context, project_id):
        if project_id not in ('ours', 'theirs'):
            raise webob.exc.HTTPBadRequest(
                explanation=f'Project ID {project_id} is not a valid project.'
            )
        return True

    monkeypatch.setattr(identity, 'verify_project_id', verify)


@pytest.fixture
def allow(tmp_path):
    """Set policy rules in a file, as an operator does."""

    def write(rules):
        path = tmp_path / 'policy.yaml'
        path.write_text(
            ''.join(f'"{name}": "{rule}"\n' for name, rule in rules.items())
        )
        nova.conf.CONF.set_override('policy_file', str(path), 'oslo_policy')
        policy.reset()

    yield write
    policy.reset()


def wanted(**changes):
    return {
        'name': 'mine',
        'start_date': 'now',
        'duration': '1h',
        'reservations': test_offers.hosts(1),
    } | changes


def post(person, path='/leases', headers=None, **changes):
    return person('POST', path, wanted(**changes), headers=headers or {})


def test_an_administrator_leases_for_another_project(admin, member, stranger):
    lease = post(admin, project_id='ours').json['lease']
    assert lease['project_id'] == 'ours'
    assert lease['user_id'] == 'operators-user'
    assert [
        each['id'] for each in member('GET', '/leases').json['leases']
    ] == [lease['id']]
    assert stranger('GET', '/leases').json['leases'] == []
    assert member('DELETE', f'/leases/{lease["id"]}').status_int == 204


def test_offers_dry_runs_and_series_are_for_another_project_too(
    admin, settings
):
    offers = admin(
        'POST', test_offers.PATH, test_offers.wanted(project_id='ours')
    )
    assert test_offers.starts(offers)
    dry = post(admin, '/leases?dry_run=true', project_id='ours')
    assert dry.json['lease']['project_id'] == 'ours'
    series = post(
        admin,
        project_id='ours',
        repeat={'every': 'P1D', 'count': 2},
        **LATER,
    )
    assert [each['project_id'] for each in series.json['leases']] == [
        'ours',
        'ours',
    ]


class TestLimits:
    @pytest.fixture
    def settings(self, settings):
        settings.set_override('max_open_leases', 1, group='reservations')
        return settings

    def test_are_those_of_the_project_that_it_is_for(self, admin, member):
        member.lease()
        assert post(admin).status_int == 201
        assert post(admin, project_id='ours').status_int == 400
        assert post(admin, project_id='theirs').status_int == 201


@pytest.mark.parametrize('path', ['/leases', '/leases?dry_run=true'])
def test_a_member_leases_for_no_other_project(member, path):
    answer = post(member, path, project_id='theirs')
    assert answer.status_int == 403
    assert policies.CREATE_ALL_PROJECTS in answer.json['error_message']
    assert post(member, path, project_id='ours').status_int == 201


def test_a_member_finds_windows_for_no_other_project(member):
    asked = test_offers.wanted(project_id='theirs')
    assert member('POST', test_offers.PATH, asked).status_int == 403


def test_a_project_that_keystone_does_not_know_is_refused(admin):
    answer = post(admin, project_id='nobodys')
    assert answer.status_int == 400
    assert answer.json['error_message'] == (
        'Project ID nobodys is not a valid project.'
    )


def test_a_project_that_is_no_id_is_not_looked_up(admin, monkeypatch):
    monkeypatch.setattr(identity, 'verify_project_id', None)
    assert post(admin, project_id='../users').status_int == 400


def test_a_key_is_the_clients_whomever_its_lease_is_for(admin, member):
    key = {'Idempotency-Key': 'k'}
    first = post(admin, headers=key, project_id='ours').json
    assert post(admin, headers=key, project_id='ours').json == first
    assert post(admin, headers=key, project_id='theirs').status_int == 422
    # The keys of that project's own clients are independent of it.
    assert (
        post(member, headers=key).json['lease']['id'] != first['lease']['id']
    )


@pytest.mark.parametrize(
    ('rule', 'refused', 'allowed'),
    [
        (
            'physical:host',
            {},
            {'reservations': []},
        ),
        ('retry', {'lease_type': 'retry'}, {}),
        ('best_effort', {'lease_type': 'best_effort'}, {}),
        ('immediate', {}, LATER),
        ('scheduled', LATER, {}),
        # The later leases of a series do not start now.
        ('scheduled', {'repeat': {'every': 'P1D', 'count': 2}}, {}),
    ],
)
def test_types_of_leases_that_are_kept_from_members_they_do_not_lease(
    admin, member, allow, cloud, rule, refused, allowed
):
    name = f'reservations:leases:create:{rule}'
    allow({name: 'rule:context_is_admin'})
    for path in ('/leases', '/leases?dry_run=true'):
        answer = post(member, path, **refused)
        assert answer.status_int == 403
        assert name in answer.json['error_message']
    assert post(member, **allowed).status_int == 201
    assert post(admin, **refused).status_int in (201, 400)


def test_persons_who_may_create_may_create_all_types_unless_told(
    member, allow
):
    allow({policies.CREATE: 'role:teacher'})
    assert post(member).status_int == 403
    member.context.roles = ['teacher']
    assert post(member).status_int == 201


def test_to_lease_can_be_kept_for_managers(member, allow):
    allow({policies.CREATE: 'rule:project_manager_or_admin'})
    assert post(member).status_int == 403
    member.context.roles = ['manager', 'member', 'reader']
    assert post(member).status_int == 201


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

    @pytest.mark.parametrize('kind', ['virtual:server', 'immediate'])
    def test_are_a_type_of_their_own(self, member, allow, behind, kind):
        name = f'reservations:leases:create:{kind}'
        allow({name: '!'})
        answer = server_requests.boot(member)
        assert answer.status_int == 403
        assert name in answer.text
        assert behind.made == []
        assert server_requests.leases(member) == []
