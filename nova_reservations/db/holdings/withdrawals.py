# SPDX-License-Identifier: Apache-2.0
"""Resources that are taken out of the pool: none that a lease holds is
deleted.

Every function joins the caller's transaction.
"""

from sqlalchemy import orm

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import models
from nova_reservations.db.holdings import allocations
from nova_reservations.db.resources import drainable_hosts
from nova_reservations.db.resources import hosts
from nova_reservations.db.resources import resources

ALLOCATION = models.table(models.Allocation)


def withdraw(session: orm.Session, resource_id: int) -> int:
    """Keep new leases away, and return how many reservations still hold the
    resource; if none does, delete its past allocations."""
    # The lock on its row keeps bookings out until the commit.
    resources.change(session, resource_id, reservable=False)
    held = allocations.of_resource(session, resource_id)
    if held:
        return held
    allocations.forget(session, ALLOCATION.c.resource_id == resource_id)
    return 0


def remove_host(session: orm.Session, resource_id: int) -> None:
    """Delete the host with all that belongs to it.

    :raises: HostInUse if a lease that is not over holds it
    """
    held = withdraw(session, resource_id)
    if held:
        raise exception.HostInUse(
            host=resource_id,
            reason=objects.plural(
                held, 'reservation holds it', 'reservations hold it'
            ),
        )
    hosts.delete(session, resource_id)


def remove_drainable_host(
    session: orm.Session, drainable: drainable_hosts.DrainableHost
) -> None:
    """Delete a host that is not drainable any more.

    :raises: Conflict if another writer was first
    :raises: HostInUse if a lease has it
    """
    # The lock on its row keeps other leases out until the commit.
    drainable_hosts.lock(session, drainable)
    remove_host(session, drainable.resource.id)
