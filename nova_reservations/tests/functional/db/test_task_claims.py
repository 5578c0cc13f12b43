# SPDX-License-Identifier: Apache-2.0
"""Each kind of database decides which worker does a periodic task."""

from concurrent import futures
import datetime
import threading

from nova_reservations.db import tasks
from nova_reservations.db.leases import looks

NOON = datetime.datetime(2030, 1, 1, 12, tzinfo=datetime.UTC)
SECOND = datetime.timedelta(seconds=1)
UNTIL = NOON + 30 * SECOND
NEXT = NOON + 3600 * SECOND
ROUNDS = 20


def due(database, now=NOON):
    with database.reader() as session:
        return looks.at(session, now).tasks.get('refresh')


def take(database, attempt=0, now=NOON, until=UNTIL):
    with database.writer() as session:
        return tasks.take(session, 'refresh', attempt, now, until, NEXT)


def renew(database, attempt, until):
    with database.writer() as session:
        return tasks.renew(session, 'refresh', attempt, until)


def finish(database, attempt):
    with database.writer() as session:
        return tasks.finish(session, 'refresh', attempt)


def hurry(database, now=NOON):
    with database.writer() as session:
        tasks.hurry(session, 'refresh', now)


def test_of_workers_that_find_a_task_due_a_single_one_gets_it(any_database):
    with futures.ThreadPoolExecutor() as pool:
        won = list(pool.map(take, [any_database] * 8))
    assert won.count(True) == 1
    assert due(any_database) is None


def test_a_task_that_is_done_is_due_at_its_next_time(any_database):
    assert take(any_database)
    assert finish(any_database, 1)
    assert due(any_database, NEXT - SECOND) is None
    assert due(any_database, NEXT) == 1


def test_a_claim_that_is_not_renewed_expires(any_database):
    assert take(any_database)
    assert due(any_database, UNTIL - SECOND) is None
    assert due(any_database, UNTIL) == 1
    assert take(any_database, 1, UNTIL, NEXT)


def test_a_claim_that_is_renewed_stands_beyond_the_next_time(any_database):
    assert take(any_database)
    later = NEXT + 60 * SECOND
    assert renew(any_database, 1, later)
    assert due(any_database, NEXT + SECOND) is None
    # Another worker may try, if it read the task while that was due.
    assert not take(any_database, 1, NEXT + SECOND, later)
    assert due(any_database, later) == 1


def test_a_worker_that_has_lost_the_claim_neither_renews_nor_ends_it(
    any_database,
):
    assert take(any_database)
    assert take(any_database, 1, UNTIL, UNTIL + 30 * SECOND)
    assert not renew(any_database, 1, NEXT)
    assert not finish(any_database, 1)
    assert due(any_database, UNTIL + 29 * SECOND) is None
    assert finish(any_database, 2)


def test_a_claim_that_was_ended_is_not_renewed(any_database):
    """A renewal may have begun before the end of the run."""
    assert take(any_database)
    assert finish(any_database, 1)
    assert not renew(any_database, 1, NEXT)
    assert due(any_database, NEXT) == 1


def test_a_task_that_is_hurried_under_way_runs_once_more(any_database):
    assert take(any_database)
    hurry(any_database, NOON + SECOND)
    assert due(any_database, NOON + SECOND) is None
    assert renew(any_database, 1, UNTIL + SECOND)
    assert finish(any_database, 1)
    assert due(any_database, NOON + SECOND) == 1
    assert take(any_database, 1, NOON + SECOND)
    assert finish(any_database, 2)
    assert due(any_database, NEXT - SECOND) is None


def test_two_never_run_and_no_hurry_is_lost(any_database):
    """Workers take, renew and end a task while another thread hurries it."""
    lock = threading.Lock()
    running, together, seen, asked = set(), [], [], []

    def work(worker):
        for _ in range(ROUNDS):
            attempt = due(any_database)
            if attempt is None or not take(any_database, attempt):
                continue
            with lock:
                together.extend(running)
                running.add(worker)
                seen.append(len(asked))
            renew(any_database, attempt + 1, UNTIL + SECOND)
            with lock:
                running.remove(worker)
            finish(any_database, attempt + 1)

    def ask():
        for number in range(ROUNDS):
            with lock:
                asked.append(number)
            hurry(any_database)

    with futures.ThreadPoolExecutor() as pool:
        begun = [pool.submit(work, number) for number in range(4)]
        begun.append(pool.submit(ask))
        for one in begun:
            one.result()
    assert not together
    assert seen
    # Either a run began after the last hurry, or the task is due again.
    assert due(any_database) is not None or seen[-1] == ROUNDS
