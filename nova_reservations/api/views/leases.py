# SPDX-License-Identifier: Apache-2.0
"""Leases in the format of Blazar, with the reason of their status."""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
from typing import Any

from nova_reservations import objects
from nova_reservations.api import dates
from nova_reservations.objects import states


def show(
    lease: objects.Lease,
    details: Callable[[objects.Reservation], Mapping[str, Any]],
    in_full: bool,
    position: int | None = None,
) -> dict[str, Any]:
    """:param details: returns what a reservation's type shows of it.

    :param in_full: whether the reason may name things of other projects.
    :param position: the lease's position in the queue; None: it is not queued.
    """
    reason = lease.status_reason
    if in_full and lease.status_detail is not None:
        reason = lease.status_detail
    reasons = [reason, *(item.untold_reason for item in lease.reservations)]
    if lease.status not in states.OVER:
        # What it lacks is told as long as it lacks it, whatever else is told.
        reasons += [item.missing_reason for item in lease.reservations]
    return {
        'id': lease.id,
        'name': lease.name,
        'series_id': lease.series_id,
        'project_id': lease.project_id,
        'user_id': lease.user_id,
        'start_date': dates.show(lease.start_date),
        'end_date': dates.show(lease.end_date),
        'lease_type': lease.lease_type,
        'max_retries': lease.max_retries,
        # Trusts are not used here, but clients expect the key.
        'trust_id': None,
        'status': lease.status,
        'status_reason': '; '.join(filter(None, reasons)) or None,
        'queue_position': position,
        'degraded': lease.degraded,
        'created_at': dates.show_stamp(lease.created_at),
        'updated_at': dates.show_stamp(lease.updated_at),
        'reservations': [
            reservation(each, details(each)) for each in lease.reservations
        ],
        'events': [_event(event) for event in lease.events],
        **_deleted(lease),
    }


def _deleted(lease: objects.Lease) -> dict[str, Any]:
    if lease.deleted_at is None:
        return {}
    return {
        'deleted': True,
        'deleted_at': dates.show_stamp(lease.deleted_at),
    }


def show_shared(
    lease: objects.Lease, reservation_ids: Collection[str]
) -> dict[str, Any]:
    """Return the view of a lease for another project.

    :param reservation_ids: the reservations that are shared with the project
    """
    return {
        'id': lease.id,
        'name': lease.name,
        'start_date': dates.show(lease.start_date),
        'end_date': dates.show(lease.end_date),
        'status': lease.status,
        'reservations': [{'id': each} for each in reservation_ids],
    }


def reservation(
    item: objects.Reservation, details: Mapping[str, Any]
) -> dict[str, Any]:
    """:param details: what its type shows of it"""
    return {
        'id': item.id,
        'lease_id': item.lease_id,
        # In Blazar this is the id of a second row, which we do not have.
        'resource_id': item.id,
        'resource_type': item.resource_type,
        'status': item.status,
        'missing_resources': item.missing_resources,
        'resources_changed': item.resources_changed,
        'created_at': dates.show_stamp(item.created_at),
        'updated_at': dates.show_stamp(item.updated_at),
        **_part(item),
        **details,
    }


def _part(reservation: objects.Reservation) -> dict[str, Any]:
    if reservation.part_of is None:
        return {}
    return {
        'part_of': reservation.part_of,
        'part_name': reservation.part_name,
    }


def hosts(found: Mapping[int, str]) -> dict[str, Any]:
    """:param found: host id -> name"""
    if not found:
        return {}
    return {
        'hosts': [
            {'id': str(host_id), 'service_name': name}
            for host_id, name in found.items()
        ]
    }


def _event(event: objects.Event) -> dict[str, Any]:
    return {
        'id': event.id,
        'lease_id': event.lease_id,
        'event_type': event.event_type,
        'time': dates.show(event.time),
        'status': event.status,
        'created_at': dates.show_stamp(event.created_at),
        'updated_at': dates.show_stamp(event.updated_at),
    }
