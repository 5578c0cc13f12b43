# SPDX-License-Identifier: Apache-2.0
import re

import pytest

from nova_reservations import policies
from nova_reservations.api import routes

# For whoever has a token.
OPEN = ('/', '/versions', '/v1', '/v1/openapi.json')


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
        if path not in OPEN
    }


@pytest.mark.parametrize(
    'rule', policies.list_rules(), ids=lambda rule: rule.name
)
def test_every_rule_is_of_a_project_and_says_what_it_is_for(rule):
    assert rule.scope_types == ['project']
    assert rule.description
    assert re.fullmatch(
        'reservations:(leases|limits|hosts|demand)(:[a-z_]+)+', rule.name
    )
