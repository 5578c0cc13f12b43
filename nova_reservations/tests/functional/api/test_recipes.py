# SPDX-License-Identifier: Apache-2.0
"""The policy files that operators copy, and the rights of roles by them."""

import pathlib

from nova import policy
import nova.conf
import pytest

from nova_reservations import policies
from nova_reservations.tests import permissions
from nova_reservations.tests.functional.api import conftest
from nova_reservations.tests.functional.api import test_middleware
from nova_reservations.tests.functional.api import test_permissions

# Fixtures of test_permissions that these tests use too.
_keystone = test_permissions._keystone
ask = test_permissions.ask
settings = test_permissions.settings

RECIPES = pathlib.Path(__file__).parents[4] / 'etc/nova/policies'

READS = {
    'GET /leases',
    'GET /leases/{lease_id}',
    'GET /leases/{lease_id}/project-access',
    'GET /lease-series/{series_id}',
    'GET /limits',
    'GET /usage',
}
LOOKS = READS | {
    'POST /leases/offers',
    'GET /os-hosts',
    'GET /os-hosts/{host_id}',
    'GET /os-hosts/calendar',
    'GET /os-hosts/capacity',
    'GET /os-hosts/properties',
    'GET /floatingips',
    'GET /floatingips/{floatingip_id}',
    'GET /resources/calendar',
    'GET /resources/capacity',
    'GET /resources/properties',
}
"""Requests of members that change nothing."""

WRITES = {
    'POST /leases',
    'PUT /leases/{lease_id}',
    'DELETE /leases/{lease_id}',
    'DELETE /lease-series/{series_id}',
    'POST /lease-series/{series_id}/action',
    'POST /leases/{lease_id}/action',
}


@pytest.fixture
def recipe(request):
    path = RECIPES / f'{request.param}.yaml'
    nova.conf.CONF.set_override('policy_file', str(path), 'oslo_policy')
    policy.reset()
    yield request.param
    policy.reset()


@pytest.fixture
def person(app):
    return lambda project, *roles: conftest.Person(app, project, *roles)


@pytest.fixture
def member(app):
    """The owner of the leases in requests; as an administrator, the owner is
    not limited by any recipe."""
    return conftest.Person(app, 'ours', 'admin', 'member', 'reader')


@pytest.fixture
def allowed(ask):
    """Return the requests about our project that a person may make."""

    def walk(who):
        return {
            f'{request.method} {request.path}'
            for requests in permissions.REQUESTS.values()
            for request in requests
            if ask(who, request).status_int < 300
        }

    return walk


@pytest.fixture
def may_use(workers, behind):
    """Tell whether a person's server may use the reservation of a lease, which
    begins now."""

    def boot(who, lease):
        workers.work()
        [reservation] = lease['reservations']
        before = len(behind.bodies)
        answer = test_middleware.boot(who, reservation['id'])
        assert len(behind.bodies) - before == (answer.status_int == 202)
        return answer.status_int == 202

    return boot


@pytest.mark.parametrize('recipe', ['members-browse'], indirect=True)
def test_members_browse(recipe, allowed, person, admin):
    student = person('ours', 'member', 'reader')
    assert allowed(student) == LOOKS
    assert WRITES <= allowed(admin)


@pytest.mark.parametrize('recipe', ['members-browse'], indirect=True)
def test_members_use_what_is_leased_for_them(recipe, person, admin, may_use):
    admin('POST', '/os-hosts', {'name': 'h1'})
    lease = admin.lease(project_id='ours')
    assert may_use(person('ours', 'member', 'reader'), lease)
    assert not may_use(person('theirs', 'member', 'reader'), lease)


@pytest.mark.parametrize('recipe', ['teachers-create'], indirect=True)
def test_teachers_create_and_students_look(recipe, allowed, person):
    teacher = person('ours', 'teacher', 'member', 'reader')
    assert allowed(teacher) == LOOKS | WRITES
    assert allowed(person('ours', 'member', 'reader')) == LOOKS
    # A teacher of one project has no rights in another.
    other = person('theirs', 'teacher', 'member', 'reader')
    assert not [each for each in allowed(other) if '{lease_id}' in each]


@pytest.mark.parametrize('recipe', ['teachers-create'], indirect=True)
def test_students_use_what_their_teacher_has_leased(
    recipe, person, admin, may_use
):
    admin('POST', '/os-hosts', {'name': 'h1'})
    lease = person('ours', 'teacher', 'member', 'reader').lease()
    assert may_use(person('ours', 'member', 'reader'), lease)


@pytest.mark.parametrize('recipe', ['teachers-create'], indirect=True)
def test_a_class_is_shared_with_projects_of_students(
    recipe, person, admin, may_use
):
    admin('POST', '/os-hosts', {'name': 'h1'})
    lease = person('ours', 'teacher', 'member', 'reader').lease()
    body = {
        'addProjectAccess': {
            'reservation_id': lease['reservations'][0]['id'],
            'project': 'theirs',
        }
    }
    path = f'/leases/{lease["id"]}'
    student = person('ours', 'member', 'reader')
    assert student('POST', f'{path}/action', body).status_int == 403
    teacher = person('ours', 'teacher', 'member', 'reader')
    assert teacher('POST', f'{path}/action', body).status_int == 200
    other = person('theirs', 'member', 'reader')
    assert other('GET', path).json['lease']['name'] == 'mine'
    assert may_use(other, lease)


@pytest.mark.parametrize('recipe', ['teachers-create'], indirect=True)
@pytest.mark.parametrize('kind', ['best_effort', 'retry'])
def test_teachers_ask_for_what_is_there(recipe, person, kind):
    teacher = person('ours', 'teacher', 'member', 'reader')
    body = {
        'name': 'a',
        'start_date': 'now',
        'duration': 60,
        'lease_type': kind,
    }
    assert teacher('POST', '/leases', body).status_int == 403


@pytest.mark.parametrize('recipe', ['finance-reads'], indirect=True)
def test_finance_reads(recipe, allowed, person):
    clerk = person('finance', 'finance')
    assert allowed(clerk) == READS | {
        'GET /demand',
        'GET /os-hosts/capacity',
    }
    lease = person('theirs', 'member', 'reader').lease(reservations=[])
    for path in ('/leases', '/leases?project_id=theirs'):
        listed = clerk('GET', path).json['leases']
        assert lease['id'] in [each['id'] for each in listed]
    assert clerk('GET', '/limits?project_id=theirs').status_int == 200


@pytest.mark.parametrize(
    'path', sorted(RECIPES.iterdir()), ids=lambda path: path.stem
)
def test_a_recipe_sets_rules_that_there_are(path):
    rules = policy.policy.Rules.load(path.read_text())
    known = {rule.name for rule in policies.list_rules()}
    own = {name for name in rules if ':' not in name}
    assert set(rules) - own <= known
