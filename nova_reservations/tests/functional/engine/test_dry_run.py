# SPDX-License-Identifier: Apache-2.0
"""A dry run answers as the real request would, and leaves no trace."""

import pytest
import sqlalchemy as sa

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import models
from nova_reservations.engine.booking import lease_requests
from nova_reservations.objects import states
from nova_reservations.testing.region import minutes

EVERY_TABLE = models.Lease.metadata.sorted_tables


def rows(region):
    """Return all rows of all tables."""
    with region.database.reader() as session:
        return {
            table.name: sorted(map(repr, session.execute(sa.select(table))))
            for table in EVERY_TABLE
        }


@pytest.fixture
def leaves_no_trace(region):
    """Return a function that makes a dry run, and checks that the database,
    Nova and the notifications stay as they were."""

    def run(call, *args, **options):
        before, told = rows(region), list(region.notes)
        picture = region.picture()
        try:
            return call(*args, dry_run=True, **options)
        finally:
            assert rows(region) == before
            assert region.notes == told
            assert region.picture() == picture

    return run


def asked(region, minimum=1, kind=None):
    return lease_requests.NewLease(
        name='a lease',
        project_id='lessee',
        user_id='user',
        start=region.now,
        end=region.now + minutes(60),
        before_end=None,
        reservations=(
            lease_requests.NewReservation(
                objects.HOST, {'min': minimum, 'max': minimum}
            ),
        ),
        lease_type=kind,
    )


def test_a_lease_that_would_be_promised_is_shown(region, leaves_no_trace):
    wanted = asked(region)
    shown = leaves_no_trace(region.leases.create, wanted, region.now)
    made = region.leases.create(wanted, region.now)
    assert (shown.status, shown.start_date, shown.end_date) == (
        states.Lease.PENDING,
        made.start_date,
        made.end_date,
    )
    with pytest.raises(exception.NotFound):
        region.leases.get(shown.id)


def test_the_same_lease_is_shown_again_and_again(region, leaves_no_trace):
    wanted = asked(region, minimum=3)
    for _ in range(3):
        leaves_no_trace(region.leases.create, wanted, region.now)


def test_a_lease_that_would_be_refused_is_refused(region, leaves_no_trace):
    region.lease(minimum=2)
    wanted = asked(region, minimum=2)
    with pytest.raises(exception.NotEnoughResources) as shown:
        leaves_no_trace(region.leases.create, wanted, region.now)
    with pytest.raises(exception.NotEnoughResources) as refused:
        region.leases.create(wanted, region.now)
    assert str(shown.value) == str(refused.value)


def test_a_lease_that_would_wait_has_no_place_yet(region, leaves_no_trace):
    region.lease(minimum=3)
    wanted = asked(region, kind=states.LeaseType.RETRY)
    shown = leaves_no_trace(region.leases.create, wanted, region.now)
    assert (shown.status, shown.arrival) == (states.Lease.CREATING, None)
    assert 'taken in this window' in str(shown.status_reason)


def test_hosts_that_would_be_emptied_are_left_alone(make_region):
    region = make_region('one', best_effort_aggregate='drainable')
    region.add_drainable('drainable-1')
    region.lease()
    before, told = rows(region), list(region.notes)
    shown = region.leases.create(
        asked(region, kind=states.LeaseType.BEST_EFFORT),
        region.now,
        dry_run=True,
    )
    assert shown.status == states.Lease.IN_PROGRESS
    assert (rows(region), region.notes) == (before, told)


def test_a_change_that_would_be_made_is_shown(region, leaves_no_trace):
    lease = region.lease(end=60)
    changes = lease_requests.LeaseChanges(
        name='new',
        end=region.now + minutes(90),
        reservations={lease.reservations[0].id: {'min': 2, 'max': 2}},
    )
    shown = leaves_no_trace(
        region.leases.update, lease.id, changes, region.now
    )
    made = region.leases.update(lease.id, changes, region.now)
    assert shown == made


def test_a_change_that_would_be_refused_is_refused(region, leaves_no_trace):
    lease = region.active_lease(minimum=2, end=60)
    region.lease(start=60, end=120, minimum=3)
    changes = lease_requests.LeaseChanges(end=region.now + minutes(61))
    with pytest.raises(exception.NotEnoughResources):
        leaves_no_trace(region.leases.update, lease.id, changes, region.now)
    assert region.see(lease).end_date == lease.end_date
