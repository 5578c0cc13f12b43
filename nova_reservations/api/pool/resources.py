# SPDX-License-Identifier: Apache-2.0
"""Resources other than hosts: operators add them, and members see how much of
them is free.

They belong to no project; policy rules are checked as for hosts.
"""

from collections.abc import Mapping
from typing import Any

from nova_reservations import objects
from nova_reservations.api import listing
from nova_reservations.api.action import Action
from nova_reservations.api.action import served
from nova_reservations.api.pool import kinds
from nova_reservations.api.request import LeaseRequest
from nova_reservations.api.schemas import hosts as host_schemas
from nova_reservations.api.schemas import parameters
from nova_reservations.api.schemas import resources as schemas
from nova_reservations.api.views import resources as view
from nova_reservations.policies import resources as policies


def _type_of(req: LeaseRequest, query: Mapping[str, str]) -> str:
    """:raises: InvalidInput for hosts, and for a type that there is not"""
    asked = query['resource_type']
    req.services.resources.check_type(asked)
    return asked


KIND = kinds.Kind(
    'Resource',
    'resources',
    'name',
    policies,
    _type_of,
    lambda req, key: req.services.resources.remove(key),
)


@served(query=schemas.INDEX, response=schemas.INDEX_RESPONSE)
def index(req: LeaseRequest, query: dict[str, str]) -> listing.Listing:
    req.context.can(policies.INDEX)
    limit, beyond = listing.limit_of(query)
    found = req.services.resources.find(
        objects.ResourceQuery(
            query['resource_type'],
            query.get('name'),
            limit=beyond,
            marker=int(query.get('marker', 0)),
        )
    )
    return KIND.page(req, query, map(view.show, found), limit)


@served(response=schemas.SHOW_RESPONSE, refusals=(404,))
def show(req: LeaseRequest, resource_id: str) -> dict[str, Any]:
    req.context.can(policies.SHOW)
    key = KIND.key_of(resource_id)
    service = req.services.resources
    allocated = service.allocations(key, req.now())
    return {'resource': view.in_full(service.get(key), allocated)}


@served(
    201,
    body=schemas.CREATE,
    response=schemas.CHANGED_RESPONSE,
    refusals=(409,),
)
def create(req: LeaseRequest, body: dict[str, Any]) -> dict[str, Any]:
    req.context.can(policies.CREATE)
    body = parameters.given(body)
    added = req.services.resources.add(
        body['resource_type'],
        body['name'],
        req.now(),
        body.get('inventories', {}),
        {
            name: str(value)
            for name, value in body.get('properties', {}).items()
        },
        body.get('uuid'),
    )
    return {'resource': view.show(added)}


@served(
    body=schemas.UPDATE, response=schemas.CHANGED_RESPONSE, refusals=(404, 409)
)
def update(
    req: LeaseRequest, resource_id: str, body: dict[str, Any]
) -> dict[str, Any]:
    req.context.can(policies.UPDATE)
    key, now = KIND.key_of(resource_id), req.now()
    service = req.services.resources
    changed = service.update(
        key,
        now,
        body.get('inventories', {}),
        {
            name: None if value is None else str(value)
            for name, value in body.get('properties', {}).items()
        },
    )
    if 'cordoned' in body:
        act = service.cordon if body['cordoned'] else service.uncordon
        changed = act(key, now)
    return {'resource': view.show(changed)}


delete = Action(KIND.delete, 204, refusals=(404, 409))

allocations = Action(
    KIND.allocations,
    query=schemas.ALLOCATIONS,
    response=schemas.ALLOCATIONS_RESPONSE,
)


@served(query=schemas.CAPACITY, response=schemas.CAPACITY_RESPONSE)
def capacity(req: LeaseRequest, query: dict[str, str]) -> dict[str, Any]:
    req.check(policies.CAPACITY)
    now = req.now()
    found = req.services.resources.capacity(
        query['resource_type'],
        *kinds.steps(query, now),
        now,
        query.get('resource_class'),
        query.get('resource_properties'),
    )
    return {'capacity': [view.capacity(point) for point in found]}


calendar = Action(
    KIND.calendar, query=schemas.CALENDAR, response=schemas.CALENDAR_RESPONSE
)


properties = Action(
    KIND.properties,
    query=schemas.PROPERTIES,
    response=host_schemas.PROPERTIES_RESPONSE,
)
