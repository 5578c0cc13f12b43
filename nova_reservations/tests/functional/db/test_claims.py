# SPDX-License-Identifier: Apache-2.0
"""Each kind of database decides which worker may work on a lease."""

from concurrent import futures
import datetime

from nova_reservations.db.leases import due_leases
from nova_reservations.db.leases import leases
from nova_reservations.objects import states
from nova_reservations.tests.functional.db.test_leases import lease
from nova_reservations.tests.functional.db.test_leases import NOON
from nova_reservations.tests.functional.db.test_leases import read
from nova_reservations.tests.functional.db.test_leases import store

SECOND = datetime.timedelta(seconds=1)
LATER = NOON + 30 * SECOND


def claim(database, one, attempt=0, worker='w', now=NOON):
    with database.writer() as session:
        return leases.claim(
            session, one.id, attempt, worker, now, until=now + 30 * SECOND
        )


def due(database, now=NOON, limit=9):
    with database.reader() as session:
        return due_leases.find(session, now, limit)


def held(database, one, attempt, *statuses):
    with database.reader() as session:
        return leases.is_held(
            session, one.id, attempt, statuses or [states.Lease.PENDING]
        )


def test_the_longest_due_is_first_and_the_limit_holds(any_database):
    new = [lease(due_at=NOON - n * SECOND) for n in (1, 3, 2)]
    store(any_database, *new, lease(), lease(due_at=NOON + SECOND))
    assert due(any_database) == [
        (new[index].id, 0, False, 'p', False) for index in (1, 2, 0)
    ]
    assert due(any_database, limit=1) == [(new[1].id, 0, False, 'p', False)]


def test_a_prepared_lease_that_begins_now_is_said_to_be_ready(any_database):
    ready = lease(due_at=NOON, start_date=NOON, prepared=True)
    store(
        any_database,
        ready,
        lease(due_at=NOON, start_date=NOON),
        lease(due_at=NOON, start_date=NOON + SECOND, prepared=True),
        lease(
            due_at=NOON,
            start_date=NOON,
            prepared=True,
            status=states.Lease.ACTIVE,
        ),
    )
    assert [one.id for one in due(any_database) if one.ready] == [ready.id]


def test_of_claims_of_an_attempt_one_wins(any_database):
    one = lease(due_at=NOON)
    store(any_database, one)
    with futures.ThreadPoolExecutor() as pool:
        won = list(
            pool.map(
                lambda name: claim(any_database, one, worker=name), 'abcdefgh'
            )
        )
    assert sorted(won) == [False] * 7 + [True]
    claimed = read(any_database, one)
    assert claimed.claimed_by == 'abcdefgh'[won.index(True)]
    assert (claimed.attempt, claimed.due_at) == (1, LATER)


def test_a_lease_that_is_not_due_is_not_claimed(any_database):
    one = lease(due_at=NOON + SECOND)
    store(any_database, one)
    assert not claim(any_database, one)


def test_a_claim_stands_until_it_expires(any_database):
    one = lease(due_at=NOON)
    store(any_database, one)
    assert claim(any_database, one)
    assert due(any_database, LATER - SECOND) == []
    assert not claim(any_database, one, attempt=1, now=LATER - SECOND)
    # The worker has not renewed the claim, so another one may take it.
    assert due(any_database, LATER) == [(one.id, 1, False, 'p', True)]
    assert claim(any_database, one, attempt=1, now=LATER)
    assert not held(any_database, one, 1)
    assert held(any_database, one, 2)


def test_a_claim_is_renewed_only_by_who_holds_it(any_database):
    one = lease(due_at=NOON)
    store(any_database, one)
    claim(any_database, one)
    for attempt, kept in ((1, True), (0, False), (2, False)):
        with any_database.writer() as session:
            assert leases.renew(session, one.id, attempt, LATER) is kept
    with any_database.writer() as session:
        assert leases.release(session, read(any_database, one), None)
    with any_database.writer() as session:
        assert not leases.renew(session, one.id, 1, LATER)
    assert read(any_database, one).due_at is None


def test_a_claim_is_given_back_only_on_what_was_seen(any_database):
    one = lease(due_at=NOON)
    store(any_database, one)
    claim(any_database, one)
    seen = read(any_database, one)
    with any_database.writer() as session:
        leases.change(session, seen, NOON, name='new')
    with any_database.writer() as session:
        assert not leases.release(session, seen, None)
    assert held(any_database, one, 1)


def test_a_claim_does_not_hold_a_lease_in_another_status(any_database):
    one = lease(due_at=NOON)
    store(any_database, one)
    claim(any_database, one)
    assert held(any_database, one, 1, states.Lease.PENDING)
    assert not held(any_database, one, 1, states.Lease.DELETING)
