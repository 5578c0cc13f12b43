# SPDX-License-Identifier: Apache-2.0
"""Old leases are deleted as a whole, and nothing else is deleted."""

import contextlib
import datetime
import itertools

import pytest
import sqlalchemy as sa

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import models
from nova_reservations.engine.upkeep import purge
from nova_reservations.testing.steps import Killed
from nova_reservations.testing.steps import Steps

DAY = datetime.timedelta(days=1)

NAMES = ('one', 'two', 'three')

OF_LEASES = (
    models.Lease,
    models.Reservation,
    models.Event,
    models.Allocation,
    models.AllocationAmount,
    models.Server,
    models.LeasedServer,
    models.ProjectAccess,
    models.UnfitHost,
)


@pytest.fixture
def region(make_region):
    """A region with two leases that are over, one active, one to come."""
    region = make_region(*NAMES)
    leases(region)
    return region


def leases(region):
    for end in 30, 40:
        region.lease(end=end)
    region.lease(end=6000)
    region.lease(start=5000, end=6000)
    region.forward(until=50)


def rows(region, *models):
    with region.database.reader() as session:
        return {
            model.__tablename__: session.scalar(
                sa.select(sa.func.count()).select_from(model)
            )
            for model in models
        }


def statuses(region):
    return sorted(
        str(lease.status)
        for lease in region.lease_lists.find(objects.LeaseQuery())
    )


def add_record(region, *ends):
    """Record uses that end in this many days from now."""
    with region.database.writer() as session:
        for number, end in enumerate(ends):
            session.execute(
                sa.insert(models.Usage).values(
                    lease_id=str(number),
                    reservation_id=str(number),
                    project_id='lessee',
                    user_id='user',
                    lease_name='a lease',
                    lease_type='scheduled',
                    resource_type=objects.HOST,
                    resource_class='VCPU',
                    amount=1,
                    degraded=False,
                    started_at=region.now - 100 * DAY,
                    ended_at=None if end is None else region.now + end * DAY,
                )
            )


def test_leases_that_are_over_go_and_those_active_or_to_come_stay(region):
    done = region.services.purge.purge(purge.Cutoffs(leases=region.now))
    assert statuses(region) == ['ACTIVE', 'PENDING']
    assert (done['leases'], done['reservations']) == (2, 2)
    assert rows(region, models.Reservation, models.Allocation) == {
        'nr_reservations': 2,
        'nr_allocations': 2,
    }
    assert not any(
        region.services.purge.purge(purge.Cutoffs(leases=region.now)).values()
    )


def test_a_lease_that_ended_after_the_time_stays(region):
    before = region.now - datetime.timedelta(minutes=15)
    done = region.services.purge.purge(purge.Cutoffs(leases=before))
    assert done['leases'] == 1
    assert statuses(region) == ['ACTIVE', 'PENDING', 'TERMINATED']


def test_a_dry_run_counts_what_is_deleted_then(region):
    asked = purge.Cutoffs(region.now, region.now, region.now)
    add_record(region, -5)
    counted = region.services.purge.count(asked)
    assert counted == region.services.purge.purge(asked)
    assert counted['leases'] == 2


def test_a_lease_of_which_something_may_be_in_nova_stays(region):
    with region.database.writer() as session:
        session.execute(sa.update(models.Lease).values(in_nova=True))
    done = region.services.purge.purge(purge.Cutoffs(leases=region.now))
    assert not any(done.values())


def test_the_record_goes_by_a_time_of_its_own(region):
    add_record(region, -50, -20, None)
    kept = rows(region, models.Usage)['nr_usage']
    region.services.purge.purge(purge.Cutoffs(leases=region.now))
    assert rows(region, models.Usage)['nr_usage'] == kept
    done = region.services.purge.purge(
        purge.Cutoffs(records=region.now - 30 * DAY)
    )
    assert done['records'] == 1
    assert rows(region, models.Usage)['nr_usage'] == kept - 1


def purging(make_region, **retention):
    region = make_region(*NAMES, **retention)
    leases(region)
    add_record(region, -5)
    region.now += 3 * DAY
    region.work()
    region.soon(purge.TASK)
    region.work()
    return region


def test_by_default_leases_are_kept_for_a_year_and_the_record_for_ever(
    make_region,
):
    region = purging(make_region)
    assert len(statuses(region)) == 4
    region.now += 361 * DAY
    region.soon(purge.TASK)
    region.work()
    assert len(statuses(region)) == 4
    region.now += 2 * DAY
    region.soon(purge.TASK)
    region.work()
    assert len(statuses(region)) == 2
    assert rows(region, models.Usage)['nr_usage'] >= 1


def test_a_promise_that_was_deleted_is_known_for_a_day(region):
    """So long leftovers of a suspended worker are recognised."""
    lease = region.lease(start=5)
    region.work()
    region.delete(lease)
    region.forward(until=52)
    known = models.DeletedLease, models.DeletedReservation
    assert [*rows(region, *known).values()] == [0, 1]
    region.soon(purge.TASK)
    region.work()
    assert [*rows(region, *known).values()] == [0, 1]
    region.now += DAY
    region.soon(purge.TASK)
    region.work()
    assert [*rows(region, *known).values()] == [0, 0]


def test_a_task_deletes_what_is_older_than_options_say(make_region):
    region = purging(make_region, lease_retention=2 * DAY)
    assert statuses(region) == ['ACTIVE', 'PENDING']
    record = rows(region, models.Usage)['nr_usage']
    region = purging(
        make_region, lease_retention=4 * DAY, usage_retention=6 * DAY
    )
    assert len(statuses(region)) == 4
    assert rows(region, models.Usage)['nr_usage'] == record - 1


def test_a_lease_that_changes_meanwhile_is_looked_at_again(
    region, monkeypatch
):
    """Another worker writes the lease during the first try, and revives it."""
    found = purge.rows.ended
    left = [True]

    def ended(session, *args):
        page = found(session, *args)
        if left:
            left.clear()
            session.execute(
                sa.update(models.Lease)
                .where(models.Lease.id == page[0].lease_id)
                .values(in_nova=True)
            )
            raise exception.Conflict(kind='Lease', id='of another')
        return page

    monkeypatch.setattr(purge.rows, 'ended', ended)
    done = region.services.purge.purge(purge.Cutoffs(leases=region.now))
    assert done['leases'] == 2


@pytest.mark.fuzz
def test_whoever_is_killed_leaves_whole_leases_only(make_region, monkeypatch):
    monkeypatch.setattr(purge, 'LEASES', 1)
    for number in itertools.count(1):
        region = make_region(*NAMES)
        leases(region)
        with Steps(region, number, kill) as steps:
            with contextlib.suppress(Killed):
                region.services.purge.purge(purge.Cutoffs(leases=region.now))
        left = len(statuses(region))
        assert rows(region, models.Reservation, models.Event) == {
            'nr_reservations': left,
            'nr_events': 3 * left,
        }
        region.services.purge.purge(purge.Cutoffs(leases=region.now))
        assert statuses(region) == ['ACTIVE', 'PENDING']
        if not steps.reached:
            break
    assert number >= 3


def kill(step):
    raise Killed(step)


def test_no_table_that_refers_to_leases_is_forgotten():
    """The tables that refer to reservations are compared with
    ``belongings.py`` in the unit tests."""
    theirs = {'nr_leases'}
    found = set()
    while theirs - found:
        found |= theirs
        theirs |= {
            table.name
            for table in models.Base.metadata.sorted_tables
            for key in table.foreign_keys
            if key.column.table.name in found
        }
    assert found == {model.__tablename__ for model in OF_LEASES}
