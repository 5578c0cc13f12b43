# SPDX-License-Identifier: Apache-2.0
"""The upgrade check of Heat, for clouds where stacks can be leased."""

from collections.abc import Collection
from collections.abc import Iterator

from nova_reservations import exception
from nova_reservations import ports
from nova_reservations.engine.audit import stack_audit
from nova_reservations.types.heat import stack_parts
from nova_reservations.types.heat import stack_tokens


def failures(cloud: ports.Cloud, types: Collection[str]) -> Iterator[str]:
    """Yield why stacks can't be created in any project.

    :param types: the resource types that are switched on
    """
    if stack_audit.STACK not in types:
        return
    if stack_parts.SLOTS not in types:
        yield (
            f'[reservations] resource_types has {stack_audit.STACK} and lacks '
            f'{stack_parts.SLOTS}, of which the servers of stacks are: add it.'
        )
        return
    try:
        roles = cloud.stacks.inherited_roles()
        services = cloud.stacks.services()
    except exception.CloudUnavailable as error:
        yield str(error)
        return
    wider = stack_tokens.wider(roles)
    if wider:
        yield (
            'Projects inherit a role of the user in [service_user] with which '
            'stacks could do what their owners may not, so that none is made: '
            f'{", ".join(wider)}. Give it member instead: openstack role '
            'remove --inherited, and add --inherited'
        )
    if stack_tokens.are_handed_on(services):
        yield (
            'This cloud has Mistral, so that no stack is made: a workflow '
            "that a stack's owner has put into it could do all that "
            f'[service_user] may. Take {stack_audit.STACK} out of '
            '[reservations] resource_types.'
        )


def warnings(cloud: ports.Cloud, types: Collection[str]) -> Iterator[str]:
    """Yield a warning if stacks can't be created in most projects."""
    if stack_audit.STACK in types and not cloud.stacks.inherited_roles():
        yield (
            'The user in [service_user] has no role that projects inherit, '
            'so that stacks can be leased in no project but those in which '
            'it has one: openstack role add --inherited --domain DOMAIN '
            '--user USER member'
        )
