# SPDX-License-Identifier: Apache-2.0
"""Every policy rule, as data."""

from oslo_policy import policy

from nova_reservations.policies import demand
from nova_reservations.policies import floatingips
from nova_reservations.policies import hosts
from nova_reservations.policies import leases
from nova_reservations.policies import limits
from nova_reservations.policies import networks
from nova_reservations.policies import resources
from nova_reservations.policies import usage


def list_rules() -> list[policy.DocumentedRuleDefault]:
    """Return the rules, for Nova's enforcer and
    oslopolicy-sample-generator."""
    return [
        *leases.RULES,
        *limits.RULES,
        *hosts.RULES,
        *floatingips.RULES,
        *networks.RULES,
        *resources.RULES,
        *demand.RULES,
        *usage.RULES,
    ]
