# SPDX-License-Identifier: Apache-2.0
"""A request waits a short time only for calls that are no longer its own."""

import queue
import threading

import pytest

from nova_reservations.cloud import in_time

NEVER = 60.0
"""Seconds for which no test waits."""


@pytest.fixture
def outage():
    """An outage during which calls hang."""
    over = threading.Event()
    yield over
    over.set()


def test_a_call_is_over_when_the_request_goes_on():
    done = []
    assert in_time.InTime(NEVER)(lambda: done.append(True))
    assert done == [True]


def test_a_call_that_hangs_is_left_alone_and_goes_on_after_the_outage(outage):
    done = threading.Event()

    def hang():
        outage.wait()
        done.set()

    assert not in_time.InTime(0)(hang)
    outage.set()
    assert done.wait(NEVER)


def test_calls_that_hang_keep_their_places(outage):
    calls, begun = in_time.InTime(0, at_once=2), queue.Queue()

    def hang():
        begun.put(threading.current_thread())
        outage.wait()

    assert [calls(hang) for _ in range(3)] == [False] * 3
    threads = [begun.get(timeout=NEVER) for _ in range(2)]
    outage.set()
    for thread in threads:
        thread.join(NEVER)
    assert begun.empty()
    assert in_time.InTime(NEVER, at_once=2)(lambda: None)


def test_a_call_that_fails_leaves_its_place(caplog):
    calls = in_time.InTime(NEVER, at_once=1)

    def fail():
        raise OSError('it has failed')

    for _ in range(2):
        assert calls(fail)
    assert 'it has failed' in caplog.text


def test_no_exit_of_a_process_waits_for_a_call_that_hangs(outage):
    begun = queue.Queue()

    def hang():
        begun.put(threading.current_thread())
        outage.wait()

    in_time.InTime(0)(hang)
    assert begun.get(timeout=NEVER).daemon


def test_where_there_are_no_threads_the_request_goes_on(monkeypatch):
    def refuse(thread):
        raise RuntimeError("can't start new thread")

    calls = in_time.InTime(NEVER, at_once=1)
    monkeypatch.setattr(threading.Thread, 'start', refuse)
    assert not calls(lambda: None)
    monkeypatch.undo()
    assert calls(lambda: None)
