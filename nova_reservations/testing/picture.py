# SPDX-License-Identifier: Apache-2.0
"""Pictures of a region that can be compared: without times and versions."""

import dataclasses
from typing import Any

import sqlalchemy as sa

from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.db import api
from nova_reservations.db import models
from nova_reservations.testing import fake_state


def without_times(lease: objects.Lease) -> dict[str, Any]:
    """Return a lease without the fields that differ from run to run."""
    picture = dataclasses.asdict(lease)
    for name in ('version', 'attempt', 'due_at', 'updated_at'):
        del picture[name]
    picture['events'] = sorted(
        picture['events'], key=lambda event: event['event_type']
    )
    for part in (*picture['reservations'], *picture['events']):
        del part['updated_at']
    return picture


def in_neutron(cloud: fake_state.State) -> list[tuple[str, ...]]:
    """Return (place, project, reservation) of all objects in Neutron that
    leases may have."""
    made: list[tuple[str, ports.Made]] = [
        *((each.address, each) for each in cloud.floating_ips.values()),
        *(
            (each.segment.name, each)
            for each in cloud.segment_networks.values()
        ),
    ]
    return sorted(
        (place, each.project_id, str(each.reservation_id))
        for place, each in made
    )


def held(database: api.Database) -> list[tuple[str, int, bool]]:
    """Return (reservation id, resource id, released) of all allocations."""
    with database.reader() as session:
        return [
            (row.reservation_id, row.resource_id, row.released)
            for row in session.execute(
                sa.select(models.Allocation.__table__).order_by(
                    models.Allocation.reservation_id,
                    models.Allocation.resource_id,
                )
            )
        ]


def recorded(database: api.Database) -> list[tuple[Any, ...]]:
    """Return what leases have now by the record of usage. Earlier usage is
    left out: it depends on how long it took until a worker went on."""
    with database.reader() as session:
        return sorted(
            (
                row.lease_id,
                row.resource_class,
                row.amount,
                row.degraded,
            )
            for row in session.execute(
                sa.select(models.Usage.__table__).where(
                    models.Usage.ended_at.is_(None)
                )
            )
        )
