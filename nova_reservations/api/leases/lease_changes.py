# SPDX-License-Identifier: Apache-2.0
"""Requests to change a lease, in the terms of the engine."""

from collections.abc import Collection
from collections.abc import Mapping
import datetime
from typing import Any

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.api import dates
from nova_reservations.api import unchanged
from nova_reservations.api.leases import creation
from nova_reservations.api.request import LeaseRequest
from nova_reservations.api.schemas import leases as schemas
from nova_reservations.api.schemas import resource_types as type_schemas
from nova_reservations.api.views import leases as view
from nova_reservations.engine.booking import lease_requests


def asked_for(
    req: LeaseRequest,
    lease: objects.Lease,
    body: Mapping[str, Any],
    now: datetime.datetime,
) -> lease_requests.LeaseChanges:
    """:raises: InvalidInput, InvalidState, PolicyNotAuthorized"""
    asked = body
    if unchanged.is_copy(body, schemas.SETTABLE):
        shown = view.show(lease, lambda _: {}, in_full=False)
        asked = unchanged.changes(body, shown, schemas.SETTABLE)
        asked = _new_dates(asked, lease, now)
        if asked.get('name') == lease.name:
            del asked['name']
    items = asked.get('reservations', ())
    return lease_requests.LeaseChanges(
        name=asked.get('name'),
        start=_due(asked, 'start_date', lease.start_date, now),
        end=_due(asked, 'end_date', lease.end_date, now),
        before_end=date(asked, 'before_end_date', now),
        reservations=_changed_reservations(req, lease, items),
        acknowledged=_acknowledged(lease, items),
        review=creation.review(req),
    )


def date(
    body: Mapping[str, Any], key: str, now: datetime.datetime
) -> datetime.datetime | None:
    """:raises: InvalidInput"""
    return None if body.get(key) is None else dates.parse(body[key], now)


def _due(
    body: Mapping[str, Any],
    key: str,
    own: datetime.datetime,
    now: datetime.datetime,
) -> datetime.datetime | None:
    """Return when the lease is to begin or end.

    :param own: the date of the lease: it stays, also if it has just passed
    :raises: InvalidInput
    """
    if date(body, key, now) == own:
        return own
    return None if body.get(key) is None else dates.due(body[key], now)


def _new_dates(
    asked: Mapping[str, Any], lease: objects.Lease, now: datetime.datetime
) -> dict[str, Any]:
    """Leave out dates that are the lease's.

    An end stays if the start moves: without an end the lease may keep its
    duration.

    :raises: InvalidInput
    """
    left = dict(asked)
    if date(asked, 'start_date', now) == lease.start_date:
        del left['start_date']
    if (
        'start_date' not in left
        and date(asked, 'end_date', now) == lease.end_date
    ):
        del left['end_date']
    return left


def _acknowledged(
    lease: objects.Lease, items: Collection[Mapping[str, Any]]
) -> list[str]:
    """Return the ids of reservations whose changed resources are
    acknowledged.

    :raises: InvalidInput for a change that nobody has told of
    """
    changed = {
        item.id for item in lease.reservations if item.resources_changed
    }
    told = {
        item['id']: item['resources_changed']
        for item in items
        if 'resources_changed' in item
    }
    if {key for key, value in told.items() if value} - changed:
        raise exception.InvalidInput(
            'resources_changed can only be set to false'
        )
    return [key for key, value in told.items() if not value and key in changed]


def _changed_reservations(
    req: LeaseRequest,
    lease: objects.Lease,
    items: Collection[Mapping[str, Any]],
) -> dict[str, dict[str, Any]]:
    """Return reservation id -> the requested changes."""
    known = {item.id: item for item in lease.reservations}
    named: set[str] = set()
    changes: dict[str, dict[str, Any]] = {}
    for item in items:
        key = item['id']
        if key in named:
            raise exception.InvalidInput(f'Reservation {key} is named twice')
        named.add(key)
        if key not in known:
            # The engine refuses all unknown reservations together.
            changes[key] = _params(item)
            continue
        asked = _changed(req, known[key], item)
        if asked is not None:
            changes[key] = asked
    return changes


def _params(item: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in item.items()
        if name not in ('id', 'resource_type', 'resources_changed')
    }


def _changed(
    req: LeaseRequest,
    reservation: objects.Reservation,
    item: Mapping[str, Any],
) -> dict[str, Any] | None:
    """Return the requested changes of a reservation; None: nothing changes.

    :raises: InvalidInput, InvalidState, PolicyNotAuthorized
    """
    resource_type = reservation.resource_type
    kind = req.services.means.types.named(resource_type)
    shown = view.reservation(reservation, kind.show(reservation))
    if (
        item.get('resource_type', shown['resource_type'])
        != (shown['resource_type'])
    ):
        raise exception.InvalidState(
            kind='Reservation',
            id=reservation.id,
            status=shown['resource_type'],
            reason='resource_type cannot be updated',
        )
    asked = _params(item)
    settable = kind.update_schema.get('properties', {}).keys()
    if unchanged.is_copy(asked, settable):
        asked = unchanged.differing(
            unchanged.changes(asked, shown, settable), shown
        )
        if not asked:
            return None
    elif not asked and 'resources_changed' in item:
        return None
    type_schemas.update(kind).check(asked)
    creation.check_facts(req, kind.resource_type or resource_type, asked)
    return asked
