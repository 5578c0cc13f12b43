# SPDX-License-Identifier: Apache-2.0
"""Leases of others with reservations that are shared with the caller's
project.

Decision 0042: doc/source/decisions/0042-shared-by-name
"""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
from typing import Any

from oslo_utils import uuidutils

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.api.request import LeaseRequest
from nova_reservations.api.views import leases as view
from nova_reservations.policies import leases as policies


def check_listed(req: LeaseRequest, query: Mapping[str, Any]) -> None:
    """Check that the caller may list shared leases.

    :raises: PolicyNotAuthorized, InvalidInput
    """
    req.check(policies.INDEX_SHARED)
    if 'project_id' in query:
        raise exception.InvalidInput(
            'shared lists what is shared with the own project: project_id '
            'does not go with it'
        )


def view_of(
    req: LeaseRequest,
) -> Callable[[Collection[objects.Lease]], list[dict[str, Any]]]:
    """Return the view of shared leases; a lease that is no longer shared is
    left out."""

    def show_all(found: Collection[objects.Lease]) -> list[dict[str, Any]]:
        shared = req.services.sharing.shared_with(
            req.context.project_id, [lease.id for lease in found]
        )
        return [
            view.show_shared(lease, shared[lease.id])
            for lease in found
            if lease.id in shared
        ]

    return show_all


def show(
    req: LeaseRequest, lease_id: str, missing: exception.NotFound
) -> dict[str, Any]:
    """Return the view of another project's lease for the caller's project.

    :raises: missing, if nothing of it is shared with the project
    """
    if not (
        uuidutils.is_uuid_like(lease_id) and req.may(policies.SHOW_SHARED)
    ):
        raise missing
    shown = view_of(req)([req.services.leases.get(lease_id)])
    if not shown:
        raise missing
    return shown[0]
