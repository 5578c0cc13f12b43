# SPDX-License-Identifier: Apache-2.0
"""A cell that does not answer costs one question at a time, and no more."""

from concurrent import futures
import contextlib
import threading

from oslo_db import exception as db_exc
import pytest
import sqlalchemy as sa

from nova_reservations import exception
from nova_reservations.cloud import lines

NOW = 0.01
"""Seconds; too short for an answer of the cell."""


class Clock:
    def __init__(self):
        self.seconds = 100.0

    def __call__(self):
        return self.seconds


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(lines.time, 'monotonic', clock)
    return clock


@pytest.fixture
def database(monkeypatch):
    """The answer of the cell's database to a ping."""
    database = {'ping': lambda: None}
    monkeypatch.setattr(
        lines._Question, '_ping', lambda self: database['ping']()
    )
    return database


@pytest.fixture
def line(clock, database):
    return lines.Line('one', live=5, longest=5)


def answer(context, *names):
    return list(names)


@contextlib.contextmanager
def hanging(line, database):
    """Let the cell not answer inside the block."""
    back = threading.Event()
    database['ping'], live, line.live = back.wait, line.live, NOW
    try:
        yield
    finally:
        database['ping'], line.live = (lambda: None), live
        back.set()
        if line._unanswered:
            line._unanswered.join()


def test_a_line_says_what_the_cell_says(line):
    assert line.ask(None, answer, 'a', 'b') == ['a', 'b']


def test_an_error_of_a_question_is_no_silence(line):
    def wrong(context):
        raise KeyError('a defect')

    with pytest.raises(KeyError):
        line.ask(None, wrong)
    assert line.ask(None, answer, 'a') == ['a']


def test_a_question_that_the_database_can_not_answer_now_is_no_silence(line):
    def deadlock(context):
        raise db_exc.DBDeadlock

    with pytest.raises(exception.CloudUnavailable, match='database'):
        line.ask(None, deadlock)
    assert line.ask(None, answer, 'a') == ['a']


@pytest.mark.parametrize(
    'error',
    [ConnectionRefusedError(), sa.exc.ArgumentError('nobody knows this URL')],
)
def test_a_cell_that_can_not_be_asked_is_silent_at_once(line, database, error):
    def refuse():
        raise error

    database['ping'] = refuse
    with pytest.raises(exception.CloudUnavailable, match='Cell one'):
        line.ask(None, answer)


def test_a_silent_cell_is_asked_nothing_for_a_while(line, clock, database):
    with hanging(line, database), pytest.raises(exception.CloudUnavailable):
        line.ask(None, answer)
    with pytest.raises(exception.CloudUnavailable, match='before'):
        line.ask(None, answer)
    clock.seconds += lines.SHORTEST
    assert line.ask(None, answer, 'a') == ['a']
    assert line.ask(None, answer, 'a') == ['a']


def test_pauses_are_each_longer_than_the_one_before(line, clock, database):
    line.longest = 4 * lines.SHORTEST
    pauses = []
    for _ in range(4):
        with (
            hanging(line, database),
            pytest.raises(exception.CloudUnavailable),
        ):
            line.ask(None, answer)
        pauses.append(line._silent_until - clock.seconds)
        clock.seconds = line._silent_until
    assert pauses == [lines.SHORTEST * factor for factor in (1, 2, 4, 4)]


def test_a_silent_cell_costs_one_connection_however_long_it_is_silent(
    line, clock, database
):
    asked, back = [], threading.Event()

    def ping():
        asked.append(threading.current_thread())
        back.wait()

    database['ping'], live, line.live = ping, line.live, NOW
    for _ in range(5):
        with pytest.raises(exception.CloudUnavailable):
            line.ask(None, answer)
        clock.seconds += lines.LONGEST
    assert len(asked) == 1
    # The time limit of the driver ends it, and then the cell is asked again.
    back.set()
    asked[0].join()
    line.live = live
    assert line.ask(None, answer, 'a') == ['a']


def test_an_answer_that_takes_too_long_is_silence(line):
    back = threading.Event()
    line.longest = NOW
    with pytest.raises(exception.CloudUnavailable, match='no answer'):
        line.ask(None, lambda context: back.wait() and [])
    back.set()


def test_questions_do_not_wait_while_one_looks_whether_the_cell_is_back(
    line, clock, database
):
    with hanging(line, database), pytest.raises(exception.CloudUnavailable):
        line.ask(None, answer)
    clock.seconds += lines.SHORTEST
    asked, back = threading.Event(), threading.Event()

    def ping():
        asked.set()
        back.wait()

    database['ping'] = ping
    with futures.ThreadPoolExecutor(1) as pool:
        first = pool.submit(line.ask, None, answer, 'a')
        asked.wait()
        with pytest.raises(exception.CloudUnavailable, match='before'):
            line.ask(None, answer, 'b')
        back.set()
        assert first.result() == ['a']


def test_questions_are_asked_one_at_a_time(line):
    busy, together = threading.Lock(), []

    def question(context, number):
        together.append(not busy.acquire(blocking=False))
        busy.release()
        return [number]

    with futures.ThreadPoolExecutor(8) as pool:
        found = list(
            pool.map(
                lambda number: line.ask(None, question, number), range(40)
            )
        )
    assert found == [[number] for number in range(40)]
    assert not any(together)


def test_cells_have_lines_of_their_own():
    known = lines.Lines()
    assert known.to('a uuid', 'one') is known.to('a uuid', 'one')
    assert known.to('a uuid', 'one') is not known.to('another', 'two')
