# SPDX-License-Identifier: Apache-2.0
"""Checks whether Heat may have a token of our service user.

Decision 0058: doc/source/decisions/0058-stacks
"""

from collections.abc import Collection
from collections.abc import Iterator

from nova_reservations import exception
from nova_reservations import ports

WIDER = frozenset({'admin', 'manager', 'service'})
"""Keystone's default roles that allow more than a member may do."""

_WORKFLOWS = 'workflow'
"""Prefix of the types of Mistral's services in keystone's catalog."""


def wider(roles: Collection[str]) -> list[str]:
    """Return the roles that allow more than members may do."""
    return sorted(role for role in roles if role.lower() in WIDER)


def are_handed_on(services: Collection[str]) -> bool:
    """Return whether a stack could hand our token on to its owner.

    Heat runs a Mistral workflow as the user who asked for the stack. With a
    token of one project, keystone issues tokens of all other projects of its
    user."""
    return any(each.startswith(_WORKFLOWS) for each in services)


def why_not(stacks: ports.Stacks, project_id: str) -> str | None:
    """Return why Heat may not have our token for a project; None: it may.

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
    """Refuse to let Heat act with our token for a project, if it may not.

    :raises: CloudRefused, CloudUnavailable
    """
    reason = why_not(stacks, project_id)
    if reason is not None:
        raise exception.CloudRefused(what='A stack', reason=reason)


def failures(stacks: ports.Stacks) -> Iterator[str]:
    """Yield why Heat may have our token in no project."""
    try:
        found = wider(stacks.inherited_roles())
        services = stacks.services()
    except exception.CloudUnavailable as error:
        yield str(error)
        return
    if found:
        yield (
            'Projects inherit a role of the user in [service_user] with which '
            'stacks could do what their owners may not, so that none is made: '
            f'{", ".join(found)}. Give it member instead: openstack role '
            'remove --inherited, and add --inherited'
        )
    if are_handed_on(services):
        yield (
            'This cloud has Mistral, so that no stack is made: a workflow '
            "that a stack's owner has put into it could do all that "
            '[service_user] may. Take virtual:stack out of [reservations] '
            'resource_types.'
        )


def warnings(stacks: ports.Stacks) -> Iterator[str]:
    """Yield a warning if there is no token for most projects."""
    if not stacks.inherited_roles():
        yield (
            'The user in [service_user] has no role that projects inherit, '
            'so that stacks can be leased in no project but those in which '
            'it has one: openstack role add --inherited --domain DOMAIN '
            '--user USER member'
        )
