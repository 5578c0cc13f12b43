# SPDX-License-Identifier: Apache-2.0
"""Addresses that can be leased as floating IPs.

They belong to no project. Users see the addresses of the external networks
that their project sees, but not who has leased them.
"""

from typing import Any

from nova_reservations.api.action import served
from nova_reservations.api.request import LeaseRequest
from nova_reservations.api.schemas import floatingips as schemas
from nova_reservations.api.views import floatingips as view
from nova_reservations.objects import address as addresses
from nova_reservations.policies import floatingips as policies


@served(response=schemas.INDEX_RESPONSE)
def index(req: LeaseRequest) -> dict[str, Any]:
    req.check(policies.INDEX)
    return {
        'floatingips': [
            view.show(address)
            for address in req.services.places.find(
                addresses.FLOATING_IP, _seen_by(req)
            )
        ]
    }


@served(response=schemas.SHOW_RESPONSE, refusals=(404,))
def show(req: LeaseRequest, floatingip_id: str) -> dict[str, Any]:
    req.check(policies.SHOW)
    found = req.services.places.get(
        addresses.FLOATING_IP, floatingip_id, _seen_by(req)
    )
    return {'floatingip': view.show(found)}


@served(
    201,
    body=schemas.CREATE,
    response=schemas.SHOW_RESPONSE,
    refusals=(404, 409),
)
def create(req: LeaseRequest, body: dict[str, Any]) -> dict[str, Any]:
    req.context.can(policies.CREATE)
    enrolled = req.services.places.enrol(
        addresses.FLOATING_IP, body, req.now()
    )
    return {'floatingip': view.show(enrolled)}


@served(204, refusals=(404, 409))
def delete(req: LeaseRequest, floatingip_id: str) -> None:
    req.context.can(policies.DELETE)
    req.services.places.remove(addresses.FLOATING_IP, floatingip_id)


def _seen_by(req: LeaseRequest) -> str | None:
    """Return the project to whose networks the list is limited; None: all
    networks are shown."""
    if req.context.can(policies.ALL_NETWORKS, fatal=False):
        return None
    # A token without a project must not see all networks.
    return req.context.project_id or ''
