# SPDX-License-Identifier: Apache-2.0
"""Our policy rules in Nova's enforcer, and so in Nova's policy.yaml."""

from collections.abc import Callable
import itertools
from typing import Any

from nova import policies as nova_policies
from nova import policy as nova_policy
import wrapt

from nova_reservations import policies


def register() -> None:
    """Register the rules; may be called again.

    Nova creates its enforcer at the first use, and again after a reset, from
    the rules that it lists at that time. If an enforcer exists already, the
    rules are added to it here.
    """
    if not isinstance(nova_policies.list_rules, wrapt.FunctionWrapper):
        wrapt.wrap_function_wrapper(nova_policies, 'list_rules', _with_ours)
    enforcer = nova_policy._ENFORCER
    if enforcer is not None:
        enforcer.register_defaults(
            rule
            for rule in policies.list_rules()
            if rule.name not in enforcer.registered_rules
        )


def _with_ours(
    wrapped: Callable[[], Any], _instance: Any, _args: Any, _kwargs: Any
) -> Any:
    return itertools.chain(wrapped(), policies.list_rules())
