# SPDX-License-Identifier: Apache-2.0
"""Hosts and their bookings, which tests write to the database directly.

Times are hours after NOW.
"""

import datetime
import uuid

import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import objects
from nova_reservations.cloud.hosts import host_specs as host_filters
from nova_reservations.db import models
from nova_reservations.db.resources import hosts
from nova_reservations.objects import demand
from nova_reservations.objects import host_specs
from nova_reservations.objects import interval
from nova_reservations.objects import requirements
from nova_reservations.objects import states
from nova_reservations.testing import fake_cloud

NOW = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)


def at(hour: float) -> datetime.datetime:
    return NOW + datetime.timedelta(hours=hour)


def window(start: float, end: float) -> interval.Interval:
    return interval.Interval(at(start), at(end))


def wanted(
    minimum: int = 1, maximum: int | None = None, asked: object = None
) -> demand.Demand:
    return demand.Demand(
        objects.HOST,
        minimum,
        maximum or minimum,
        requirements.parse(asked, nova=host_specs.Words(host_filters.passes)),
    )


def enrol(
    session: orm.Session,
    name: str,
    spread: int | None = None,
    reservable: bool = True,
    properties: dict[str, str] | None = None,
    **facts: object,
) -> int:
    host_id = hosts.insert(
        session, fake_cloud.facts(name, **facts), properties or {}, NOW
    )
    hosts.set_reservable(session, host_id, reservable, NOW)
    if spread is not None:
        session.execute(
            sa.update(models.Resource)
            .where(models.Resource.id == host_id)
            .values(spread=spread)
        )
    return host_id


def book(
    session: orm.Session,
    host_id: int,
    start: float,
    end: float,
    released: bool = False,
    reservation_id: str | None = None,
) -> str:
    """Give the host to the reservation, or to that of a new lease."""
    if reservation_id is None:
        reservation_id = reservation(session, start, end)
    session.add(
        models.Allocation(
            reservation_id=reservation_id,
            resource_id=host_id,
            start_date=at(start),
            end_date=at(end),
            exclusive=True,
            released=released,
        )
    )
    session.flush()
    return reservation_id


def reservation(session: orm.Session, start: float, end: float) -> str:
    lease_id, reservation_id = str(uuid.uuid4()), str(uuid.uuid4())
    session.execute(
        sa.insert(models.Lease).values(
            id=lease_id,
            name='',
            project_id='',
            user_id='',
            start_date=at(start),
            end_date=at(end),
            status=states.Lease.PENDING,
            degraded=False,
            in_nova=False,
            prepared=False,
            version=0,
            attempt=0,
            created_at=NOW,
        )
    )
    session.execute(
        sa.insert(models.Reservation).values(
            id=reservation_id,
            lease_id=lease_id,
            position=0,
            resource_type=objects.HOST,
            status=states.Reservation.PENDING,
            params={},
            missing_resources=False,
            resources_changed=False,
            created_at=NOW,
        )
    )
    return reservation_id
