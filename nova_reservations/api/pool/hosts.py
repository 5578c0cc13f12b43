# SPDX-License-Identifier: Apache-2.0
"""Hosts: enrolment by operators, and lists with their facts.

Hosts belong to no project. Policy rules are checked with the caller's project
as the target, so that an operator can open some of them to members or readers.
"""

from collections.abc import Callable
from collections.abc import Mapping
from typing import Any

from oslo_utils import strutils

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.api import listing
from nova_reservations.api import unchanged
from nova_reservations.api import validation
from nova_reservations.api.action import Action
from nova_reservations.api.action import served
from nova_reservations.api.leases import creation
from nova_reservations.api.pool import kinds
from nova_reservations.api.request import LeaseRequest
from nova_reservations.api.schemas import hosts as schemas
from nova_reservations.api.schemas import parameters
from nova_reservations.api.views import hosts as view
from nova_reservations.engine.outlook import capacity as engine
from nova_reservations.policies import hosts as policies

FLAVOR = 'flavor:instance'
"""The resource type whose slots are counted."""

KIND = kinds.Kind(
    'Host',
    'hosts',
    'service_name',
    policies,
    lambda _req, _query: objects.HOST,
    lambda req, key: req.services.hosts.enrolment.remove(key, req.now()),
)


@served(query=schemas.INDEX, response=schemas.INDEX_RESPONSE)
def index(req: LeaseRequest, query: dict[str, str]) -> listing.Listing:
    req.check(policies.INDEX)
    if 'name' in query or query.get('sort_key') in schemas.SORTED_BY_NAME:
        # The answer would tell the name, or the place among all names.
        req.check(policies.NAMES)
    show_host = _view_of(req, query)
    limit, beyond = listing.limit_of(query)
    hosts = req.services.hosts.find(
        objects.HostQuery(
            name=query.get('name'),
            availability_zone=query.get('availability_zone'),
            limit=beyond,
            marker=int(query['marker']) if 'marker' in query else None,
            sort_key=query.get('sort_key', 'id'),
            descending=query.get('sort_dir') == 'desc',
        )
    )
    return KIND.page(req, query, map(show_host, hosts), limit)


def _view_of(
    req: LeaseRequest, query: Mapping[str, str]
) -> Callable[[objects.Host], dict[str, Any]]:
    """Return the view of hosts for the caller.

    :raises: PolicyNotAuthorized if details are wanted that it may not see
    """
    if strutils.bool_from_string(query.get('detail')):
        req.check(policies.NAMES)
        return view.show_in_detail
    if req.may(policies.NAMES):
        return view.show
    private = req.services.hosts.private_properties()
    return lambda host: view.show_unnamed(host, private)


@served(query=schemas.SHOW, response=schemas.SHOW_RESPONSE, refusals=(404,))
def show(
    req: LeaseRequest, host_id: str, query: dict[str, str]
) -> dict[str, Any]:
    req.check(policies.SHOW)
    show_host = _view_of(req, query)
    return {'host': show_host(req.services.hosts.get(KIND.key_of(host_id)))}


@served(
    201,
    body=schemas.CREATE,
    response=schemas.SHOW_RESPONSE,
    refusals=(404, 409),
)
def create(req: LeaseRequest, body: dict[str, Any]) -> dict[str, Any]:
    req.context.can(policies.CREATE)
    properties = {
        key: str(value)
        for key, value in parameters.given(body).items()
        if key != 'name'
    }
    return {
        'host': view.show(
            req.services.hosts.enrolment.enrol(
                body['name'], properties, req.now()
            )
        )
    }


@served(
    body=schemas.UPDATE, response=schemas.SHOW_RESPONSE, refusals=(404, 409)
)
def update(
    req: LeaseRequest, host_id: str, body: dict[str, Any]
) -> dict[str, Any]:
    req.context.can(policies.UPDATE)
    if not body:
        raise exception.InvalidInput('No data to update')
    hosts = req.services.hosts
    host = hosts.get(KIND.key_of(host_id))
    properties = {
        key: None if value is None else str(value)
        for key, value in _changed(host, body).items()
    }
    is_copy = properties.keys() != body.keys()
    if not is_copy or unchanged.differing(properties, host.properties):
        host = hosts.update(host.id, properties, req.now())
    return {'host': view.show(host)}


def _changed(host: objects.Host, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties of a change, without the host's name and facts.

    :raises: InvalidInput if these are not its own
    """
    names = {
        str(host.id),
        host.facts.uuid,
        host.facts.service_host,
        host.facts.hypervisor_hostname,
    }
    asked = dict(body)
    if asked.pop('name', host.facts.service_host) not in names:
        raise exception.InvalidInput('name cannot be set')
    shown = view.show_in_detail(host)
    settable = asked.keys() - schemas.FIELDS.keys()
    return unchanged.changes(asked, shown, settable)


delete = Action(KIND.delete, 204, refusals=(404, 409))


@served(
    query=schemas.ALLOCATIONS,
    response=schemas.ALLOCATIONS_RESPONSE,
    refusals=(404,),
)
def allocations(req: LeaseRequest, query: dict[str, str]) -> listing.Listing:
    req.context.can(policies.ALLOCATIONS)
    ids = _named(req, query['host']) if 'host' in query else None
    return KIND.allocations(req, query, ids)


def _named(req: LeaseRequest, host: str) -> list[int]:
    """:raises: NotFound"""
    hosts = req.services.hosts
    if host.isascii() and host.isdigit():
        return [hosts.get(KIND.key_of(host)).id]
    found = hosts.find(objects.HostQuery(name=host))
    if not found:
        raise exception.NotFound(kind='Host', id=host)
    return [each.id for each in found]


@served(
    query=schemas.ALLOCATION,
    response=schemas.ALLOCATION_RESPONSE,
    refusals=(404,),
)
def allocation(
    req: LeaseRequest, host_id: str, query: dict[str, str]
) -> dict[str, Any]:
    req.context.can(policies.ALLOCATIONS)
    now = req.now()
    asked = kinds.allocation_query(query, now)
    key = KIND.key_of(host_id)
    # Raises NotFound if there is no such host.
    req.services.hosts.get(key)
    lists = req.services.resources.allocation_lists(objects.HOST)
    page = {key: lists.of(key, now, asked)}
    shown = KIND.allocated(lists, page, asked, now)
    if not shown:
        raise exception.NotFound(kind='Host', id=key)
    return {'allocation': shown[0]}


calendar = Action(
    KIND.calendar, query=schemas.CALENDAR, response=schemas.CALENDAR_RESPONSE
)


@served(query=schemas.CAPACITY, response=schemas.CAPACITY_RESPONSE)
def capacity(req: LeaseRequest, query: dict[str, str]) -> dict[str, Any]:
    req.check(policies.CAPACITY)
    by_project = strutils.bool_from_string(query.get('by_project'))
    if by_project:
        req.check(policies.CAPACITY_PROJECTS)
    now = req.now()
    counted = _counted(query)
    asked = engine.Asked(
        req.context.project_id,
        req.context.user_id,
        creation.new_reservation(req, counted) if counted else None,
        query.get('availability_zone'),
        by_project,
    )
    return {
        'capacity': [
            view.capacity(point)
            for point in req.services.hosts.capacity(
                *kinds.steps(query, now), now, asked
            )
        ]
    }


def _counted(query: Mapping[str, str]) -> dict[str, Any] | None:
    """Return the reservation to be counted: capacity tells how often it fits.
    Empty: hosts are counted without requirements.

    :raises: InvalidInput
    """
    required = {
        key: query[key]
        for key in ('hypervisor_properties', 'resource_properties')
        if key in query
    }
    if 'flavor_id' not in query:
        return required and {
            'resource_type': objects.HOST,
            'min': 1,
            'max': 1,
            **required,
        }
    if required:
        raise exception.InvalidInput(
            'A flavor has its own requirements: flavor_id can not be '
            f'combined with {" and ".join(sorted(required))}'
        )
    return {
        'resource_type': FLAVOR,
        'flavor_id': query['flavor_id'],
        'amount': 1,
        'affinity': None,
    }


properties = Action(
    KIND.properties,
    query=schemas.PROPERTIES,
    response=schemas.PROPERTIES_RESPONSE,
)


@served(
    body=schemas.UPDATE_PROPERTY,
    response=schemas.PROPERTY_RESPONSE,
    refusals=(404,),
)
def update_property(
    req: LeaseRequest, name: str, body: dict[str, Any]
) -> dict[str, Any]:
    req.context.can(policies.UPDATE_PROPERTY)
    validation.check_storable(name)
    return {
        'resource_property': view.show_property(
            req.services.hosts.set_private(name, body['private'], req.now())
        )
    }
