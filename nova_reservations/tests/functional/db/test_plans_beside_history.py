# SPDX-License-Identifier: Apache-2.0
"""MariaDB chooses good plans even if most leases are over.

It must look up allocations host by host, and not read those of all hosts in a
window, although its estimates include past allocations. It must read events
from an index alone: since IDs are random, the rows of a lease are scattered.
"""

from collections.abc import Callable
from collections.abc import Iterator
import uuid

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db import models
from nova_reservations.db.holdings import candidates
from nova_reservations.db.holdings import leaving
from nova_reservations.db.holdings import promises
from nova_reservations.db.holdings import shares
from nova_reservations.db.leases import lease_pages
from nova_reservations.db.leases import leases
from nova_reservations.objects import demand
from nova_reservations.objects import search
from nova_reservations.objects import states
from nova_reservations.tests import booking
from nova_reservations.tests.functional.db import plans
from nova_reservations.tests.functional.db import test_indexes

# One process fills the database, for all tests of the module.
pytestmark = pytest.mark.xdist_group('plans beside history')

HOSTS = 20

ENDED = 300
"""The number of leases that each host has had."""

PROMISED = 4
"""The number of future leases of each host."""

NOW = booking.at(ENDED)
WINDOW = booking.window(ENDED + 2, ENDED + 3)
TERMS = search.Search(NOW, start_at=0, ignore=['another'])


def find_candidates(session: orm.Session) -> None:
    wanted = search.Wanted('one', booking.wanted(2), WINDOW)
    candidates.find(session, wanted, TERMS, page=4)


def find_shares(session: orm.Session) -> None:
    share = demand.Share(objects.HOST, 1, {'VCPU': 1, 'MEMORY_MB': 512})
    wanted = search.Wanted('one', share, WINDOW)
    list(shares.pages(session, wanted, TERMS))


def find_not_taken(session: orm.Session) -> None:
    candidates.not_taken(session, objects.HOST, None, WINDOW, NOW)


def find_clearable(session: orm.Session) -> None:
    wanted = search.Wanted('one', booking.wanted(2), WINDOW)
    for stays in (
        lambda held: promises.stays(held, TERMS),
        lambda held: promises.stays_unless(held, TERMS, []),
    ):
        candidates.clearable(session, wanted, TERMS, stays, HOSTS)


BY_HOST: dict[str, Callable[[orm.Session], None]] = {
    'candidates': find_candidates,
    'shares': find_shares,
    'whatever is not taken': find_not_taken,
    'what promises could leave': find_clearable,
}


def fill(session: orm.Session) -> None:
    """Add leases that follow each other, and give all hosts to each."""
    enrolled = [
        booking.enrol(session, f'host-{number}', spread=number)
        for number in range(HOSTS)
    ]
    for number in range(ENDED + PROMISED):
        reservation_id = booking.reservation(session, number, number + 1)
        session.execute(
            sa.insert(models.Allocation),
            [
                {
                    'reservation_id': reservation_id,
                    'resource_id': host_id,
                    'start_date': booking.at(number),
                    'end_date': booking.at(number + 1),
                    'exclusive': True,
                    'released': number < ENDED,
                }
                for host_id in enrolled
            ],
        )
    session.execute(
        sa.insert(models.Event),
        [
            {
                'id': str(uuid.uuid4()),
                'lease_id': lease_id,
                'event_type': kind,
                'time': NOW,
                'status': states.Event.UNDONE,
                'created_at': NOW,
            }
            for lease_id in session.scalars(sa.select(models.Lease.id))
            for kind in states.EventType
        ],
    )


@pytest.fixture(scope='module')
def filled(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[api.Database]:
    directory = tmp_path_factory.mktemp('history')
    with test_indexes.filled_database('mysql', directory, fill) as database:
        yield database


@pytest.mark.parametrize('query', BY_HOST)
def test_a_host_is_looked_at_by_what_it_holds(filled, query):
    plan = plans.of(filled, BY_HOST[query])
    assert {
        row.key
        for row in plan
        if row.select_type == 'DEPENDENT SUBQUERY'
        and row.table.startswith('nr_allocations')
    } == {'ix_nr_allocations_resource'}, plan


def test_promises_of_some_hosts_are_looked_up_host_by_host(filled):
    plan = plans.of(
        filled,
        lambda session: promises.held(session, [1, 2], WINDOW, TERMS),
    )
    [row] = plan
    assert row.key == 'ix_nr_allocations_resource', plan


def test_the_lease_that_still_has_a_host_is_looked_up_by_the_host(filled):
    plan = plans.of(filled, lambda session: leaving.is_left_by_all(session, 1))
    assert {row.table: row.key for row in plan} == {
        'nr_allocations': 'ix_nr_allocations_resource',
        'nr_reservations': 'PRIMARY',
        'nr_leases': 'PRIMARY',
    }, plan


def test_whose_promises_may_move_is_looked_up_by_their_ids(filled):
    with filled.reader() as session:
        ids = session.scalars(sa.select(models.Reservation.id).limit(2)).all()
    plan = plans.of(
        filled, lambda session: promises.movable(session, ids, NOW)
    )
    assert {row.table: row.key for row in plan} == {
        'nr_reservations': 'PRIMARY',
        'nr_leases': 'PRIMARY',
    }, plan


def page(session: orm.Session, limit: int = 50) -> list[objects.Lease]:
    return lease_pages.page(session, objects.LeaseQuery(limit=limit))[0]


@pytest.mark.parametrize('limit', [1, 50])
def test_events_of_leases_are_read_from_an_index_alone(filled, limit):
    plan = plans.of(filled, lambda session: page(session, limit))
    [events] = [row for row in plan if row.table == 'nr_events']
    assert events.key == 'ix_nr_events_read', plan
    assert 'Using index' in events.Extra.split('; '), plan


def test_an_event_is_written_by_the_index_that_has_no_other_beside_it(filled):
    """With any other index MariaDB would lock the gap up to the next lease,
    and block a transaction that creates a lease in it."""
    with filled.reader() as session:
        [seen] = page(session, 1)
    plan = plans.of(
        filled,
        lambda session: leases.change(
            session,
            seen,
            NOW,
            events={states.EventType.END: states.Event.DONE},
        ),
    )
    [event] = [row for row in plan if row.table == 'nr_events']
    assert event.key == 'uq_nr_events_lease_id_event_type', plan
