# SPDX-License-Identifier: Apache-2.0
"""Of all that is refused, what can not be granted has a status of its own for
clients of leases."""

from oslo_config import cfg
import pytest

from nova_reservations import conf
from nova_reservations import exception
from nova_reservations.api import cases
from nova_reservations.engine.leases import refusal_counts

OTHERS = [
    case
    for cause, case in cases.CASES.items()
    if cause not in (exception.NotEnoughResources, exception.OverLimit)
]


@pytest.fixture
def options():
    options = cfg.ConfigOpts()
    conf.register_opts(options)
    options([])
    return options


@pytest.mark.parametrize(
    ('cause', 'elsewhere'),
    [(exception.NotEnoughResources, 409), (exception.OverLimit, 403)],
)
def test_a_lease_that_can_not_be_granted_is_400_where_it_is_asked_for(
    options, cause, elsewhere
):
    case = cases.CASES[cause]
    assert cases.where_asked(case, options) == 400
    assert case.status == elsewhere


@pytest.mark.parametrize('case', list(cases.CASES.values()))
def test_the_option_makes_statuses_the_same_everywhere(options, case):
    options.set_override('refusal_statuses', 'distinct', 'reservations')
    assert cases.where_asked(case, options) == case.status


@pytest.mark.parametrize('case', OTHERS)
def test_states_races_and_policy_keep_their_statuses(options, case):
    assert cases.where_asked(case, options) == case.status


def test_clients_and_operators_read_the_same_kinds():
    for cause, reason in refusal_counts.REASONS.items():
        assert cases.CASES[cause].kind == reason
