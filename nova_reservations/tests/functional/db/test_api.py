# SPDX-License-Identifier: Apache-2.0
from concurrent import futures
import datetime
import multiprocessing
import threading

import pytest
import sqlalchemy as sa

from nova_reservations import exception
from nova_reservations.db import api
from nova_reservations.db import counters
from nova_reservations.db import models
from nova_reservations.objects import states
from nova_reservations.tests import booking
from nova_reservations.tests import processes


def count(database):
    with database.reader() as session:
        return counters.value(session, 'booking')


def test_a_write_is_there_for_the_next_transaction(any_database):
    with any_database.writer() as session:
        counters.increment(session, 'booking')
    assert count(any_database) == 1


def test_a_transaction_that_an_exception_leaves_is_not_written(any_database):
    with pytest.raises(exception.NotFound):
        with any_database.writer() as session:
            counters.increment(session, 'booking')
            raise exception.NotFound(kind='x', id='y')
    assert count(any_database) == 0


def test_a_rehearsal_is_seen_by_itself_and_not_written(any_database):
    with any_database.rehearsal() as session:
        counters.increment(session, 'booking')
        assert counters.value(session, 'booking') == 1
    assert count(any_database) == 0


def test_a_transaction_in_a_transaction_is_one_of_its_own(any_database):
    """A check of a claim must see what other transactions have committed."""
    with any_database.reader() as outer:
        counters.value(outer, 'booking')
        with any_database.writer() as inner:
            counters.increment(inner, 'booking')
        assert count(any_database) == 1


def test_all_that_a_transaction_reads_is_of_one_moment(any_database):
    with any_database.reader() as session:
        before = counters.value(session, 'booking')
        with any_database.writer() as other:
            counters.increment(other, 'booking')
        assert counters.value(session, 'booking') == before
    assert count(any_database) == before + 1


@pytest.mark.parametrize('any_database', ['postgresql'], indirect=True)
def test_writers_do_not_see_the_one_moment_of_an_earlier_reader(any_database):
    count(any_database)
    with any_database.writer() as session:
        level = session.connection().get_isolation_level()
        assert level == 'READ COMMITTED'


def test_the_time_is_the_databases_in_utc_and_whole_seconds(any_database):
    before = datetime.datetime.now(datetime.UTC)
    now = any_database.now()
    assert now.utcoffset() == datetime.timedelta(0)
    assert now.microsecond == 0
    assert abs(now - before) < datetime.timedelta(seconds=5)


def test_a_database_that_is_not_there_is_unavailable():
    database = api.Database('mysql+pymysql://root@127.0.0.1:1/none')
    with pytest.raises(exception.DatabaseUnavailable):
        database.now()


def _lock(session, name):
    session.execute(
        sa.update(counters.COUNTER)
        .where(counters.COUNTER.c.name == name)
        .values(value=1)
    )


@pytest.mark.parametrize(
    'any_database', ['mysql', 'postgresql'], indirect=True
)
def test_of_writers_that_wait_in_a_circle_one_collides(any_database):
    """SQLite is left out: its writers wait before they begin."""
    meeting = threading.Barrier(2)

    def write(first, then):
        try:
            with any_database.writer() as session:
                _lock(session, first)
                meeting.wait(30)
                _lock(session, then)
        except exception.Conflict:
            return 'collided'
        return 'written'

    with futures.ThreadPoolExecutor() as pool:
        both = [
            pool.submit(write, 'pool', 'booking'),
            pool.submit(write, 'booking', 'pool'),
        ]
        assert {one.result() for one in both} == {'collided', 'written'}


def test_two_rows_of_one_key_collide(any_database):
    with pytest.raises(exception.Conflict):
        with any_database.writer() as session:
            session.execute(
                sa.insert(counters.COUNTER).values(name='booking', value=1)
            )


def test_a_row_of_what_was_deleted_meanwhile_collides(any_database):
    with pytest.raises(exception.Conflict):
        with any_database.writer() as session:
            session.execute(
                sa.insert(models.Event).values(
                    id='e',
                    lease_id='deleted',
                    event_type=states.EventType.START,
                    time=booking.NOW,
                    status=states.Event.UNDONE,
                    created_at=booking.NOW,
                )
            )


def test_a_row_that_a_check_refuses_is_no_failure_of_the_server(any_database):
    with pytest.raises(Exception, match='ck_nr_leases_status') as refusal:
        with any_database.writer() as session:
            booking.reservation(session, 0, 1)
            session.execute(sa.update(models.Lease).values(status='NONE'))
    assert not isinstance(refusal.value, exception.ReservationsError)


def _increment(url):
    database = api.Database(url)
    for _ in range(20):
        with database.writer() as session:
            counters.value(session, 'booking')
            counters.increment(session, 'booking')
    database.dispose()


def test_processes_that_read_and_then_write_lose_nothing(any_database):
    with processes.PROCESSES.Pool(4) as pool:
        pool.map(_increment, [any_database.url] * 4)
    assert count(any_database) == 80


def test_an_object_made_before_a_fork_is_as_good_after_it(any_database):
    database = api.Database(any_database.url)
    fork = multiprocessing.get_context('fork')
    child = fork.Process(target=_increment_by, args=(database,))
    child.start()
    child.join()
    assert count(database) == 1


def _increment_by(database):
    with database.writer() as session:
        counters.increment(session, 'booking')


@pytest.mark.parametrize('name', ['名前', '🧊', "'; DROP TABLE nr_leases; --"])
def test_any_text_is_stored_as_it_is(any_database, name):
    with any_database.writer() as session:
        session.execute(sa.insert(counters.COUNTER).values(name=name, value=7))
    with any_database.reader() as session:
        assert counters.value(session, name) == 7
