# SPDX-License-Identifier: Apache-2.0
"""Requests of each kind of person to each route, and for each rule."""

import datetime
import itertools
import json
from typing import ClassVar

from nova import policy as nova_policy
from nova.api import auth
from nova.api.openstack import identity
from oslo_policy import policy as oslo_policy
import pytest
import webob

from nova_reservations import objects
from nova_reservations.api import routes
from nova_reservations.db.leases import leases as rows
from nova_reservations.tests import permissions
from nova_reservations.tests.functional.api import conftest
from nova_reservations.tests.functional.api import server_requests
from nova_reservations.tests.functional.api import test_offers
from nova_reservations.types.neutron import fake_networks

PERSONS = (
    'nobody',
    'service',
    'managing',
    'reader',
    'stranger',
    'member',
    'manager',
    'admin',
)
"""Persons with fewer rights come first: their requests are refused, and leave
the objects for the others."""

EVERY = [
    pytest.param(rule, request, id=f'{rule} {request.method} {request.path}')
    for rule, requests in permissions.REQUESTS.items()
    for request in requests
]


_MEMBER = ('member', 'reader')


@pytest.fixture(autouse=True)
def _keystone(monkeypatch):
    """A keystone that knows all projects."""
    monkeypatch.setattr(
        identity, 'verify_project_id', lambda context, project_id: True
    )


@pytest.fixture
def persons(app, admin, member, reader, stranger, nobody):
    """In keystone the role manager implies member, and member implies reader;
    ``managing`` has the role manager alone."""
    return {
        'manager': conftest.Person(app, 'ours', 'manager', *_MEMBER),
        'managing': conftest.Person(app, 'ours', 'manager'),
        'admin': admin,
        'member': member,
        'reader': reader,
        'stranger': stranger,
        'nobody': nobody,
        'service': conftest.Person(app, 'service', 'service'),
    }


@pytest.fixture
def settings(settings):
    settings.set_override(
        'resource_types',
        ['physical:host', 'virtual:floatingip', 'virtual:network'],
        group='reservations',
    )
    return settings


@pytest.fixture
def ask(admin, member, cloud, licence_type):
    """Make a request about one of the objects made here, or about a lease that
    is new for each request."""
    external = fake_networks.external()
    cloud.networks_known[external.id] = external
    address = admin(
        'POST',
        '/floatingips',
        {
            'floating_network_id': external.id,
            'floating_ip_address': '203.0.113.101',
        },
    )
    network = admin(
        'POST',
        '/networks',
        {
            'network_type': 'vlan',
            'physical_network': 'physnet1',
            'segment_id': 101,
        },
    )
    host = admin('POST', '/os-hosts', {'name': 'h1', 'gpu': 'A100'})
    host_id = host.json['host']['id']
    licence = admin(
        'POST', '/resources', {'resource_type': licence_type, 'name': 'cad'}
    )
    # This host is for requests that create a lease.
    admin('POST', '/os-hosts', {'name': 'h3'})

    june = datetime.date(2030, 6, 1)
    days = (june + datetime.timedelta(n) for n in itertools.count())

    def ask(person, request):
        lease = {'id': '', 'series_id': ''}
        if '{lease_id}' in request.path or '{series_id}' in request.path:
            repeat = {'every': 'P1D', 'count': 1}
            lease = member.lease(
                reservations=test_offers.hosts(1)
                if 'ProjectAccess' in json.dumps(request.body)
                else [],
                repeat=repeat,
                # Each lease has a day of its own, on which a host is free.
                start_date=f'{next(days)} 10:00',
            )
        path = request.path.format(
            lease_id=lease['id'],
            series_id=lease['series_id'],
            name='gpu',
            host_id=host_id,
            floatingip_id=address.json['floatingip']['id'],
            network_id=network.json['network']['id'],
            resource_id=licence.json['resource']['id'],
        )
        body = request.body
        for reservation in lease.get('reservations', ()):
            text = json.dumps(body)
            body = json.loads(
                text.replace('{reservation_id}', reservation['id'])
            )
        if 'removeProjectAccess' in (body or {}):
            shared = {'addProjectAccess': body['removeProjectAccess']}
            member('POST', path, shared)
        return person(request.method, path + request.query, body)

    return ask


@pytest.mark.parametrize(('rule', 'request_'), EVERY)
def test_persons_let_in_by_default_are_those_of_the_rule(
    persons, ask, rule, request_
):
    for name in PERSONS:
        answer = ask(persons[name], request_)
        seen = (name, answer.status_int, answer.text)
        if name in request_.who:
            assert answer.status_int < 300, seen
        elif request_.hidden and name in ('stranger', 'service'):
            assert answer.status_int == 404, seen
        else:
            assert answer.status_int == 403, seen
            assert "Policy doesn't allow" in answer.json['error_message']


@pytest.fixture
def closed():
    """Let a rule admit nobody, as policy.yaml can."""

    def close(rule):
        closed = oslo_policy.Rules.from_dict({rule: '!'})
        nova_policy.set_rules(closed, overwrite=False)

    yield close
    nova_policy.reset()


@pytest.mark.parametrize(('rule', 'request_'), EVERY)
def test_a_rule_that_lets_nobody_in_refuses_administrators_too(
    ask, persons, closed, rule, request_
):
    closed(rule)
    answer = ask(persons['admin'], request_)
    assert answer.status_int in ((403, 404) if request_.hidden else (403,))


def test_a_request_without_a_token_gets_as_far_as_novas_own_check(app):
    guarded = auth.NovaKeystoneContext(app)
    for path, actions in routes.ROUTES.items():
        filled = path.format(
            lease_id=1,
            series_id=1,
            name='gpu',
            host_id=1,
            floatingip_id=1,
            network_id=1,
            resource_id=1,
        )
        for method in actions:
            request = webob.Request.blank(
                f'{routes.MOUNT}{filled}', method=method
            )
            request.script_name = '/v2.1'
            answer = request.get_response(guarded)
            assert (path, answer.status_int) == (path, 401)


class TestTypes:
    """Rules for types of leases, and for types of resources."""

    @pytest.fixture
    def settings(self, settings):
        settings.set_override(
            'resource_types',
            [
                kind
                for kind, asked in permissions.CREATED.items()
                if 'reservations' in asked
            ],
            group='reservations',
        )
        return settings

    @pytest.fixture
    def create(self, persons):
        def create(name, kind):
            return persons[name].send(
                'POST',
                '/os-reservations/v1/leases?dry_run=true',
                permissions.lease_of(kind),
            )

        return create

    @pytest.mark.parametrize('kind', permissions.CREATED)
    def test_whoever_may_create_may_create_any_by_default(self, create, kind):
        refused = {
            name for name in PERSONS if create(name, kind).status_int == 403
        }
        assert refused == {*PERSONS} - permissions.MEMBERS

    @pytest.mark.parametrize('kind', permissions.CREATED)
    def test_a_lease_of_a_kind_that_nobody_may_have_is_refused(
        self, create, closed, kind
    ):
        rule = permissions.of_created(kind)
        closed(rule)
        answer = create('admin', kind)
        assert answer.status_int == 403
        assert rule in answer.json['error_message']


@pytest.fixture
def lease(member, admin):
    admin('POST', '/os-hosts', {'name': 'h1'})
    return member.lease()


def seen(person, lease):
    """Return what somebody sees of a lease."""
    return person('GET', f'/leases/{lease["id"]}').json.get('lease', {})


@pytest.fixture
def hosts_of_a_lease(lease, workers):
    workers.work()
    return lambda person: any(
        'hosts' in each for each in seen(person, lease).get('reservations', ())
    )


@pytest.fixture
def names_in_a_reason(lease, services):
    reason = objects.Reason('a host', 'host h1 of theirs')
    row = services.leases.get(lease['id'])
    with services.database.writer() as session:
        rows.change(session, row, row.created_at, status_reason=reason)
    return lambda person: (
        'theirs' in seen(person, lease).get('status_reason', '')
    )


@pytest.fixture
def lease_of_others(lease, member):
    access = {
        'reservation_id': lease['reservations'][0]['id'],
        'project': 'theirs',
    }
    path = f'/leases/{lease["id"]}/action'
    member('POST', path, {'addProjectAccess': access})
    # The owner sees the name too, but also the project_id.
    return lambda person: (
        'project_id' not in seen(person, lease)
        and 'name' in seen(person, lease)
    )


@pytest.fixture
def network_of_others(admin, cloud):
    network = fake_networks.external()
    cloud.networks_known[network.id] = network
    cloud.network_projects[network.id] = {'elsewhere'}
    asked = {
        'floating_network_id': network.id,
        'floating_ip_address': '203.0.113.101',
    }
    admin('POST', '/floatingips', asked)
    return lambda person: bool(
        person('GET', '/floatingips').json.get('floatingips')
    )


class TestSeen:
    """Rules that hide parts of answers, and one that decides about another
    API."""

    FIXTURES: ClassVar = {
        'reservations:leases:show:hosts': 'hosts_of_a_lease',
        'reservations:leases:reason_in_full': 'names_in_a_reason',
        'reservations:leases:show:shared': 'lease_of_others',
        'reservations:floatingips:all_networks': 'network_of_others',
        'reservations:leases:create:virtual:server': 'server_with_a_lease',
    }
    """Rule -> the fixture that tells whether the rule admits a person."""

    @pytest.fixture
    def settings(self, settings):
        settings.set_override(
            'resource_types',
            [
                'physical:host',
                'virtual:floatingip',
                'virtual:instance',
                'virtual:server',
            ],
            group='reservations',
        )
        return settings

    @pytest.fixture
    def behind(self, cloud):
        return server_requests.Nova(cloud)

    @pytest.fixture
    def server_with_a_lease(self, admin):
        for host in conftest.HOSTS:
            admin('POST', '/os-hosts', {'name': host})
        return lambda person: server_requests.boot(person).status_int == 202

    @pytest.mark.parametrize('rule', permissions.SEEN)
    def test_by_whom_by_default(self, request, persons, rule):
        sees = request.getfixturevalue(self.FIXTURES[rule])
        assert {
            name for name, person in persons.items() if sees(person)
        } == permissions.SEEN[rule]

    @pytest.mark.parametrize('rule', permissions.SEEN)
    def test_by_nobody_where_the_rule_lets_nobody_in(
        self, request, persons, closed, rule
    ):
        sees = request.getfixturevalue(self.FIXTURES[rule])
        closed(rule)
        assert not any(map(sees, persons.values()))
