# SPDX-License-Identifier: Apache-2.0
"""Segments of physical networks that can be leased as networks; for operators
only, in the format of Chameleon's Blazar and its clients."""

from typing import Any

from nova_reservations.api.action import served
from nova_reservations.api.request import LeaseRequest
from nova_reservations.api.schemas import networks as schemas
from nova_reservations.api.schemas import parameters
from nova_reservations.api.views import networks as view
from nova_reservations.objects import segment as segments
from nova_reservations.policies import networks as policies


@served(response=schemas.INDEX_RESPONSE)
def index(req: LeaseRequest) -> dict[str, Any]:
    req.context.can(policies.INDEX)
    return {
        'networks': [
            view.show(each)
            for each in req.services.places.find(segments.NETWORK)
        ]
    }


@served(response=schemas.SHOW_RESPONSE, refusals=(404,))
def show(req: LeaseRequest, network_id: str) -> dict[str, Any]:
    req.context.can(policies.SHOW)
    found = req.services.places.get(segments.NETWORK, network_id)
    return {'network': view.show(found)}


@served(
    201, body=schemas.CREATE, response=schemas.SHOW_RESPONSE, refusals=(409,)
)
def create(req: LeaseRequest, body: dict[str, Any]) -> dict[str, Any]:
    req.context.can(policies.CREATE)
    properties = {
        name: str(value)
        for name, value in parameters.given(body).items()
        if name not in segments.FACTS
    }
    enrolled = req.services.places.enrol(
        segments.NETWORK, body, req.now(), properties
    )
    return {'network': view.show(enrolled)}


@served(204, refusals=(404, 409))
def delete(req: LeaseRequest, network_id: str) -> None:
    req.context.can(policies.DELETE)
    req.services.places.remove(segments.NETWORK, network_id)
