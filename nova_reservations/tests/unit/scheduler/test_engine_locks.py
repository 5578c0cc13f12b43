# SPDX-License-Identifier: Apache-2.0
"""A fixed number of processes of a host runs the engine, even if some die."""

import multiprocessing
import os
import signal

import pytest

from nova_reservations.scheduler import engine_locks

SECONDS = 30
FORK = multiprocessing.get_context('fork')


@pytest.fixture
def locks(tmp_path):
    """Makes the locks of one more process of this host."""

    def process(count=2, host='controller'):
        return engine_locks.EngineLocks(tmp_path / 'locks', host, count)

    return process


def test_locks_are_had_by_so_many_and_no_others(locks):
    processes = [locks() for _ in range(4)]
    assert [one.acquire() for one in processes] == [True, True, False, False]
    assert [one.acquire() for one in processes] == [True, True, False, False]


def test_a_released_lock_is_had_by_another(locks):
    first, second, third = locks(), locks(), locks()
    assert first.acquire()
    assert second.acquire()
    assert not third.acquire()
    first.release()
    assert third.acquire()
    assert not locks().acquire()


def test_a_worker_that_has_released_its_lock_gets_none_again(locks):
    """A look may be about to begin when the process is stopped."""
    one = locks()
    one.release()
    assert not one.acquire()
    assert locks(count=1).acquire()


def test_other_hosts_have_their_own(locks):
    """Hosts may share the directory of the locks."""
    assert locks(count=1).acquire()
    assert locks(count=1, host='other').acquire()


def hold(lock, ready):
    assert lock.acquire()
    ready.set()
    signal.pause()


def test_the_lock_of_a_process_that_was_killed_is_free(locks):
    ready = FORK.Event()
    process = FORK.Process(target=hold, args=(locks(count=1), ready))
    process.start()
    assert ready.wait(SECONDS)
    waiting = locks(count=1)
    assert not waiting.acquire()
    process.kill()
    process.join(SECONDS)
    assert waiting.acquire()


def test_a_process_that_is_begun_meanwhile_does_not_keep_it(locks):
    """Examples are the privsep daemon, and qemu-img."""
    one = locks(count=1)
    assert one.acquire()
    assert not os.get_inheritable(one._lock)


def test_leases_start_where_no_file_can_be_made(tmp_path, caplog):
    directory = tmp_path / 'a file'
    directory.touch()
    processes = [
        engine_locks.EngineLocks(directory, 'controller', 1) for _ in range(2)
    ]
    assert all(one.acquire() for _ in range(3) for one in processes)
    assert caplog.text.count('can not agree') == 2


def test_a_worker_that_has_begun_without_a_lock_goes_on(locks, tmp_path):
    directory = tmp_path / 'locks'
    directory.touch()
    one = locks(count=1)
    assert one.acquire()
    # The directory is repaired, and another process gets the lock in it.
    directory.unlink()
    assert locks(count=1).acquire()
    assert one.acquire()


def test_only_the_own_user_can_lock_the_files(locks, tmp_path):
    locks().acquire()
    (file,) = (tmp_path / 'locks').iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
