# SPDX-License-Identifier: Apache-2.0
"""At most a quarter of the threads of nova-api wait for leases."""

import sys
import types

import pytest

from nova_reservations.cloud import api_threads


def run_by(monkeypatch, server, **facts):
    monkeypatch.setitem(sys.modules, server, types.SimpleNamespace(**facts))


@pytest.mark.parametrize('threads', [1, 2, 3, 4, 16, 32])
@pytest.mark.parametrize('processes', [1, 2, 4, 5, 7])
def test_all_processes_of_uwsgi_together_let_a_quarter_wait(
    monkeypatch, threads, processes
):
    parts = []
    for process in range(1, processes + 1):
        run_by(
            monkeypatch,
            'uwsgi',
            cores=threads,
            numproc=processes,
            worker_id=lambda process=process: process,
        )
        parts.append(api_threads.may_wait(0))
    assert sum(parts) == threads * processes // 4
    assert max(parts) - min(parts) <= 1


def test_the_master_of_uwsgi_lets_nobody_wait(monkeypatch):
    run_by(monkeypatch, 'uwsgi', cores=32, numproc=2, worker_id=lambda: 0)
    assert api_threads.may_wait(0) == 0


def test_processes_of_mod_wsgi_let_a_quarter_wait_each(monkeypatch):
    run_by(monkeypatch, 'mod_wsgi', threads_per_process=15)
    assert api_threads.may_wait(0) == 3


def test_the_package_of_mod_wsgi_is_no_server(monkeypatch):
    run_by(monkeypatch, 'mod_wsgi')
    assert api_threads.may_wait(0) == 0


def test_nobody_waits_if_the_server_does_not_say_how_many_it_has():
    assert api_threads.may_wait(0) == 0


def test_the_number_that_an_operator_says_comes_first(monkeypatch):
    run_by(monkeypatch, 'mod_wsgi', threads_per_process=15)
    assert api_threads.may_wait(8) == 2
