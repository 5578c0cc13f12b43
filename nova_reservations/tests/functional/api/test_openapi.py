# SPDX-License-Identifier: Apache-2.0
import json
from typing import ClassVar

import jsonschema
import pytest

from nova_reservations.api import routes
from nova_reservations.tests.functional.api import conftest
from nova_reservations.types import base

OPERATIONS = [
    (path, method)
    for path, actions in routes.ROUTES.items()
    for method in actions
]


def operation(path, method):
    return conftest.document()['paths'][path][method.lower()]


def walk(part):
    """Yield every key of the document with its value."""
    for key, value in part.items() if isinstance(part, dict) else ():
        yield key, value
        yield from walk(value)
    for value in part if isinstance(part, list) else ():
        yield from walk(value)


def test_whoever_has_a_token_may_read_it(nobody):
    answer = nobody('GET', '/openapi.json')
    assert answer.status_int == 200
    assert answer.json['servers'] == [
        {'url': 'http://localhost/v2.1/os-reservations'}
    ]
    assert {**answer.json, 'servers': None} == {
        **json.loads(json.dumps(conftest.document())),
        'servers': None,
    }


@pytest.mark.parametrize(('path', 'method'), OPERATIONS)
def test_every_route_is_described(path, method):
    described = operation(path, method)
    assert described['summary'].endswith('.')
    assert described['description']
    action = routes.ROUTES[path][method]
    assert ('requestBody' in described) == (action.body is not None)
    assert str(action.status) in described['responses']


def test_nothing_else_is_described():
    assert {
        (path, method.upper())
        for path, its in conftest.document()['paths'].items()
        for method in its
    } == set(OPERATIONS)


def test_every_name_of_an_operation_is_its_own():
    names = [operation(*each)['operationId'] for each in OPERATIONS]
    assert len(set(names)) == len(names)


def test_every_reference_leads_somewhere():
    for key, value in walk(conftest.document()):
        if key == '$ref':
            found = conftest.document()
            for part in value.removeprefix('#/').split('/'):
                found = found[part]
            assert found


def test_every_schema_is_one():
    for key, value in walk(conftest.document()):
        if key == 'schema':
            jsonschema.Draft202012Validator.check_schema(value)


def test_patterns_are_those_of_json_schema():
    patterns = {
        value for key, value in walk(conftest.document()) if key == 'pattern'
    }
    assert patterns
    assert not [each for each in patterns if '\\A' in each or '\\Z' in each]


def test_a_policy_is_named_with_its_default():
    described = operation('/v1/leases/{lease_id}', 'DELETE')['description']
    assert described == (
        'Policy `reservations:leases:delete`, by default '
        '`rule:project_member_or_admin`: Delete a lease, or a series of '
        'leases.'
    )


class Moon(base.ResourceType):
    schema: ClassVar = {
        'properties': {'phase': {'type': 'string'}},
        'required': ['phase'],
        'additionalProperties': False,
    }
    update_schema: ClassVar = {'additionalProperties': False}


def test_a_lease_can_ask_for_each_type_of_resource(services, member):
    services.means.types['virtual:moon'] = Moon
    schemas = member('GET', '/openapi.json').json['components']['schemas']
    of_host, of_moon = schemas['NewReservation']['anyOf']
    assert of_moon['required'] == ['resource_type', 'phase']
    assert of_moon['properties']['resource_type'] == {'const': 'virtual:moon'}
    assert of_host['properties']['resource_type'] == {'const': 'physical:host'}


def test_a_creation_leads_to_what_can_be_done_with_the_host(admin):
    host = admin('POST', '/os-hosts', {'name': 'h1'})
    responses = operation('/v1/os-hosts', 'POST')['responses']
    links = responses['201']['links']
    assert set(links) == {
        'get_os_hosts_host_id',
        'put_os_hosts_host_id',
        'delete_os_hosts_host_id',
        'get_os_hosts_host_id_allocation',
        'post_os_hosts_host_id_action',
    }
    for link in links.values():
        assert link['parameters'] == {'host_id': '$response.body#/host/id'}
    assert host.json['host']['id'] == '1'
