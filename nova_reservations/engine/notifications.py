# SPDX-License-Identifier: Apache-2.0
"""The payload of notifications, as consumers of Blazar's know it.

Source: Blazar 18, without the trust's id.
"""

import datetime
from typing import Any

from nova_reservations import objects
from nova_reservations.objects import states

CREATE = 'lease.create'
UPDATE = 'lease.update'
DELETE = 'lease.delete'
RETRY = 'lease.retry'
TIMEDOUT = 'lease.timedout'
DEGRADED = 'lease.degraded'
HEALED = 'lease.healed'
UNUSED = 'lease.unused'
MASS_FAILURE = 'resources.mass_failure'


def event(kind: states.EventType) -> str:
    return f'lease.event.{kind}'


def flags(lease: objects.Lease) -> set[tuple[str, str]]:
    """Return (reservation id, flag) of the flags that are set."""
    return {
        (reservation.id, name)
        for reservation in lease.reservations
        for name in ('missing_resources', 'resources_changed')
        if getattr(reservation, name)
    }


def failed(kind: states.EventType) -> str:
    return f'{event(kind)}.error'


def stopped(kind: states.EventType) -> str:
    """Return the event type that takes back what was told: it comes later."""
    return f'{event(kind)}.stop'


def payload(lease: objects.Lease) -> dict[str, Any]:
    return {
        'lease_id': lease.id,
        'user_id': lease.user_id,
        'project_id': lease.project_id,
        'name': lease.name,
        'start_date': _date(lease.start_date),
        'end_date': _date(lease.end_date),
        'status': str(lease.status),
        'degraded': lease.degraded,
        'created_at': _date(lease.created_at),
        'updated_at': _date(lease.updated_at),
        'reservations': [
            _reservation(reservation) for reservation in lease.reservations
        ],
        'events': [_event(event) for event in lease.events],
    }


def _reservation(reservation: objects.Reservation) -> dict[str, Any]:
    return {
        **reservation.params,
        'id': reservation.id,
        'lease_id': reservation.lease_id,
        'resource_type': reservation.resource_type,
        'status': str(reservation.status),
        'missing_resources': reservation.missing_resources,
        'resources_changed': reservation.resources_changed,
    }


def _event(event: objects.Event) -> dict[str, Any]:
    return {
        'id': event.id,
        'event_type': str(event.event_type),
        'time': _date(event.time),
        'status': str(event.status),
    }


def _date(when: datetime.datetime | None) -> str | None:
    return when.strftime('%Y-%m-%dT%H:%M:%S.%f') if when else None
