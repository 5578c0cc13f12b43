# SPDX-License-Identifier: Apache-2.0
"""Leases: translation of users' requests into the terms of the engine."""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import datetime
from typing import Any

from nova import exception as nova_exception
from oslo_utils import strutils
from oslo_utils import uuidutils

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.api import dates
from nova_reservations.api import listing
from nova_reservations.api.action import served
from nova_reservations.api.leases import creation
from nova_reservations.api.leases import lease_changes
from nova_reservations.api.leases import shared_leases
from nova_reservations.api.request import LeaseRequest
from nova_reservations.api.schemas import leases as schemas
from nova_reservations.api.schemas import parameters
from nova_reservations.api.views import leases as view
from nova_reservations.engine.booking import lease_requests
from nova_reservations.engine.leases import series
from nova_reservations.objects import states
from nova_reservations.policies import leases as policies

ShowAll = Callable[[Collection[objects.Lease]], list[dict[str, Any]]]
"""Returns the view of a page of leases."""


@served(query=schemas.INDEX, response=schemas.INDEX_RESPONSE)
def index(req: LeaseRequest, query: dict[str, Any]) -> listing.Listing:
    own = req.context.project_id
    if strutils.bool_from_string(query.get('shared')):
        return _shared_with(own, req, query)
    req.check(policies.INDEX)
    project_id = _project(req, query)
    wanted = _lease_query(query, project_id, req)
    return _listed(req, query, wanted, view_of(req))


def _project(req: LeaseRequest, query: Mapping[str, Any]) -> str | None:
    """Return the project whose leases are listed; None: all projects.

    :raises: PolicyNotAuthorized
    """
    own: str = req.context.project_id
    asked: str | None = query.get('project_id')
    if asked == own:
        return own
    if asked is None and 'all_tenants' not in query:
        return None if req.may(policies.INDEX_ALL_PROJECTS) else own
    if asked is None and not strutils.bool_from_string(query['all_tenants']):
        return own
    req.check(policies.INDEX_ALL_PROJECTS, asked)
    return asked


def _shared_with(
    project_id: str, req: LeaseRequest, query: dict[str, Any]
) -> listing.Listing:
    """List the leases that others share with the project.

    :raises: PolicyNotAuthorized, InvalidInput
    """
    shared_leases.check_listed(req, query)
    wanted = dataclasses.replace(
        _lease_query(query, None, req), shared_with=project_id
    )
    return _listed(req, query, wanted, shared_leases.view_of(req))


def _listed(
    req: LeaseRequest,
    query: dict[str, Any],
    wanted: objects.LeaseQuery,
    show_all: ShowAll,
) -> listing.Listing:
    found = req.services.lease_lists.pages(wanted)
    return listing.Listing(
        'leases',
        (show_all(page) for page in found),
        listing.limit_of(query)[0],
        lambda last: req.next_link(query, last['id']),
    )


_BOUNDS = {
    'start_after': 'start_after',
    'start_before': 'start_before',
    'end_before': 'end_before',
    'end_after': 'end_after',
    'changes-since': 'changed_since',
}
"""Query parameters that are dates -> their names in LeaseQuery."""

_NAMES = frozenset({'name', 'lease_name'})
_SELECTIVE = frozenset(
    {'deleted', 'limit', 'status', 'lease_id', *_NAMES, *_BOUNDS}
)
"""Filters with which leases that ended long ago are listed, too."""


def _lease_query(
    query: Mapping[str, Any],
    project_id: str | None,
    req: LeaseRequest,
) -> objects.LeaseQuery:
    now = req.now()
    bounds: dict[str, Any] = {
        name: dates.parse(query[key], now)
        for key, name in _BOUNDS.items()
        if key in query
    }
    if _SELECTIVE.isdisjoint(query):
        bounds['over_after'] = now - req.services.means.options.list_history
    return objects.LeaseQuery(
        project_id=project_id,
        statuses=tuple(
            sorted({states.Lease(each) for each in query.get('status', ())})
        ),
        id=query.get('lease_id'),
        name=_name(query),
        limit=listing.limit_of(query)[1],
        marker=query.get('marker'),
        sort_key=query.get('sort_key', 'created_at'),
        descending=query.get('sort_dir') == 'desc',
        deleted=_deleted(query, req),
        **bounds,
    )


def _name(query: Mapping[str, Any]) -> str | None:
    """:raises: InvalidInput"""
    names = {query[key] for key in _NAMES & query.keys()}
    if len(names) > 1:
        raise exception.InvalidInput('lease_name and name are the same filter')
    return names.pop() if names else None


def _deleted(query: Mapping[str, Any], req: LeaseRequest) -> bool | None:
    """Return True to list deleted leases only, False to leave them out, None
    to list both.

    :raises: PolicyNotAuthorized
    """
    if strutils.bool_from_string(query.get('deleted')):
        req.context.can(policies.DELETED)
        return True
    if 'deleted' in query or 'changes-since' not in query:
        return False
    # As in Nova, changes-since includes deleted ones for administrators.
    return None if req.context.can(policies.DELETED, fatal=False) else False


@served(query=schemas.SHOW, response=schemas.SHOW_RESPONSE, refusals=(404,))
def show(
    req: LeaseRequest, lease_id: str, query: dict[str, str]
) -> dict[str, Any]:
    find = visible
    if strutils.bool_from_string(query.get('deleted')):
        req.context.can(policies.DELETED)
        find = _visible_once
    try:
        lease = find(req, lease_id)
    except exception.NotFound as missing:
        return {'lease': shared_leases.show(req, lease_id, missing)}
    answer = _answer(req, lease)
    names_hosts = req.may(policies.SHOW_HOSTS, lease.project_id)
    # Not in lists: Nova is queried for each reservation.
    for reservation, shown in zip(
        lease.reservations, answer['lease']['reservations'], strict=True
    ):
        shown |= req.services.lease_lists.usage(lease, reservation)
        if names_hosts:
            shown |= view.hosts(req.services.lease_lists.hosts(reservation))
    return answer


def _visible_once(req: LeaseRequest, lease_id: str) -> objects.Lease:
    """Return the lease if the caller may see it, even if it was deleted.

    :raises: NotFound
    """
    try:
        lease = visible(req, lease_id)
    except exception.NotFound as missing:
        lease = req.services.lease_lists.deleted(lease_id)
        check_visible(req, lease, missing)
    return lease


@served(
    201,
    query=schemas.DRY_RUN,
    headers=schemas.CREATE_HEADERS,
    body=schemas.CREATE,
    response=schemas.CREATE_RESPONSE,
    refusals=(409, 422),
    asks=True,
)
def create(
    req: LeaseRequest,
    query: dict[str, str],
    headers: dict[str, str],
    body: dict[str, Any],
) -> dict[str, Any]:
    context = req.context
    req.check(policies.CREATE)
    body = parameters.given(body)
    now = req.now()
    start = dates.due(body['start_date'], now)
    asked = lease_requests.NewLease(
        name=body['name'],
        project_id=creation.project_of(context, body.get('project_id')),
        user_id=context.user_id,
        start=start,
        end=creation.end_of(body, start, now),
        before_end=lease_changes.date(body, 'before_end_date', now),
        reservations=tuple(
            creation.new_reservation(req, item)
            for item in body.get('reservations', ())
        ),
        lease_type=states.LeaseType(body['lease_type'])
        if 'lease_type' in body
        else None,
        max_retries=body.get('max_retries'),
        duration=dates.parse_duration(body['duration'])
        if 'duration' in body
        else None,
        key=_key(req, query, headers, body),
        review=creation.review(req),
    )
    creation.check_types(context, asked, now, repeated='repeat' in body)
    dry_run = _is_dry_run(query)
    if 'repeat' in body:
        made = req.services.series.create(
            asked, _repeat(body['repeat'], now), now, dry_run=dry_run
        )
        return _series(req, made)
    return _answer(
        req, req.services.leases.create(asked, now, dry_run=dry_run)
    )


def _key(
    req: LeaseRequest,
    query: Mapping[str, str],
    headers: Mapping[str, str],
    body: Mapping[str, Any],
) -> objects.IdempotencyKey | None:
    key = headers.get(schemas.IDEMPOTENCY_KEY)
    # A dry run creates nothing, so it can be repeated without a key.
    if key is None or _is_dry_run(query):
        return None
    return objects.IdempotencyKey.of(
        req.context.project_id, req.context.user_id, key, body
    )


def _repeat(body: Mapping[str, Any], now: datetime.datetime) -> series.Repeat:
    """:raises: InvalidInput"""
    body = parameters.given(body)
    if ('count' in body) == ('until' in body):
        raise exception.InvalidInput(
            'Give repeat.count, the number of leases, or repeat.until, their '
            'last day: one of both'
        )
    return series.Repeat(
        every=dates.parse_duration(body['every']),
        count=body.get('count'),
        until=dates.parse_until(body['until'], now)
        if 'until' in body
        else None,
        timezone=body.get('timezone', 'UTC'),
        weekdays=body.get('weekdays', ()),
        left_out=frozenset(map(dates.parse_day, body.get('except', ()))),
        partial=body.get('partial', False),
    )


def _series(req: LeaseRequest, made: series.Made) -> dict[str, Any]:
    shown = view_of(req)(made.leases)
    answer = {'lease': shown[0], 'leases': shown}
    if made.refused is not None:
        answer['refused'] = [
            {
                'start_date': dates.show(each.lease.start_date),
                'end_date': dates.show(each.lease.end_date),
                'reason': str(each.why),
            }
            for each in made.refused
        ]
    return answer


def _is_dry_run(query: Mapping[str, str]) -> bool:
    return strutils.bool_from_string(query.get('dry_run'))


@served(
    query=schemas.DRY_RUN,
    body=schemas.UPDATE,
    response=schemas.UPDATE_RESPONSE,
    refusals=(404, 409),
    asks=True,
)
def update(
    req: LeaseRequest,
    lease_id: str,
    query: dict[str, str],
    body: dict[str, Any],
) -> dict[str, Any]:
    lease = visible(req, lease_id)
    req.check(policies.UPDATE, lease.project_id)
    if 'replace_failed' in body:
        if len(body) > 1:
            raise exception.InvalidInput(
                'replace_failed can not be combined with other changes'
            )
        if _is_dry_run(query):
            raise exception.InvalidInput('replace_failed has no dry_run')
        return _answer(
            req, req.services.healing.replace_failed(lease_id, req.now())
        )
    dry_run = _is_dry_run(query)
    try:
        return _answer(req, _changed(req, lease, body, dry_run))
    except exception.BeingGivenBack:
        if not req.services.short_waits.for_update(lease_id):
            raise
    # Time has passed, and the lease has changed.
    return _answer(req, _changed(req, visible(req, lease_id), body, dry_run))


def _changed(
    req: LeaseRequest,
    lease: objects.Lease,
    body: Mapping[str, Any],
    dry_run: bool,
) -> objects.Lease:
    now = req.now()
    changes = lease_changes.asked_for(req, lease, body, now)
    if changes.nothing:
        return lease
    return req.services.leases.update(lease.id, changes, now, dry_run=dry_run)


@served(204, refusals=(404, 409))
def delete(req: LeaseRequest, lease_id: str) -> None:
    lease = visible(req, lease_id)
    req.check(policies.DELETE, lease.project_id)
    req.services.leases.delete(lease_id, req.now())


def visible(req: LeaseRequest, lease_id: str) -> objects.Lease:
    """Return the lease if the caller may see it.

    :raises: NotFound; also for a lease that only another project may see
    """
    if not uuidutils.is_uuid_like(lease_id):
        raise exception.NotFound(kind='Lease', id=lease_id)
    lease = req.services.leases.get(lease_id)
    missing = exception.NotFound(kind='Lease', id=lease_id)
    check_visible(req, lease, missing)
    return lease


def check_visible(
    req: LeaseRequest,
    lease: objects.Lease,
    missing: exception.NotFound,
) -> None:
    """:raises: missing, if only another project may see the lease"""
    try:
        req.check(policies.SHOW, lease.project_id)
    except nova_exception.PolicyNotAuthorized:
        if lease.project_id == req.context.project_id:
            raise
        raise missing from None


def _answer(req: LeaseRequest, lease: objects.Lease) -> dict[str, Any]:
    (shown,) = view_of(req)([lease])
    return {'lease': shown}


def view_of(
    req: LeaseRequest,
) -> ShowAll:
    """Return the view of leases for the caller."""
    in_full = req.may(policies.REASON_IN_FULL)
    details = _details(req)

    def show_all(found: Collection[objects.Lease]) -> list[dict[str, Any]]:
        positions = req.services.lease_lists.positions(found)
        return [
            view.show(lease, details, in_full, positions.get(lease.id))
            for lease in found
        ]

    return show_all


def _details(
    req: LeaseRequest,
) -> Callable[[objects.Reservation], Mapping[str, Any]]:
    types = req.services.means.types

    def details(reservation: objects.Reservation) -> Mapping[str, Any]:
        # A type may have been switched off since the lease was created.
        kind = types.get(reservation.resource_type)
        return kind.show(reservation) if kind else reservation.params

    return details
