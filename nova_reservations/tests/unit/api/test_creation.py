# SPDX-License-Identifier: Apache-2.0
"""Each type of lease or resource has its own policy rule."""

import datetime
from importlib import metadata

import pytest

from nova_reservations.api.leases import creation
from nova_reservations.engine.booking import lease_requests
from nova_reservations.objects import names
from nova_reservations.objects import states
from nova_reservations.policies import leases as policies

NOON = datetime.datetime(2030, 1, 1, 12, tzinfo=datetime.UTC)
RESOURCE_TYPES = sorted(
    metadata.entry_points(group=names.RESOURCE_TYPES).names
)


class Context:
    """The requester, whom all rules admit; records the rules."""

    project_id = 'ours'

    def __init__(self):
        self.asked = []

    def can(self, rule, target):
        self.asked.append((rule, target))


def asked(*resource_types, lease_type=None):
    return lease_requests.NewLease(
        name='mine',
        project_id='theirs',
        user_id='user',
        start=NOON,
        end=NOON,
        before_end=None,
        reservations=tuple(
            lease_requests.NewReservation(kind, {}) for kind in resource_types
        ),
        lease_type=lease_type,
    )


def judged_by(lease, repeated=False):
    """Return the rules that are checked for a request for a lease."""
    context = Context()
    creation.check_types(context, lease, NOON, repeated)
    assert {target['project_id'] for _, target in context.asked} == {'ours'}
    return {rule for rule, _ in context.asked}


IMMEDIATE = 'reservations:leases:create:immediate'


@pytest.mark.parametrize('kind', RESOURCE_TYPES)
def test_a_reservation_is_judged_by_the_rule_of_its_type(kind):
    rule = f'reservations:leases:create:{kind}'
    assert judged_by(asked(kind)) == {rule, IMMEDIATE}
    assert rule in {each.name for each in policies.RULES}


def test_a_lease_of_several_types_is_judged_by_the_rules_of_all():
    rules = {policies.create_of(kind) for kind in RESOURCE_TYPES}
    assert judged_by(asked(*RESOURCE_TYPES)) == {*rules, IMMEDIATE}


@pytest.mark.parametrize('kind', states.LeaseType)
def test_a_lease_is_judged_by_the_rule_of_its_own_type(kind):
    rule = f'reservations:leases:create:{kind}'
    assert judged_by(asked(lease_type=kind)) == {rule}
    assert rule in {each.name for each in policies.RULES}


def test_a_series_that_begins_now_is_judged_by_the_rules_of_both():
    assert judged_by(asked(), repeated=True) == {
        IMMEDIATE,
        'reservations:leases:create:scheduled',
    }
