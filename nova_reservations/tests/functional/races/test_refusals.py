# SPDX-License-Identifier: Apache-2.0
"""Requests that are refused, or only look, keep nobody waiting; of those that
find room, all are granted that fit.
"""

from collections import Counter
from concurrent import futures
import datetime

import pytest
import sqlalchemy as sa

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db import counters
from nova_reservations.db import models
from nova_reservations.engine.booking import lease_requests
from nova_reservations.tests import conftest
from nova_reservations.tests.functional.races import conftest as races
from nova_reservations.tests.functional.races import load

HOSTS = load.HOSTS
RACERS = 8
NOW = datetime.datetime(2040, 1, 1, tzinfo=datetime.UTC)
"""The time for load.one_of_all, which asks for the second hour from then
on."""

SERVERS = pytest.mark.parametrize(
    'any_database', ['mysql', 'postgresql'], indirect=True
)
"""On SQLite there is one lock for all writers."""

EVERYWHERE = pytest.mark.parametrize(
    'any_database', [*conftest.BACKENDS, *races.IF_LONG], indirect=True
)


@pytest.fixture
def party(any_database):
    """Ten hosts are enrolled."""
    load.JOURNAL.create(any_database.engine())
    party = load.join(any_database.url)
    for name in HOSTS:
        party.hosts.enrolment.enrol(name, {}, party.database.now())
    yield party
    party.database.dispose()


def minutes(number):
    return datetime.timedelta(minutes=number)


def lease(party, start, end, *, requirements='', dry_run=False):
    return party.leases.create(
        lease_requests.NewLease(
            name='one',
            project_id='p',
            user_id='u',
            start=NOW + minutes(start),
            end=NOW + minutes(end),
            before_end=None,
            reservations=(
                lease_requests.NewReservation(
                    objects.HOST,
                    {
                        'min': 1,
                        'max': 1,
                        'resource_properties': requirements,
                    },
                ),
            ),
        ),
        NOW,
        dry_run=dry_run,
    )


def promise(party, host, start, end, *, named=False):
    """Promise a host by hand."""
    requirements = f'["==", "$service_name", "{host}"]' if named else ''
    made = lease(party, start, end, requirements=requirements)
    resource, allocation = models.Resource, models.Allocation
    with party.database.writer() as session:
        host_id = session.scalar(
            sa.select(resource.id).where(resource.name == host)
        )
        session.execute(
            sa.update(allocation)
            .where(allocation.reservation_id == made.reservations[0].id)
            .values(resource_id=host_id)
        )


def promise_in_turn(party, *, named=False):
    """Promise each host for another tenth of the second hour: at any instant
    nine of them are free, but none is free for the whole of it."""
    for number, host in enumerate(HOSTS):
        start = 60 + 6 * number
        promise(party, host, start, start + 6, named=named)


@SERVERS
class TestLock:
    def test_a_refused_lease_does_not_take_it(self, party):
        promise_in_turn(party, named=True)
        with party.database.rehearsal() as session:
            counters.increment(session, 'booking')
            with pytest.raises(exception.NotEnoughResources):
                lease(party, 60, 120)

    def test_a_dry_run_does_not_take_it(self, party):
        promise_in_turn(party)
        with party.database.rehearsal() as session:
            counters.increment(session, 'booking')
            assert lease(party, 60, 120, dry_run=True).status == 'PENDING'

    def test_a_booking_that_waits_for_it_too_long_is_told_so(
        self, party, monkeypatch
    ):
        promise_in_turn(party)
        monkeypatch.setattr(api, 'LOCK_WAIT_SECONDS', 1)
        hurried = load.join(party.database.url)
        with party.database.rehearsal() as session:
            counters.increment(session, 'booking')
            with pytest.raises(exception.LockedTooLong) as refusal:
                lease(hurried, 60, 120)
        assert 'try again in a few seconds' in refusal.value.public
        lease(hurried, 60, 120)
        hurried.database.dispose()


def answers(party, gates):
    """Return the answers to racers for the second hour."""
    # Threads, each with connections of its own: most of the time is spent in
    # the database, and processes would take long to start.
    with futures.ThreadPoolExecutor(RACERS) as pool:
        racers = [
            pool.submit(load.one_of_all, next(gates), 1) for _ in range(RACERS)
        ]
        given = sum((racer.result() for racer in racers), Counter())
    return {answer.split()[1]: count for answer, count in given.items()}


def held_twice(party):
    """Return hosts that two leases have at one time."""
    one, other = sa.orm.aliased(models.Allocation), models.Allocation
    with party.database.reader() as session:
        return session.scalars(
            sa.select(one.resource_id).where(
                one.resource_id == other.resource_id,
                one.id < other.id,
                one.start_date < other.end_date,
                other.start_date < one.end_date,
            )
        ).all()


@EVERYWHERE
class TestRace:
    def test_the_only_room_has_exactly_one_winner(self, party, gates):
        for host in HOSTS[:8]:
            promise(party, host, 60, 120)
        promise(party, HOSTS[8], 60, 90)
        promise(party, HOSTS[9], 90, 120)
        assert answers(party, gates) == {
            'done': 1,
            'NotEnoughResources': RACERS - 1,
        }
        assert held_twice(party) == []

    def test_leases_for_which_promises_can_move_are_all_granted(
        self, party, gates
    ):
        promise_in_turn(party)
        assert answers(party, gates) == {'done': RACERS}
        assert held_twice(party) == []
