# SPDX-License-Identifier: Apache-2.0
"""On MariaDB the end of a lease locked the rows of all other leases and
allocations. Ends in the same second deadlocked again and again until each had
run alone.

The statements selected the rows to write in a subquery, for which MariaDB
before 11.1 reads the whole table. UPDATE and DELETE lock all rows that they
read. Issue 13, item 4.
"""

from collections.abc import Iterator
import re

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db import migration
from nova_reservations.db import models
from nova_reservations.objects import states
from nova_reservations.testing import region as regions
from nova_reservations.tests import booking
from nova_reservations.tests import conftest
from nova_reservations.types.servers import host
from nova_reservations.types.servers import instance

pytestmark = pytest.mark.backends

OTHERS = range(1, 2001)
"""Leases of one day, each of a slot of the one other host."""

FEW = 100

SLOTS = 'virtual:instance'
SLOT = {
    'vcpus': 1,
    'memory_mb': 1024,
    'disk_gb': 1,
    'amount': 2,
    'affinity': None,
    'resource_properties': '',
}


@pytest.fixture
def region(tmp_path):
    with conftest.empty_database('mysql', tmp_path) as url:
        migrated(url)
        region = regions.Region(
            url,
            'one',
            'two',
            types={
                objects.HOST: host.PhysicalHost,
                SLOTS: instance.VirtualInstance,
            },
        )
        yield region
        region.close()


def migrated(url: str) -> None:
    database = api.Database(url)
    migration.sync(database)
    with database.writer() as session:
        fill(session)
    database.dispose()


def fill(session: orm.Session) -> None:
    made = {'created_at': booking.NOW}
    session.execute(
        sa.insert(models.Resource).values(
            id=1,
            name='other',
            uuid='1',
            resource_type='other',
            reservable=True,
            spread=1,
            **made,
        )
    )
    insert = {
        models.Lease: lambda number: {
            'id': str(number),
            'name': '',
            'project_id': 'others',
            'user_id': '',
            'start_date': booking.at(24 * number),
            'end_date': booking.at(24 * number + 24),
            'status': states.Lease.PENDING,
        },
        models.Reservation: lambda number: {
            'id': str(number),
            'lease_id': str(number),
            'position': 0,
            'resource_type': SLOTS,
            'status': states.Reservation.PENDING,
            'params': {},
        },
        models.Allocation: lambda number: {
            'id': number,
            'reservation_id': str(number),
            'resource_id': 1,
            'start_date': booking.at(24 * number),
            'end_date': booking.at(24 * number + 24),
            'exclusive': False,
        },
        models.AllocationAmount: lambda number: {
            'allocation_id': number,
            'resource_class': 'VCPU',
            'amount': 1,
        },
    }
    for model, row in insert.items():
        stamps = made if 'created_at' in model.__table__.c else {}
        session.execute(
            sa.insert(model), [row(number) | stamps for number in OTHERS]
        )


@pytest.fixture
def locked(region) -> Iterator[list[int]]:
    """The number of rows that each transaction had locked at its commit."""
    found: list[int] = []

    def note(connection: sa.Connection) -> None:
        found.append(_locked(connection))

    engine = region.database.engine()
    sa.event.listen(engine, 'commit', note)
    yield found
    sa.event.remove(engine, 'commit', note)


def _locked(connection: sa.Connection) -> int:
    """Return how many rows the transaction on the connection has locked."""
    thread = connection.exec_driver_sql('SELECT CONNECTION_ID()').scalar_one()
    # information_schema.innodb_trx may be a tenth of a second old.
    status = connection.exec_driver_sql('SHOW ENGINE INNODB STATUS').one()[2]
    for transaction in status.split('---TRANSACTION '):
        if re.search(rf'thread id {thread},', transaction):
            rows = re.search(r'(\d+) row lock\(s\)', transaction)
            return int(rows[1]) if rows else 0
    return 0


def lease_slots(region) -> objects.Lease:
    lease = region.lease_of((SLOTS, SLOT))
    region.work()
    return region.see(lease)


def test_the_end_of_a_lease_locks_no_other(region, locked):
    leases = [region.active_lease(), lease_slots(region)]
    del locked[:]
    region.forward(until=61)
    assert [region.status(lease) for lease in leases] == ['TERMINATED'] * 2
    assert max(locked) < FEW


def test_a_lease_that_is_deleted_locks_no_other(region, locked):
    leases = [region.active_lease(), lease_slots(region)]
    del locked[:]
    for lease in leases:
        region.delete(lease)
    region.work()
    assert not list(
        region.lease_lists.find(objects.LeaseQuery(project_id='lessee'))
    )
    assert max(locked) < FEW


def test_slots_that_are_changed_lock_no_others(region, locked):
    lease = region.lease_of((SLOTS, SLOT), start=30)
    del locked[:]
    region.change(lease, amount=1)
    assert max(locked) < FEW


def test_a_host_that_leaves_the_pool_locks_no_leases(region, locked):
    region.active_lease(minimum=2)
    region.forward(until=61)
    [known] = region.hosts.find(objects.HostQuery(name='one'))
    del locked[:]
    region.hosts.enrolment.remove(known.id, region.now)
    assert max(locked) < FEW
