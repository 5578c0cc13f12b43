# SPDX-License-Identifier: Apache-2.0
"""The loop of the engine in two processes, of which one has the lock."""

import pytest

from nova_reservations.scheduler import engine_locks
from nova_reservations.scheduler import loop


class Look:
    now = 'now'

    def __str__(self):
        return 'what is due'


class Parts:
    """Stands for all parts of a loop; records its calls."""

    def __init__(self):
        self.used = []
        self.hangs = False
        self.is_busy = False

    def look(self, ask=None):
        self.used.append('look')
        return ask() if ask else Look()

    def tend(self, now):
        self.used.append(f'tend {now}')

    def begin(self, found):
        self.used.append(f'begin {found}')

    def stop(self):
        self.used.append('stop')

    def close(self):
        self.used.append('close')


def make(directory, parts):
    locks = engine_locks.EngineLocks(directory, 'host', 1)
    return loop.Loop(parts, parts, parts, locks)


def test_a_process_without_a_lock_asks_nothing(tmp_path):
    first, second = Parts(), Parts()
    loops = [make(tmp_path, parts) for parts in (first, second)]
    for _ in range(3):
        for one in loops:
            one._tick()
    assert first.used == 3 * ['look', 'look', 'begin what is due']
    assert second.used == []


def test_a_process_that_is_stopped_leaves_the_work_to_another(tmp_path):
    first, second = Parts(), Parts()
    loops = [make(tmp_path, parts) for parts in (first, second)]
    loops[0]._tick()
    loops[0].stop()
    assert first.used[-2:] == ['stop', 'close']
    # A tick may run after the stop, since it had begun before.
    loops[0]._tick()
    loops[1]._tick()
    assert first.used[-1] == 'close'
    assert second.used[-1] == 'begin what is due'


class Clock:
    seconds = 1000.0

    def __call__(self):
        return self.seconds


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    for module in (loop, engine_locks):
        monkeypatch.setattr(module.time, 'monotonic', clock)
    return clock


def test_a_process_whose_threads_hang_leaves_the_work_to_another(
    tmp_path, clock, caplog
):
    first, second = Parts(), Parts()
    loops = [make(tmp_path, parts) for parts in (first, second)]
    loops[0]._tick()
    first.hangs = first.is_busy = True
    for one in loops:
        one._tick()
    assert 'hang' in caplog.text
    # It goes on with what it has begun, and begins nothing.
    assert first.used[-1] == 'tend now'
    assert second.used[-1] == 'begin what is due'


def test_a_process_whose_threads_hang_goes_on_where_there_is_no_other(
    tmp_path, clock, caplog
):
    parts = Parts()
    alone = make(tmp_path, parts)
    parts.hangs = True
    offers = []
    for _ in range(2 * loop.REMINDER):
        alone._tick()
        offers.append(alone.locks._lock is None)
        clock.seconds += 1
    assert sum(offers) == 2 * engine_locks.OFFER
    assert caplog.text.count('Half of the threads') == 2
    parts.hangs = False
    alone._tick()
    assert parts.used[-1] == 'begin what is due'
    assert alone._offered_at is None


def test_a_look_that_hangs_keeps_no_lock(tmp_path, clock):
    first, second = Parts(), Parts()
    hung, other = [make(tmp_path, parts) for parts in (first, second)]

    def hang():
        clock.seconds += loop.SILENCE
        hung.watch()
        other._tick()
        return Look()

    first.look = lambda ask=None: ask() if ask else hang()
    hung._tick()
    assert first.used == ['tend now']
    assert second.used[-1] == 'begin what is due'
