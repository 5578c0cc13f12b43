# SPDX-License-Identifier: Apache-2.0
"""The leases that somebody may create, and for which projects."""

from collections.abc import Collection
from collections.abc import Iterable
from typing import Any

from nova.api.openstack import identity

from nova_reservations.objects import states
from nova_reservations.policies import leases as policies


def project_of(context: Any, asked: str | None) -> str:
    """Return the project that a lease is asked for.

    :param asked: the project that the request names, if it names one
    :raises: PolicyNotAuthorized
    :raises: webob.exc.HTTPBadRequest if keystone says that there is none
    """
    own: str = context.project_id
    if asked in (None, own):
        return own
    context.can(policies.CREATE_ALL_PROJECTS, target={'project_id': asked})
    identity.verify_project_id(context, asked)
    return asked


def check_resource_types(context: Any, names: Iterable[str]) -> None:
    """:param names: of types that are switched on

    :raises: PolicyNotAuthorized
    """
    _check(context, sorted(set(names)))


def check_lease_types(
    context: Any, types: Collection[states.LeaseType]
) -> None:
    """:raises: PolicyNotAuthorized"""
    _check(context, sorted(types))


def _check(context: Any, kinds: Iterable[str]) -> None:
    # As it is for whoever creates: for whom has a rule of its own.
    target = {'project_id': context.project_id}
    for kind in kinds:
        context.can(policies.create_of(kind), target=target)
