# SPDX-License-Identifier: Apache-2.0
"""Each kind of database decides which worker sends a message."""

from concurrent import futures
import datetime

from nova_reservations.db.leases import looks
from nova_reservations.db.leases import messages
from nova_reservations.tests import booking
from nova_reservations.tests.functional.db import told

NOW = booking.NOW
SECOND = datetime.timedelta(seconds=1)
UNTIL = NOW + 30 * SECOND


def write(database, *found):
    with database.writer() as session:
        messages.write(session, found, NOW)


def due(database, now=NOW, without=()):
    with database.reader() as session:
        found = messages.find(session, now, 10, without)
        assert looks.at(session, now).message == bool(found or without)
    return found


def claim(database, found):
    with database.writer() as session:
        return messages.claim(session, found, UNTIL)


def test_of_workers_that_find_a_message_due_a_single_one_gets_it(any_database):
    assert due(any_database) == []
    write(any_database, told.message(7))
    [found] = due(any_database)
    with futures.ThreadPoolExecutor() as pool:
        won = list(pool.map(claim, [any_database] * 8, [found] * 8))
    assert won.count(True) == 1
    assert due(any_database) == []
    assert due(any_database, UNTIL) == [found._replace(attempt=1)]


def test_a_worker_that_has_lost_its_claim_writes_nothing(any_database):
    write(any_database, told.message(7))
    [found] = due(any_database)
    assert claim(any_database, found)
    [again] = due(any_database, UNTIL)
    assert claim(any_database, again)
    with any_database.writer() as session:
        assert messages.get(session, found.id, 1) is None
        assert not messages.put_off(session, found.id, 1, NOW)
        assert not messages.remove(session, found.id, 1)
        kept = messages.get(session, found.id, 2)
        assert messages.remove(session, found.id, 2)
    assert kept == (told.message(7), None)


def test_a_message_is_written_in_place_of_an_earlier_one(any_database):
    write(any_database, told.message(7), told.message(8))
    for found in due(any_database):
        claim(any_database, found)
    write(any_database, told.message(7, 'another'))
    assert due(any_database) == [
        messages.Due(told.message(7).id, 0, 'another')
    ]
    assert due(any_database, without=['another']) == []
