# SPDX-License-Identifier: Apache-2.0
"""Limits of the tokens of ours that Heat may have.

Decision 0058: doc/source/decisions/0058-stacks
"""

from collections.abc import Collection

from nova_reservations import exception
from nova_reservations import ports

WIDER = frozenset({'admin', 'manager', 'service'})
"""Roles of keystone's own with which more is allowed than a member may."""

_WORKFLOWS = 'workflow'
"""How the types of Mistral's services begin in keystone's catalog."""


def wider(roles: Collection[str]) -> list[str]:
    """Return the roles that allow more than members may do."""
    return sorted(role for role in roles if role.lower() in WIDER)


def are_handed_on(services: Collection[str]) -> bool:
    """Return whether a stack may give them to its owner: Heat has a workflow
    run by who asks for the stack, and keystone gives who has a token of a
    project one of any other of its user's."""
    return any(each.startswith(_WORKFLOWS) for each in services)


def why_not(stacks: ports.Stacks, project_id: str) -> str | None:
    """Return why Heat may have no token of a project; None: it may.

    :raises: CloudUnavailable
    """
    standing = stacks.standing_in(project_id)
    if standing is None:
        return '[service_user] of Nova has no role in it'
    found = wider(standing.roles)
    if found:
        return (
            '[service_user] of Nova may do more in it than its members, '
            f'by role {", ".join(found)}'
        )
    if are_handed_on(standing.services):
        return (
            'this cloud has Mistral, whose workflows could do all that '
            '[service_user] of Nova may'
        )
    return None


def check(stacks: ports.Stacks, project_id: str) -> None:
    """Refuse what would have Heat do something with a token of a project.

    :raises: CloudRefused, CloudUnavailable
    """
    reason = why_not(stacks, project_id)
    if reason is not None:
        raise exception.CloudRefused(what='A stack', reason=reason)
