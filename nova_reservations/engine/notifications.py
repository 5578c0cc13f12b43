# SPDX-License-Identifier: Apache-2.0
"""The payload of notifications, as consumers of Blazar's notifications know
it.

Source: Blazar 18, without the trust's id. We add what active reservations
hold, which is read when a notification is sent.
"""

from collections.abc import Mapping
import datetime
from typing import Any

from oslo_log import log

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.db import api
from nova_reservations.db.holdings import held_resources
from nova_reservations.objects import states

LOG = log.getLogger(__name__)

CREATE = 'lease.create'
UPDATE = 'lease.update'
DELETE = 'lease.delete'
RETRY = 'lease.retry'
TIMEDOUT = 'lease.timedout'
DEGRADED = 'lease.degraded'
HEALED = 'lease.healed'
UNUSED = 'lease.unused'
EXISTS = 'lease.exists'
MASS_FAILURE = 'resources.mass_failure'

MOST_NAMES = 100
"""The most resources of a reservation that a notification names."""


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
    """Return the type that revokes an event: the event will come later."""
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


def with_held(
    payload: Mapping[str, Any], held: Mapping[str, objects.HeldResources]
) -> dict[str, Any]:
    """Return a payload with what its active reservations hold.

    :param held: reservation id -> what it holds
    """
    return {
        **payload,
        'reservations': [
            {**item, 'resources': _held(held[item['id']])}
            if item['id'] in held
            else item
            for item in payload['reservations']
        ],
    }


def active(payload: Mapping[str, Any]) -> list[str]:
    """Return the ids of the reservations that are active in a payload."""
    return [
        item['id']
        for item in payload.get('reservations', ())
        if item['status'] == states.Reservation.ACTIVE
    ]


def telling_held(
    database: api.Database, notify: ports.Notifier
) -> ports.Notifier:
    """Return a notifier that adds what active reservations hold, except while
    the database can not be reached."""

    def tell(event_type: str, payload: Mapping[str, Any]) -> None:
        ids = active(payload)
        if ids:
            try:
                with database.reader() as session:
                    held = held_resources.of(session, ids, MOST_NAMES)
                payload = with_held(payload, held)
            except exception.DatabaseUnavailable as error:
                LOG.warning(
                    'A notification does not say what a lease holds: %s',
                    error,
                )
        notify(event_type, payload)

    return tell


def audit_period(
    begin: datetime.datetime, end: datetime.datetime
) -> dict[str, Any]:
    """Return the period that a notification is about, in the keys of Nova's
    own notification ``compute.instance.exists``."""
    return {
        'audit_period_beginning': _date(begin),
        'audit_period_ending': _date(end),
    }


def _held(held: objects.HeldResources) -> dict[str, Any]:
    return {
        'count': held.count,
        'names': [*held.names],
        'amounts': dict(sorted(held.amounts.items())),
        'degraded': dict(sorted(held.degraded.items())),
    }


def _reservation(reservation: objects.Reservation) -> dict[str, Any]:
    return {
        **reservation.told,
        'id': reservation.id,
        'lease_id': reservation.lease_id,
        'resource_type': reservation.resource_type,
        'status': str(reservation.status),
        'missing_resources': reservation.missing_resources,
        'resources_changed': reservation.resources_changed,
        **_part(reservation),
    }


def _part(reservation: objects.Reservation) -> dict[str, Any]:
    if reservation.part_of is None:
        return {}
    return {
        'part_of': reservation.part_of,
        'part_name': reservation.part_name,
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
