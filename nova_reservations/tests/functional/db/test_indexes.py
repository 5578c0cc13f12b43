# SPDX-License-Identifier: Apache-2.0
"""Each query that runs often has its index, and reads no table as a whole."""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import dataclasses
import pathlib
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db import migration
from nova_reservations.db import models
from nova_reservations.db.holdings import allocations
from nova_reservations.db.holdings import calendar
from nova_reservations.db.holdings import candidates
from nova_reservations.db.holdings import cordons as cordon_rows
from nova_reservations.db.holdings import freed_resources
from nova_reservations.db.holdings import healing
from nova_reservations.db.holdings import promises
from nova_reservations.db.holdings import shares
from nova_reservations.db.leases import access
from nova_reservations.db.leases import due_leases
from nova_reservations.db.leases import freed_capacity
from nova_reservations.db.leases import idempotency
from nova_reservations.db.leases import leased_servers
from nova_reservations.db.leases import leases
from nova_reservations.db.leases import looks
from nova_reservations.db.leases import retry_queue
from nova_reservations.db.leases import server_failures
from nova_reservations.db.resources import hosts
from nova_reservations.db.resources import resources
from nova_reservations.objects import demand
from nova_reservations.objects import search
from nova_reservations.objects import states
from nova_reservations.testing import fake_cloud
from nova_reservations.tests import booking
from nova_reservations.tests import conftest
from nova_reservations.tests.functional.db import held
from nova_reservations.tests.functional.db import inventoried
from nova_reservations.tests.functional.db import listed
from nova_reservations.tests.functional.db import plans
from nova_reservations.tests.functional.db import purged
from nova_reservations.tests.functional.db import shared_leases
from nova_reservations.tests.functional.db import told

HOSTS = 1000
PROJECTS = 100
"""Enough projects for a database to prefer indexes to scans."""

NEW = {'created_at': booking.NOW}


TERMS = search.Search(
    booking.NOW, start_at=HOSTS // 2, ignore=[listed.lease_id(1)]
)


def find_candidates(asked: str | None) -> Callable[[orm.Session], object]:
    wanted = search.Wanted(
        listed.lease_id(1),
        booking.wanted(2, asked=asked),
        booking.window(102, 103),
        held={1: 1, 2: 1},
    )
    return lambda session: candidates.find(session, wanted, TERMS, page=20)


def find_shares(**amounts: int) -> Callable[[orm.Session], object]:
    """Read two pages of hosts, as if the first had too few slots."""
    wanted = search.Wanted(
        listed.lease_id(1),
        demand.Share(objects.HOST, 1, {'VCPU': 1, **amounts}),
        booking.window(102, 103),
        held={1: 1, 2: 3},
    )

    def look(session: orm.Session) -> None:
        pages = shares.pages(session, wanted, TERMS)
        for _ in range(2):
            next(pages)

    return look


def find_clearable(session: orm.Session) -> None:
    """Look for hosts that a lease could have if all left that may."""
    wanted = search.Wanted(
        listed.lease_id(1), booking.wanted(2), booking.window(102, 103)
    )
    kinds = [promises.Movable('', '', objects.HOST, '{}')]
    for stays in (
        lambda held: promises.stays(held, TERMS),
        lambda held: promises.stays_unless(held, TERMS, kinds),
    ):
        candidates.clearable(session, wanted, TERMS, stays, 2)


DURING = allocations.During(booking.at(50), booking.at(60), booking.NOW)

OF_CANDIDATES = frozenset(
    {
        'ix_nr_resources_spread',
        'ix_nr_allocations_end',
        'ix_nr_allocations_start',
        'ix_nr_allocations_resource',
    }
)

OFTEN = {
    **held.OFTEN,
    **inventoried.OFTEN,
    **listed.OFTEN,
    **purged.OFTEN,
    **shared_leases.OFTEN,
    **told.OFTEN,
    'who waits, in order': listed.Often(
        retry_queue.in_order,
        frozenset({'ix_nr_leases_status', 'ix_nr_reservations_lease_id'}),
    ),
    'the places of those that wait': listed.Often(
        lambda session: retry_queue.positions(session, {7, 9}),
        frozenset({'ix_nr_leases_status'}),
    ),
    'whether anybody waits': listed.Often(
        lambda session: retry_queue.is_any(session, 1000),
        frozenset({'ix_nr_leases_status'}),
    ),
    'what came free': listed.Often(
        lambda session: list(freed_resources.load(session, [1, 2, 3])),
        frozenset({'ix_nr_allocations_resource'}),
    ),
    'who waits and is just tried': listed.Often(
        lambda session: retry_queue.in_hand(session, booking.NOW),
        frozenset({'ix_nr_leases_status'}),
    ),
    'whether anything is due': listed.Often(
        lambda session: looks.at(session, booking.at(9)),
        # No index: MariaDB reads its first entry while it plans.
    ),
    'what is due': listed.Often(
        lambda session: due_leases.find(session, booking.at(9), 10),
        frozenset({'ix_nr_leases_due'}),
    ),
    'what is due of others': listed.Often(
        lambda session: due_leases.find(
            session, booking.at(9), 10, ['project-7', 'project-8']
        ),
        frozenset({'ix_nr_leases_due'}),
    ),
    'a lease': listed.Often(
        lambda session: leases.get(session, listed.lease_id(7)),
        listed.OF_A_LEASE,
    ),
    'who may use a reservation': listed.Often(
        lambda session: access.find(session, listed.lease_id(7)),
        frozenset({'uq_nr_allocations_reservation_id_resource_id_start_date'}),
    ),
    'whose a reservation is, for each run of a scheduler': listed.Often(
        lambda session: access.owners(
            session, [listed.lease_id(7), listed.lease_id(8)]
        ),
        frozenset({'uq_nr_allocations_reservation_id_resource_id_start_date'}),
    ),
    'the hosts of a reservation': listed.Often(
        lambda session: allocations.holdings(session, [listed.lease_id(7)]),
        frozenset({'uq_nr_allocations_reservation_id_resource_id_start_date'}),
    ),
    'the whole hosts of a reservation, by name': listed.Often(
        lambda session: hosts.whole(session, listed.lease_id(7)),
        frozenset({'uq_nr_allocations_reservation_id_resource_id_start_date'}),
    ),
    'a page of the calendar of a project': listed.Often(
        lambda session: calendar.taken(
            session, range(1, 9), DURING, 'project-7', 100
        ),
        # SQLite does not use ix_nr_allocations_resource, see below.
    ),
    'whom it concerns that a host is wanted': listed.Often(
        lambda session: cordon_rows.find(session, 7, booking.window(1, 9)),
        # SQLite does not use ix_nr_allocations_resource, see below.
    ),
    'what leases have of a resource, by class': listed.Often(
        lambda session: resources.shares(session, 7),
    ),
    'what is promised, for the calendar of a project': listed.Often(
        lambda session: calendar.promised(
            session, objects.HOST, DURING, 'project-7', 100
        ),
        frozenset({'ix_nr_allocations_start'}),
    ),
    'whether any lease lacks something': listed.Often(
        lambda session: freed_capacity.freed(session, booking.at(9), []),
        frozenset({'ix_nr_leases_degraded'}),
    ),
    'what was replaced': listed.Often(
        lambda session: healing.replaced(session, booking.at(9)),
        frozenset({'ix_nr_allocations_replaced'}),
    ),
    'whose first hosts are back': listed.Often(
        lambda session: healing.returned(session),
        frozenset({'ix_nr_leases_degraded'}),
    ),
    'what a reservation had at first': listed.Often(
        lambda session: healing.former(session, listed.lease_id(7)),
        frozenset({'uq_nr_allocations_reservation_id_resource_id_start_date'}),
    ),
    'candidates': listed.Often(find_candidates(None), OF_CANDIDATES),
    'candidates that meet requirements': listed.Often(
        find_candidates(
            '["and", [">=", "$vcpus", "8"], [">", "$rack", "3"], '
            '["==", "$trait:HW_CPU_X86_VMX", "required"], '
            '[">=", "$inventory:VCPU", "8"]]'
        ),
        OF_CANDIDATES,
    ),
    'hosts that promises could leave': listed.Often(
        find_clearable, frozenset({'ix_nr_resources_spread'})
    ),
    'room for shares': listed.Often(
        find_shares(MEMORY_MB=512),
        # SQLite does not use ix_nr_allocations_resource: without statistics
        # it has no reason to prefer it.
        frozenset({'ix_nr_resources_spread', 'ix_nr_allocations_end'}),
    ),
    'room for shares of what is below hosts': listed.Often(
        find_shares(**{'VGPU/2+CUSTOM_A': 2}),
        frozenset({'ix_nr_resources_spread', 'ix_nr_allocations_end'}),
    ),
    'what earlier leases still hold': listed.Often(
        lambda session: allocations.predecessors(
            session, [leases.get(session, listed.lease_id(7))]
        ),
        # SQLite does not use ix_nr_allocations_resource, see below.
        listed.OF_A_LEASE
        | {'uq_nr_allocations_reservation_id_resource_id_start_date'},
    ),
    'servers that may be gone': listed.Often(
        # The database may use the index of these servers, or the primary key.
        lambda session: leased_servers.watched(session, '0', 50)
    ),
    'servers whose hosts do not work': listed.Often(
        lambda session: server_failures.suspects(session, booking.NOW),
        frozenset({'ix_nr_leased_servers_down_since'}),
    ),
    'servers on such hosts': listed.Often(
        lambda session: server_failures.active(session, [listed.lease_id(10)])
    ),
    'what we have changed of hosts ourselves': listed.Often(
        lambda session: hosts.move_provider_generations(
            session, {str(number): (0, 1) for number in range(1, 3)}
        ),
    ),
    'whether a request was sent before': listed.Often(
        # It uses the primary key, which PostgreSQL names differently.
        lambda session: idempotency.made(
            session, objects.IdempotencyKey('7', 'project-7', '')
        )
    ),
    'how many keys a project has': listed.Often(
        lambda session: idempotency.count(session, 'project-7', 10_000),
        frozenset({'ix_nr_idempotency_keys_project_id'}),
    ),
    'which keys are to be forgotten': listed.Often(
        lambda session: idempotency.remove(session, booking.NOW, 1000),
        frozenset({'ix_nr_idempotency_keys_created_at'}),
    ),
    'the slots of a reservation': listed.Often(
        lambda session: allocations.slots(session, [listed.lease_id(7)]),
        frozenset({'uq_nr_allocations_reservation_id_resource_id_start_date'}),
    ),
}


Rows = Iterator[dict[str, Any]]

ENROLLED = range(1, HOSTS + 1)
PROMISED = range(listed.LEASES)


def fill(session: orm.Session) -> None:
    for model, rows in (
        (models.Property, _properties()),
        (models.Resource, _resources()),
        (models.Host, _hosts()),
        (models.HostTrait, _traits()),
        (models.Inventory, inventoried.rows(ENROLLED)),
        *inventoried.more(ENROLLED),
        (models.ResourceProperty, _properties_of_hosts()),
        (models.Lease, _leases()),
        (models.Reservation, _reservations()),
        (models.LeasedServer, _leased_servers()),
        (models.ProjectAccess, shared_leases.rows()),
        (models.Message, told.rows()),
        (models.Event, _events()),
        (models.Allocation, _allocations()),
        (models.AllocationAmount, _amounts()),
        (models.IdempotencyKey, _keys()),
        *purged.rows(),
    ):
        session.execute(sa.insert(model), list(rows))


def _properties() -> Rows:
    yield {'id': 1, 'name': 'rack', 'private': False} | NEW


def _resources() -> Rows:
    for number in ENROLLED:
        yield {
            'id': number,
            'resource_type': objects.HOST,
            'name': f'host-{number}',
            'uuid': str(number),
            'reservable': True,
            'spread': number,
        } | NEW


def _facts() -> dict[str, Any]:
    return dataclasses.asdict(fake_cloud.facts('host'))


def _hosts() -> Rows:
    facts = {
        column: value
        for column, value in _facts().items()
        if column in models.Host.__table__.c
    }
    for number in ENROLLED:
        yield {'resource_id': number} | facts


def _traits() -> Rows:
    # As many traits as a CPU has features.
    more = (f'CUSTOM_{number}' for number in range(9))
    traits = [*_facts()['traits'], *more]
    for number in ENROLLED:
        for trait in traits:
            yield {'resource_id': number, 'trait': trait}


def _properties_of_hosts() -> Rows:
    for number in ENROLLED:
        yield {
            'resource_id': number,
            'property_id': 1,
            'value': str(number % 40),
            'number': number % 40,
        }


def _leases() -> Rows:
    for number in PROMISED:
        yield {
            'id': listed.lease_id(number),
            'name': f'lease-{number}',
            'series_id': listed.lease_id(number // 10),
            'project_id': f'project-{number % PROJECTS}',
            'user_id': '',
            'start_date': booking.at(number % 200),
            'end_date': booking.at(number % 200 + 1),
            # As in a real cloud, half of the leases have begun.
            'status': states.Lease.ACTIVE
            if number % 2
            else states.Lease.PENDING,
            # As with default_reservation, most leases were not asked for.
            'by_default': number % (20 * PROJECTS) >= PROJECTS,
            'due_at': booking.at(number % 200),
            'created_at': booking.at(number / 3600),
        }


def _reservations() -> Rows:
    for number in PROMISED:
        yield {
            'id': listed.lease_id(number),
            'lease_id': listed.lease_id(number),
            'position': 0,
            'resource_type': objects.HOST,
            'status': states.Reservation.ACTIVE
            if number % 2
            else states.Reservation.PENDING,
            'params': {},
            'open_to': None if number % 3 else f'project-{number % PROJECTS}',
        } | NEW


def _leased_servers() -> Rows:
    for number in PROMISED:
        yield {
            'server_uuid': f'{number:036}',
            'reservation_id': listed.lease_id(number),
            'position': 0,
            # Most servers are gone.
            'released_at': booking.NOW if number % 10 else None,
        } | NEW


def _events() -> Rows:
    for number in PROMISED:
        for kind in states.EventType:
            yield {
                'id': f'{kind}-{number}',
                'lease_id': listed.lease_id(number),
                'event_type': kind,
                'time': booking.at(number % 200),
                'status': states.Event.UNDONE,
            } | NEW


def _allocations() -> Rows:
    for number in PROMISED:
        for which in (0, 1):
            yield {
                'reservation_id': listed.lease_id(number),
                'resource_id': 1 + (2 * number + which) % HOSTS,
                'start_date': booking.at(number % 200),
                'end_date': booking.at(number % 200 + 1),
                'exclusive': number % 3 > 0,
            }


def _amounts() -> Rows:
    for number in range(1, 2 * listed.LEASES + 1):
        for resource_class in ('MEMORY_MB', 'VCPU'):
            yield {
                'allocation_id': number,
                'resource_class': resource_class,
                'amount': 1,
            }


def _keys() -> Rows:
    for number in PROMISED:
        yield {
            'digest': str(number),
            'project_id': f'project-{number % PROJECTS}',
            'body': '',
            'lease_id': listed.lease_id(number),
            'created_at': booking.at(number / 3600),
        }


def analyse(database: api.Database) -> None:
    """Update the server's statistics, as it does by itself in time."""
    verb = {'mysql': 'ANALYZE TABLE', 'postgresql': 'VACUUM ANALYZE'}
    engine = database.engine().execution_options(isolation_level='AUTOCOMMIT')
    if engine.dialect.name in verb:
        with engine.connect() as connection:
            for table in models.Base.metadata.sorted_tables:
                connection.exec_driver_sql(
                    f'{verb[engine.dialect.name]} {table.name}'
                )


@contextlib.contextmanager
def filled_database(
    backend: str,
    directory: pathlib.Path,
    fill: Callable[[orm.Session], None] = fill,
) -> Iterator[api.Database]:
    with conftest.empty_database(backend, directory) as url:
        database = api.Database(url)
        migration.sync(database)
        with database.writer() as session:
            fill(session)
        analyse(database)
        yield database
        database.dispose()


@pytest.mark.parametrize('query', OFTEN)
def test_a_query_that_runs_often_uses_its_indexes(filled, query):
    backend = filled.engine().dialect.name
    plan = plans.of(filled, OFTEN[query].run)
    told = '\n'.join(map(str, plan))
    assert plan
    assert not [
        row for row in plan if plans.reads_a_whole_table(backend, row)
    ], told
    # SQLite names the indexes of constraints itself.
    named = {
        name
        for name in OFTEN[query].indexes
        if backend != 'sqlite' or name.startswith('ix_')
    }
    assert not {name for name in named if name not in told}, told


def test_every_index_for_candidates_and_leases_is_needed_by_a_query():
    needed = frozenset().union(*(often.indexes for often in OFTEN.values()))
    for model in (models.Lease, models.Event, models.Allocation):
        for index in model.__table__.indexes:
            assert index.name in needed
