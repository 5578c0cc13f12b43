# SPDX-License-Identifier: Apache-2.0
"""Resources other than hosts: operators add them, and members see how much of
them is free.

They belong to no project; policy rules are checked as for hosts.
"""

from typing import Any

from oslo_utils import strutils

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.api import listing
from nova_reservations.api import request as api_request
from nova_reservations.api.action import Action
from nova_reservations.api.pool import calendar as calendars
from nova_reservations.api.pool import hosts
from nova_reservations.api.schemas import hosts as host_schemas
from nova_reservations.api.schemas import parameters
from nova_reservations.api.schemas import resources as schemas
from nova_reservations.api.views import hosts as host_view
from nova_reservations.api.views import resources as view
from nova_reservations.policies import resources as policies


def index(
    req: api_request.LeaseRequest, query: dict[str, str]
) -> dict[str, Any]:
    req.context.can(policies.INDEX)
    limit = int(query['limit']) if 'limit' in query else None
    found = req.services.resources.find(
        objects.ResourceQuery(
            query['resource_type'],
            query.get('name'),
            # One more than requested: it tells whether there is a next page.
            limit=None if limit is None else limit + 1,
            marker=int(query.get('marker', 0)),
        )
    )
    shown = [view.show(each) for each in found[:limit]]
    answer: dict[str, Any] = {'resources': shown}
    if len(found) > len(shown):
        answer['resources_links'] = req.next_link(query, shown[-1]['id'])
    return answer


INDEX = Action(index, query=schemas.INDEX, response=schemas.INDEX_RESPONSE)


def show(req: api_request.LeaseRequest, resource_id: str) -> dict[str, Any]:
    req.context.can(policies.SHOW)
    key = _key_of(resource_id)
    service = req.services.resources
    allocated = service.allocations(key, req.now())
    return {'resource': view.in_full(service.get(key), allocated)}


SHOW = Action(show, response=schemas.SHOW_RESPONSE, refusals=(404,))


def create(
    req: api_request.LeaseRequest, body: dict[str, Any]
) -> dict[str, Any]:
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


CREATE = Action(
    create,
    201,
    body=schemas.CREATE,
    response=schemas.CHANGED_RESPONSE,
    refusals=(409,),
)


def update(
    req: api_request.LeaseRequest, resource_id: str, body: dict[str, Any]
) -> dict[str, Any]:
    req.context.can(policies.UPDATE)
    key, now = _key_of(resource_id), req.now()
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


UPDATE = Action(
    update,
    body=schemas.UPDATE,
    response=schemas.CHANGED_RESPONSE,
    refusals=(404, 409),
)


def delete(req: api_request.LeaseRequest, resource_id: str) -> None:
    req.context.can(policies.DELETE)
    key, resources = _key_of(resource_id), req.services.resources
    try:
        resources.remove(key)
    except exception.ResourceInUse:
        # As hosts, see there.
        if not req.services.short_waits.for_end(key):
            raise
        resources.remove(key)


DELETE = Action(delete, 204, refusals=(404, 409))


def allocations(
    req: api_request.LeaseRequest, query: dict[str, str]
) -> listing.Listing:
    req.context.can(policies.ALLOCATIONS)
    lists = req.services.resources.allocation_lists(query['resource_type'])
    return hosts.list_allocations(req, query, lists, 'name')


ALLOCATIONS = Action(
    allocations,
    query=schemas.ALLOCATIONS,
    response=schemas.ALLOCATIONS_RESPONSE,
)


def capacity(
    req: api_request.LeaseRequest, query: dict[str, str]
) -> dict[str, Any]:
    context = req.context
    context.can(policies.CAPACITY, target={'project_id': context.project_id})
    now = req.now()
    found = req.services.resources.capacity(
        query['resource_type'],
        *hosts.steps(query, now),
        now,
        query.get('resource_class'),
        query.get('resource_properties'),
    )
    return {'capacity': [view.capacity(point) for point in found]}


CAPACITY = Action(
    capacity, query=schemas.CAPACITY, response=schemas.CAPACITY_RESPONSE
)


def calendar(
    req: api_request.LeaseRequest, query: dict[str, str]
) -> dict[str, Any]:
    own = {'project_id': req.context.project_id}
    req.context.can(policies.CALENDAR, target=own)
    shown = req.services.resources.calendar(query['resource_type'])
    return calendars.page(req, query, shown, 'resources', view.promised)


CALENDAR = Action(
    calendar, query=schemas.CALENDAR, response=schemas.CALENDAR_RESPONSE
)


def properties(
    req: api_request.LeaseRequest, query: dict[str, str]
) -> dict[str, Any]:
    context = req.context
    context.can(policies.PROPERTIES, target={'project_id': context.project_id})
    private = strutils.bool_from_string(query.get('all'))
    if private:
        context.can(policies.PRIVATE_PROPERTIES)
    detail = strutils.bool_from_string(query.get('detail'))
    found = req.services.resources.properties(query['resource_type'], private)
    return {
        'resource_properties': [
            host_view.listed_property(each, detail) for each in found
        ]
    }


PROPERTIES = Action(
    properties,
    query=schemas.PROPERTIES,
    response=host_schemas.PROPERTIES_RESPONSE,
)


def _key_of(resource_id: str) -> int:
    """:raises: NotFound for a text that can't be the number of a resource"""
    if not (
        resource_id.isascii()
        and resource_id.isdigit()
        and len(resource_id) < 10
    ):
        raise exception.NotFound(kind='Resource', id=resource_id)
    return int(resource_id)
