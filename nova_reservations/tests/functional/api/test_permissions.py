# SPDX-License-Identifier: Apache-2.0
"""Each route and each rule, asked by each kind of person."""

import itertools
import json

from nova import policy as nova_policy
from nova.api import auth
from nova.api.openstack import identity
from oslo_policy import policy as oslo_policy
import pytest
import webob

from nova_reservations.api import routes
from nova_reservations.testing import fake_networks
from nova_reservations.tests import permissions
from nova_reservations.tests.functional.api import conftest
from nova_reservations.tests.functional.api import test_offers

PERSONS = ('nobody', 'service', 'reader', 'stranger', 'member', 'admin')
"""Those who may less come first: what they ask for is there all the same."""

EVERY = [
    pytest.param(rule, request, id=f'{rule} {request.method} {request.path}')
    for rule, requests in permissions.REQUESTS.items()
    for request in requests
]


@pytest.fixture(autouse=True)
def _keystone(monkeypatch):
    """A keystone that knows all projects."""
    monkeypatch.setattr(
        identity, 'verify_project_id', lambda context, project_id: True
    )


@pytest.fixture
def persons(app, admin, member, reader, stranger, nobody):
    return {
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
    """Make a request for a host, an address, and for a lease that is new each
    time."""
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
    # One is left for who asks for a lease.
    admin('POST', '/os-hosts', {'name': 'h3'})

    days = itertools.count(1)

    def ask(person, request):
        lease = {'id': '', 'series_id': ''}
        if '{lease_id}' in request.path or '{series_id}' in request.path:
            repeat = {'every': 'P1D', 'count': 1}
            lease = member.lease(
                reservations=test_offers.hosts(1)
                if '{reservation_id}' in json.dumps(request.body)
                else [],
                repeat=repeat,
                # There is a host for each.
                start_date=f'2030-06-{next(days):02} 10:00',
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
        return person(request.method, path + request.query, body)

    return ask


@pytest.mark.parametrize(('rule', 'request_'), EVERY)
def test_who_is_let_in_by_default(persons, ask, rule, request_):
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
def closed(ask):
    """Have a rule let nobody in, as policy.yaml can."""

    def close(rule):
        closed = oslo_policy.Rules.from_dict({rule: '!'})
        nova_policy.set_rules(closed, overwrite=False)

    yield close
    nova_policy.reset()


@pytest.mark.parametrize(('rule', 'request_'), EVERY)
def test_a_rule_that_lets_nobody_in_refuses_administrators_too(
    persons, ask, closed, rule, request_
):
    closed(rule)
    answer = ask(persons['admin'], request_)
    assert answer.status_int in ((403, 404) if request_.hidden else (403,))


def test_who_has_no_token_gets_as_far_as_novas_own_check(app):
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
