# SPDX-License-Identifier: Apache-2.0
import re

import pytest

from nova_reservations import policies
from nova_reservations.api import routes
from nova_reservations.tests import permissions


def documented():
    """Return the method and path of every operation that has a rule."""
    return {
        (operation['method'], operation['path'].partition('?')[0])
        for rule in policies.list_rules()
        for operation in rule.operations
    }


def test_every_route_has_a_documented_rule_and_no_rule_is_left_over():
    assert documented() == {
        (method, f'{routes.MOUNT}{path}')
        for path, actions in routes.ROUTES.items()
        for method in actions
        if path not in permissions.OPEN
    }


def test_routes_and_rules_all_say_who_is_let_in():
    asked = {
        (request.method, f'{routes.MOUNT}/v1{request.path}')
        for requests in permissions.REQUESTS.values()
        for request in requests
    }
    rules = {rule.name for rule in policies.list_rules()}
    said = {
        *permissions.REQUESTS,
        *map(permissions.of_created, permissions.CREATED),
        *permissions.SEEN,
    }
    assert (documented() - asked, rules ^ said) == (set(), set()), (
        'tests/permissions.py must have a request for each of them'
    )


@pytest.mark.parametrize('rule', permissions.REQUESTS)
def test_a_rule_documents_what_it_decides_about(rule):
    [found] = (each for each in policies.list_rules() if each.name == rule)
    operations = {
        (operation['method'], operation['path'].partition('?')[0])
        for operation in found.operations
    }
    asked = {
        (request.method, f'{routes.MOUNT}/v1{request.path}')
        for request in permissions.REQUESTS[rule]
    }
    assert asked <= operations


@pytest.mark.parametrize(
    'rule', policies.list_rules(), ids=lambda rule: rule.name
)
def test_every_rule_is_of_a_project_and_says_what_it_is_for(rule):
    assert rule.scope_types == ['project']
    assert rule.description
    assert re.fullmatch(
        'reservations:(leases|limits|hosts|floatingips|networks|resources|demand|usage)'
        '(:[a-z_]+)+',
        rule.name,
    )
