# SPDX-License-Identifier: Apache-2.0
"""The loop of the engine in two processes, of which one has the lock."""

from nova_reservations.scheduler import engine_locks
from nova_reservations.scheduler import loop


class Parts:
    """Stands for all parts of a loop; records its calls."""

    def __init__(self):
        self.used = []

    def look(self, ask=None):
        self.used.append('look')
        return ask() if ask else 'what is due'

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
