# SPDX-License-Identifier: Apache-2.0
"""The first requests that workers of nova-api answer."""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import os
import pathlib
import socket
import subprocess
import sys

from sandbox import person
from sandbox import polls
from sandbox import serve
from sandbox.bench import measure
from sandbox.bench import subject as su
from sandbox.bench.report import Figure
from sandbox.bench.report import Row

WORKERS = 3
CREATES = 60

#: Seconds until workers have loaded Nova.
_LOADED = 120


def fresh(subject: su.Subject) -> Row:
    """8 clients create at once, in 3 workers that have answered nothing."""
    floor: list[float] = []
    ours: list[float] = []
    for _ in range(subject.pick(1, 3)):
        floor += _first(subject, subject.floor_write)
        ours += _first(subject, subject.lease_write)
    least = measure.percentile(floor, 95)
    return Row(
        [
            Figure(
                f'{su.CLIENTS} clients, first {CREATES} creates of '
                f'{WORKERS} fresh workers, p95',
                measure.percentile(ours, 95),
                's',
                floor=least,
                limit=1.5 * least,
            )
        ]
    )


def _first(
    subject: su.Subject, write: Callable[[person.Person], float]
) -> list[float]:
    """Return the seconds of the first writes of fresh workers."""
    with _workers(subject) as url:
        for client in subject.clients:
            client.compute.endpoint_override = url
            client.reservation.endpoint_override = f'{url}/os-reservations/v1'
        try:
            return subject.each_client(
                lambda client, _: write(client), map(str, range(CREATES))
            )
        finally:
            for client in subject.clients:
                client.compute.endpoint_override = None
                client.reservation.endpoint_override = None
            subject.forget()


@contextlib.contextmanager
def _workers(subject: su.Subject) -> Iterator[str]:
    """Run another API beside that of the cloud; yield its URL."""
    log = subject.layout.log / 'nova-fresh.log'
    with (
        socket.create_server(('127.0.0.1', 0), backlog=1024) as listener,
        log.open('wb') as file,
    ):
        descriptor = listener.fileno()
        url = f'http://127.0.0.1:{listener.getsockname()[1]}/v2.1'
        process = subprocess.Popen(
            [
                sys.executable,
                '-m',
                'sandbox.serve',
                'nova',
                str(subject.layout.directory),
                str(os.getpid()),
                str(descriptor),
                str(WORKERS),
            ],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            pass_fds=[descriptor],
            start_new_session=True,
        )
    try:
        polls.until(
            f'{WORKERS} workers',
            lambda: _loaded(process, log),
            lambda count: count == WORKERS,
            _LOADED,
        )
        yield url
    finally:
        process.terminate()
        process.wait()


def _loaded(process: subprocess.Popen[bytes], log: pathlib.Path) -> int:
    """Return how many workers are loaded.

    :raises Unexpected: if they are not going to be
    """
    if process.poll() is not None:
        raise person.Unexpected('workers to load', log.read_text()[-2000:])
    return log.read_text().count(serve.LOADED)
