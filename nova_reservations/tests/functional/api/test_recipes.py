# SPDX-License-Identifier: Apache-2.0
"""The policy files that operators copy: what each role may do by them."""

import pathlib

from nova import policy
from nova.api.openstack import identity
import nova.conf
import pytest

from nova_reservations import policies
from nova_reservations.api import routes
from nova_reservations.tests.functional.api import conftest
from nova_reservations.tests.functional.api import test_routes

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
    'GET /os-hosts/calendar',
    'GET /os-hosts/capacity',
    'GET /os-hosts/properties',
}
"""What members do that changes nothing."""

WRITES = {
    'POST /leases',
    'PUT /leases/{lease_id}',
    'DELETE /leases/{lease_id}',
    'DELETE /lease-series/{series_id}',
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
def allowed(admin, person):
    """Return what somebody may do with what the project has."""
    host = admin('POST', '/os-hosts', {'name': 'h1', 'gpu': 'A100'})

    def walk(who, project):
        owner = person(project, 'admin', 'member', 'reader')
        found = set()
        for path, actions in routes.ROUTES.items():
            if path in test_routes.OPEN:
                continue
            path = path.removeprefix('/v1')
            for method in actions:
                # What is deleted is no more there for the next.
                lease = owner.lease(
                    reservations=[], repeat={'every': 'P1D', 'count': 1}
                )
                filled = path.format(
                    lease_id=lease['id'],
                    series_id=lease['series_id'],
                    name='gpu',
                    host_id=host.json['host']['id'],
                )
                answer = who(
                    method,
                    filled + test_routes.QUERIES.get(path, ''),
                    test_routes.BODIES.get((method, path)),
                )
                # To whoever may not see it, a lease is not there; one that
                # may be shared has no such reservation.
                if answer.status_int != 403 and not (
                    answer.status_int == 404 and 'Lease' in answer.text
                ):
                    found.add(f'{method} {path}')
        return found

    return walk


@pytest.mark.parametrize('recipe', ['members-browse'], indirect=True)
def test_members_browse(recipe, allowed, person, admin):
    member = person('ours', 'member', 'reader')
    assert allowed(member, 'ours') == LOOKS
    assert WRITES <= allowed(admin, 'ours')


@pytest.mark.parametrize('recipe', ['teachers-create'], indirect=True)
def test_teachers_create_and_students_look(recipe, allowed, person):
    teacher = person('ours', 'teacher', 'member', 'reader')
    assert allowed(teacher, 'ours') == LOOKS | WRITES
    assert allowed(person('ours', 'member', 'reader'), 'ours') == LOOKS
    # A teacher of one project is none of another.
    assert not allowed(teacher, 'theirs') & {
        'GET /leases/{lease_id}',
        'PUT /leases/{lease_id}',
        'DELETE /leases/{lease_id}',
        'POST /leases/{lease_id}/action',
    }


@pytest.mark.parametrize('recipe', ['teachers-create'], indirect=True)
def test_a_class_is_shared_with_projects_of_students(
    recipe, person, admin, monkeypatch
):
    monkeypatch.setattr(identity, 'verify_project_id', lambda *_: True)
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


@pytest.mark.parametrize('recipe', ['teachers-create'], indirect=True)
@pytest.mark.parametrize('kind', ['best_effort', 'retry'])
def test_teachers_ask_for_what_is_there(recipe, person, kind):
    teacher = person('ours', 'teacher', 'member', 'reader')
    body = test_routes.BODIES['POST', '/leases'] | {'lease_type': kind}
    assert teacher('POST', '/leases', body).status_int == 403


@pytest.mark.parametrize('recipe', ['finance-reads'], indirect=True)
def test_finance_reads(recipe, allowed, person):
    clerk = person('finance', 'finance')
    assert allowed(clerk, 'ours') == READS | {
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
