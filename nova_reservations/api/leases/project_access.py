# SPDX-License-Identifier: Apache-2.0
"""Access of other projects to shared reservations.

Decision 0042: doc/source/decisions/0042-shared-by-name
"""

from collections.abc import Collection
from collections.abc import Mapping
from typing import Any

from nova.api.openstack import identity

from nova_reservations.api.action import served
from nova_reservations.api.leases import leases
from nova_reservations.api.request import LeaseRequest
from nova_reservations.api.schemas import project_access as schemas
from nova_reservations.policies import leases as policies


@served(response=schemas.INDEX_RESPONSE, refusals=(404,))
def index(req: LeaseRequest, lease_id: str) -> dict[str, Any]:
    lease = leases.visible(req, lease_id)
    req.check(policies.ACCESS_INDEX, lease.project_id)
    return _shown(req.services.sharing.of(lease))


@served(
    body=schemas.ACTION, response=schemas.INDEX_RESPONSE, refusals=(404, 409)
)
def action(
    req: LeaseRequest, lease_id: str, body: dict[str, Any]
) -> dict[str, Any]:
    lease = leases.visible(req, lease_id)
    [(name, asked)] = body.items()
    service = req.services.sharing
    if name == 'addProjectAccess':
        req.check(policies.ACCESS_ADD, lease.project_id)
        identity.verify_project_id(req.context, asked['project'])
        change = service.add
    else:
        req.check(policies.ACCESS_REMOVE, lease.project_id)
        # The project is not verified: it may be deleted in keystone.
        change = service.remove
    return _shown(
        change(lease_id, asked['reservation_id'], asked['project'], req.now())
    )


def _shown(found: Mapping[str, Collection[str]]) -> dict[str, Any]:
    return {
        'project_access': [
            {'reservation_id': reservation_id, 'project_id': project_id}
            for reservation_id, projects in found.items()
            for project_id in projects
        ]
    }
