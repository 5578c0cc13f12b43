# SPDX-License-Identifier: Apache-2.0
"""Promises that can't move are told by the database, before any is read."""

import dataclasses

import pytest
import sqlalchemy as sa

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import models
from nova_reservations.engine import budgets
from nova_reservations.engine import transactions
from nova_reservations.engine.booking import allocations
from nova_reservations.engine.booking import fixed_promises
from nova_reservations.engine.booking import lease_requests
from nova_reservations.objects import demand
from nova_reservations.objects import interval
from nova_reservations.objects import search
from nova_reservations.testing.region import minutes
from nova_reservations.tests.functional.engine import failures

GPU = {'resource_properties': '["==", "$gpu", "yes"]'}


@pytest.fixture
def region(make_region):
    return make_region('one', 'two')


def is_blocked(region, count=1, *, ignore=(), budget=None):
    """Return whether hosts for the next four hours are blocked for good."""
    wanted = search.Wanted(
        'newcomer',
        demand.Demand(objects.HOST, count, count),
        interval.Interval(region.now, region.now + minutes(240)),
    )
    with region.database.reader() as session:
        return fixed_promises.block_all(
            session,
            region.types,
            [wanted],
            search.Search(region.now, ignore=ignore),
            budget,
        )


def write(region, lease, **columns):
    table = models.Allocation
    with region.database.writer() as session:
        session.execute(
            sa.update(table)
            .where(table.reservation_id == lease.reservations[0].id)
            .values(**columns)
        )


def asked(region):
    """Return a request for one host for the next four hours."""
    return lease_requests.NewLease(
        name='newcomer',
        project_id='lessee',
        user_id='user',
        start=region.now,
        end=region.now + minutes(240),
        before_end=None,
        reservations=(
            lease_requests.NewReservation(objects.HOST, {'min': 1, 'max': 1}),
        ),
    )


class TestBlocked:
    def test_promises_of_any_host_block_nothing(self, region):
        for start in 60, 150:
            region.lease(start=start, end=start + 30, minimum=2)
        assert not is_blocked(region, 2)

    def test_hosts_asked_for_by_their_names_are_blocked(self, region):
        region.lease(start=60, end=90, **failures.on('one'))
        assert not is_blocked(region)
        assert is_blocked(region, 2)
        region.lease(start=150, end=180, **failures.on('two'))
        assert is_blocked(region)

    def test_a_lease_that_has_begun_blocks(self, region):
        region.lease(end=30, minimum=2)
        region.work()
        assert is_blocked(region)

    def test_shares_block(self, region):
        shared, _ = (
            region.lease(start=start, end=start + 30, minimum=2)
            for start in (60, 150)
        )
        assert not is_blocked(region)
        write(region, shared, exclusive=False)
        assert is_blocked(region)

    def test_a_promise_that_meets_its_requirements_elsewhere_blocks_nothing(
        self, make_region
    ):
        region = make_region()
        for name in 'one', 'two':
            region.add_host(name, enrol=False)
            region.enrol(name, gpu='yes')
        region.lease(start=60, end=90, minimum=2, **GPU)
        assert not is_blocked(region, 2)

    def test_the_promises_of_the_newcomer_itself_block_nothing(self, region):
        own = region.lease(start=60, end=90, minimum=1, **failures.on('one'))
        assert is_blocked(region, 2)
        assert not is_blocked(
            region, 2, ignore=[item.id for item in own.reservations]
        )


class TestBudget:
    @pytest.fixture
    def crossed(self, region):
        """Only one host is taken at any time, but none is free for all of
        it."""
        hosts = []
        for start in 60, 150:
            lease = region.lease(start=start, end=start + 30)
            hosts.append((lease, region.hosts_of(lease)))
        if hosts[0][1] == hosts[1][1]:
            with region.database.reader() as session:
                ids = session.scalars(
                    sa.select(models.Resource.id).order_by(models.Resource.id)
                ).all()
            write(region, hosts[0][0], resource_id=ids[0])
            write(region, hosts[1][0], resource_id=ids[1])

    def plan(self, region, budget):
        lease = region.leases.requests.draft(asked(region), region.now)
        with region.database.reader() as session:
            return region.leases.allocations.plan(
                session,
                lease,
                region.now,
                allocations.Terms(
                    attempt=transactions.Attempt(searches=True, budget=budget),
                    moves_promises=True,
                ),
            )

    def test_a_search_ends_when_it_is_spent(self, region, crossed):
        assert self.plan(region, None).moved
        spent = iter([0, 0, 2])
        budget = budgets.Budget(1, cpu=lambda: next(spent, 2))
        with pytest.raises(exception.NotEnoughResources):
            self.plan(region, budget)

    def test_a_dry_run_ends_when_it_is_spent(self, region, monkeypatch):
        monkeypatch.setattr(budgets, 'DRY_RUN_SECONDS', -1.0)
        with pytest.raises(exception.TooLong, match='fewer reservations'):
            region.leases.create(asked(region), region.now, dry_run=True)
        region.leases.create(asked(region), region.now)


class TestMany:
    """Anybody can ask for many reservations, each with other requirements."""

    @pytest.fixture
    def statements(self, region):
        """A function that returns how often the database is asked for a
        refusal of so many reservations."""
        found = []

        def note(connection, cursor, statement, *more):
            found.append(statement)

        def of(count):
            found.clear()
            with pytest.raises(exception.NotEnoughResources):
                region.leases.create(self.asked(region, count), region.now)
            return len(found)

        engine = region.database.engine()
        sa.event.listen(engine, 'before_cursor_execute', note)
        yield of
        sa.event.remove(engine, 'before_cursor_execute', note)

    def asked(self, region, count):
        return dataclasses.replace(
            asked(region),
            reservations=tuple(
                lease_requests.NewReservation(
                    objects.HOST, {'min': 1, 'max': 1 + number}
                )
                for number in range(count)
            ),
        )

    def test_reservations_after_one_without_room_cost_nothing(
        self, region, statements
    ):
        for host in 'one', 'two':
            region.lease(start=60, end=90, **failures.on(host))
        assert statements(12) <= statements(1)

    def test_promises_that_may_move_are_looked_up_once_for_all(
        self, region, statements
    ):
        for start in 60, 150:
            region.lease(start=start, end=start + 30, minimum=2)
        few, many = statements(3), statements(9)
        assert many - few < 6 * 3

    def test_a_spent_budget_ends_the_look_at_reservations(self, region):
        for host in 'one', 'two':
            region.lease(start=60, end=90, **failures.on(host))
        assert is_blocked(region)
        assert not is_blocked(region, budget=budgets.Budget(-1))
