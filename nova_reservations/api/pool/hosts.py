# SPDX-License-Identifier: Apache-2.0
"""Hosts: enrolment by operators, and lists with their facts.

Hosts belong to no project. Policy rules are checked with the caller's project
as the target, so that an operator can open some of them to members or readers.
"""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import datetime
from typing import Any

from oslo_utils import strutils

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.api import dates
from nova_reservations.api import listing
from nova_reservations.api import request as api_request
from nova_reservations.api import unchanged
from nova_reservations.api import validation
from nova_reservations.api.action import Action
from nova_reservations.api.leases import creation
from nova_reservations.api.pool import calendar as calendars
from nova_reservations.api.schemas import hosts as schemas
from nova_reservations.api.schemas import parameters
from nova_reservations.api.views import hosts as view
from nova_reservations.engine.outlook import allocation_lists
from nova_reservations.engine.outlook import capacity as engine
from nova_reservations.policies import hosts as policies

DEFAULT_STEP = datetime.timedelta(hours=1)
MIN_STEP = datetime.timedelta(minutes=1)
FLAVOR = 'flavor:instance'
"""The resource type whose slots are counted."""

_INSTANT = datetime.timedelta(seconds=1)
"""The shortest window, because all dates are in whole seconds."""


def index(
    req: api_request.LeaseRequest, query: dict[str, str]
) -> dict[str, Any]:
    req.context.can(policies.INDEX, target=_own(req))
    if 'name' in query or query.get('sort_key') in schemas.SORTED_BY_NAME:
        # The answer would tell the name, or the place among all names.
        req.context.can(policies.NAMES, target=_own(req))
    show_host = _view_of(req, query)
    limit = int(query['limit']) if 'limit' in query else None
    hosts = req.services.hosts.find(
        objects.HostQuery(
            name=query.get('name'),
            availability_zone=query.get('availability_zone'),
            # One more than requested: it tells whether there is a next page.
            limit=None if limit is None else limit + 1,
            marker=int(query['marker']) if 'marker' in query else None,
            sort_key=query.get('sort_key', 'id'),
            descending=query.get('sort_dir') == 'desc',
        )
    )
    shown = [show_host(host) for host in hosts]
    answer: dict[str, Any] = {'hosts': shown[:limit]}
    if limit is not None and len(shown) > limit:
        answer['hosts_links'] = req.next_link(query, shown[limit - 1]['id'])
    return answer


INDEX = Action(index, query=schemas.INDEX, response=schemas.INDEX_RESPONSE)


def _own(req: api_request.LeaseRequest) -> dict[str, str]:
    return {'project_id': req.context.project_id}


def _view_of(
    req: api_request.LeaseRequest, query: Mapping[str, str]
) -> Callable[[objects.Host], dict[str, Any]]:
    """Return the view of hosts for the caller.

    :raises: PolicyNotAuthorized if details are wanted that it may not see
    """
    if strutils.bool_from_string(query.get('detail')):
        req.context.can(policies.NAMES, target=_own(req))
        return view.show_in_detail
    if req.context.can(policies.NAMES, target=_own(req), fatal=False):
        return view.show
    private = req.services.hosts.private_properties()
    return lambda host: view.show_unnamed(host, private)


def show(
    req: api_request.LeaseRequest, host_id: str, query: dict[str, str]
) -> dict[str, Any]:
    req.context.can(policies.SHOW, target=_own(req))
    show_host = _view_of(req, query)
    return {'host': show_host(req.services.hosts.get(key_of(host_id)))}


SHOW = Action(
    show,
    query=schemas.SHOW,
    response=schemas.SHOW_RESPONSE,
    refusals=(404,),
)


def create(
    req: api_request.LeaseRequest, body: dict[str, Any]
) -> dict[str, Any]:
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


CREATE = Action(
    create,
    201,
    body=schemas.CREATE,
    response=schemas.SHOW_RESPONSE,
    refusals=(404, 409),
)


def update(
    req: api_request.LeaseRequest, host_id: str, body: dict[str, Any]
) -> dict[str, Any]:
    req.context.can(policies.UPDATE)
    if not body:
        raise exception.InvalidInput('No data to update')
    hosts = req.services.hosts
    host = hosts.get(key_of(host_id))
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


UPDATE = Action(
    update,
    body=schemas.UPDATE,
    response=schemas.SHOW_RESPONSE,
    refusals=(404, 409),
)


def delete(req: api_request.LeaseRequest, host_id: str) -> None:
    req.context.can(policies.DELETE)
    key, enrolment = key_of(host_id), req.services.hosts.enrolment
    try:
        enrolment.remove(key, req.now())
    except exception.HostInUse:
        # A client that deletes a lease and its host has a 204 of the first.
        if not req.services.short_waits.for_end(key):
            raise
        enrolment.remove(key, req.now())


DELETE = Action(delete, 204, refusals=(404, 409))


def allocations(
    req: api_request.LeaseRequest, query: dict[str, str]
) -> listing.Listing:
    req.context.can(policies.ALLOCATIONS)
    return list_allocations(
        req,
        query,
        req.services.hosts.allocations,
        'service_name',
        _named(req, query['host']) if 'host' in query else None,
    )


def _named(req: api_request.LeaseRequest, host: str) -> list[int]:
    """:raises: NotFound"""
    hosts = req.services.hosts
    if host.isascii() and host.isdigit():
        return [hosts.get(key_of(host)).id]
    found = hosts.find(objects.HostQuery(name=host))
    if not found:
        raise exception.NotFound(kind='Host', id=host)
    return [each.id for each in found]


def list_allocations(
    req: api_request.LeaseRequest,
    query: dict[str, str],
    lists: allocation_lists.AllocationLists,
    name_key: str,
    resource_ids: Collection[int] | None = None,
) -> listing.Listing:
    """:param name_key: the key of the resource's name in the answer
    :param resource_ids: the resources to list; None: all
    """
    now = req.now()
    asked = _allocation_query(query, now)
    limit = int(query['limit']) if 'limit' in query else None
    held = lists.find(
        now,
        dataclasses.replace(
            asked,
            resource_ids=resource_ids,
            # One more than requested: it tells whether there is a next page.
            limit=None if limit is None else limit + 1,
            marker=int(query.get('marker', 0)),
        ),
    )
    return listing.Listing(
        'allocations',
        (_shown(lists, page, asked, now, name_key) for page in held),
        limit,
        lambda last: req.next_link(query, last['resource_id']),
    )


def _shown(
    lists: allocation_lists.AllocationLists,
    page: Mapping[int, Collection[objects.Allocation]],
    query: objects.AllocationQuery,
    now: datetime.datetime,
    name_key: str,
) -> list[dict[str, Any]]:
    start = query.start or now
    known = lists.described(page)
    return [
        {
            name_key: known[key].name,
            **view.allocation(
                key,
                found,
                [
                    each
                    for each in known[key].holds
                    if each.overlaps(start, query.end)
                ],
            ),
        }
        for key, found in page.items()
        # A resource may have been removed since its id was read.
        if key in known
    ]


def _allocation_query(
    query: Mapping[str, str], now: datetime.datetime
) -> objects.AllocationQuery:
    """:raises: InvalidInput"""
    start, end = (
        dates.parse(query[key], now) if key in query else None
        for key in ('start', 'end')
    )
    if 'at' in query:
        if start or end:
            raise exception.InvalidInput('give at, or start and end')
        start = dates.parse(query['at'], now)
        end = start + _INSTANT
    elif end is not None:
        start = start or now
        dates.check_order(start, end)
    return objects.AllocationQuery(
        query.get('lease_id'), query.get('reservation_id'), start, end
    )


ALLOCATIONS = Action(
    allocations,
    query=schemas.ALLOCATIONS,
    response=schemas.ALLOCATIONS_RESPONSE,
    refusals=(404,),
)


def allocation(
    req: api_request.LeaseRequest, host_id: str, query: dict[str, str]
) -> dict[str, Any]:
    req.context.can(policies.ALLOCATIONS)
    now = req.now()
    asked = _allocation_query(query, now)
    key = key_of(host_id)
    hosts = req.services.hosts
    # Raises NotFound if there is no such host.
    hosts.get(key)
    held = hosts.allocations.of(key, now, asked)
    page = {key: held}
    shown = _shown(hosts.allocations, page, asked, now, 'service_name')
    if not shown:
        raise exception.NotFound(kind='Host', id=key)
    return {'allocation': shown[0]}


ALLOCATION = Action(
    allocation,
    query=schemas.ALLOCATION,
    response=schemas.ALLOCATION_RESPONSE,
    refusals=(404,),
)


def calendar(
    req: api_request.LeaseRequest, query: dict[str, str]
) -> dict[str, Any]:
    own = {'project_id': req.context.project_id}
    req.context.can(policies.CALENDAR, target=own)
    shown = req.services.hosts.calendar
    return calendars.page(req, query, shown, 'hosts', view.promised)


CALENDAR = Action(
    calendar, query=schemas.CALENDAR, response=schemas.CALENDAR_RESPONSE
)


def capacity(
    req: api_request.LeaseRequest, query: dict[str, str]
) -> dict[str, Any]:
    context = req.context
    own = {'project_id': context.project_id}
    context.can(policies.CAPACITY, target=own)
    by_project = strutils.bool_from_string(query.get('by_project'))
    if by_project:
        context.can(policies.CAPACITY_PROJECTS, target=own)
    now = req.now()
    counted = _counted(query)
    asked = engine.Asked(
        context.project_id,
        context.user_id,
        creation.new_reservation(req, counted) if counted else None,
        query.get('availability_zone'),
        by_project,
    )
    return {
        'capacity': [
            view.capacity(point)
            for point in req.services.hosts.capacity(
                *steps(query, now), now, asked
            )
        ]
    }


CAPACITY = Action(
    capacity, query=schemas.CAPACITY, response=schemas.CAPACITY_RESPONSE
)


def steps(
    query: Mapping[str, str], now: datetime.datetime
) -> tuple[datetime.datetime, datetime.datetime, datetime.timedelta]:
    """Return the start, the end and the step of a capacity request.

    :raises: InvalidInput
    """
    step = (
        dates.parse_duration(query['step'])
        if 'step' in query
        else DEFAULT_STEP
    )
    if step < MIN_STEP:
        raise exception.InvalidInput('step must be a minute or longer')
    start, end = (dates.parse(query[key], now) for key in ('start', 'end'))
    return start, end, step


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


def properties(
    req: api_request.LeaseRequest, query: dict[str, str]
) -> dict[str, Any]:
    req.context.can(policies.PROPERTIES)
    private = strutils.bool_from_string(query.get('all'))
    if private:
        req.context.can(policies.PRIVATE_PROPERTIES)
    detail = strutils.bool_from_string(query.get('detail'))
    return {
        'resource_properties': [
            view.listed_property(prop, detail)
            for prop in req.services.hosts.properties(include_private=private)
        ]
    }


PROPERTIES = Action(
    properties, query=schemas.PROPERTIES, response=schemas.PROPERTIES_RESPONSE
)


def update_property(
    req: api_request.LeaseRequest, name: str, body: dict[str, Any]
) -> dict[str, Any]:
    req.context.can(policies.UPDATE_PROPERTY)
    validation.check_storable(name)
    return {
        'resource_property': view.show_property(
            req.services.hosts.set_private(name, body['private'], req.now())
        )
    }


UPDATE_PROPERTY = Action(
    update_property,
    body=schemas.UPDATE_PROPERTY,
    response=schemas.PROPERTY_RESPONSE,
    refusals=(404,),
)


def key_of(host_id: str) -> int:
    """:raises: NotFound for a text that can't be the number of a host"""
    if not (host_id.isascii() and host_id.isdigit() and len(host_id) < 10):
        raise exception.NotFound(kind='Host', id=host_id)
    return int(host_id)
