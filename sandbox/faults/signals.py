# SPDX-License-Identifier: Apache-2.0
"""Signals to nova-scheduler, on which it must reload, or end gracefully.

A fault is over when its function returns.
"""

from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses
import signal
import subprocess
import time

from sandbox import config
from sandbox import layout as lo
from sandbox import person
from sandbox import polls
from sandbox import story
from sandbox.faults import faults

#: Seconds in which nova-scheduler must end: Nova's graceful_shutdown_timeout.
_GRACEFUL = 60

#: The line that Nova logs when a worker starts, or starts again.
_STARTS = 'Starting scheduler node'


@dataclasses.dataclass(frozen=True)
class _Kind:
    """A way to run nova-scheduler."""

    service: str
    workers: int
    threads: bool


_KINDS = tuple(
    _Kind(service, workers, threads)
    for threads in (True, False)
    for service, workers in zip(lo.SCHEDULERS, (1, 8), strict=True)
)


def scheduler_signalled(scene: faults.Scene) -> None:
    """nova-schedulers of one worker and of eight, on threads and on eventlet,
    get SIGHUP, then SIGTERM."""
    for kind in _KINDS:
        with _running(scene, kind):
            time.sleep(scene.chance.uniform(2, 4))
            _reload(scene, kind)
            time.sleep(scene.chance.uniform(2, 4))
            _end(scene, kind)


@contextlib.contextmanager
def _running(scene: faults.Scene, kind: _Kind) -> Iterator[None]:
    """Run a nova-scheduler in this way; in the end, as before."""
    services = scene.services
    conf = services.layout.etc / config.conf_of_host(kind.service)
    before = conf.read_text()
    no_eventlet = str(kind.threads).lower()
    try:
        conf.write_text(f'{before}\n[scheduler]\nworkers = {kind.workers}\n')
        services.kill(kind.service)
        with _starting(scene, kind):
            services.restart(
                kind.service,
                {'OS_NOVA_DISABLE_EVENTLET_PATCHING': no_eventlet},
            )
        yield
    finally:
        conf.write_text(before)
        services.kill(kind.service)
        services.restart(kind.service)


@contextlib.contextmanager
def _starting(scene: faults.Scene, kind: _Kind) -> Iterator[None]:
    """Check that all of its workers start, and none of its processes ends."""
    before = _starts(scene, kind)
    yield
    polls.until(
        f'{kind} to start',
        lambda: _starts(scene, kind) - before,
        lambda seen: seen == kind.workers,
        _GRACEFUL,
    )
    story.expect(f'the end of {kind}', None, _process(scene, kind).poll())


def _starts(scene: faults.Scene, kind: _Kind) -> int:
    log = scene.services.layout.log / f'{kind.service}.log'
    return log.read_text().count(_STARTS)


def _reload(scene: faults.Scene, kind: _Kind) -> None:
    """Make it read its configuration again: on threads it gets new workers, on
    eventlet the existing workers do so."""
    with contextlib.ExitStack() as stack:
        if kind.threads:
            stack.enter_context(_starting(scene, kind))
        _process(scene, kind).send_signal(signal.SIGHUP)


def _end(scene: faults.Scene, kind: _Kind) -> None:
    process = _process(scene, kind)
    story.expect(f'the end of {kind}', None, process.poll())
    process.terminate()
    try:
        process.wait(_GRACEFUL)
    except subprocess.TimeoutExpired as error:
        raise person.Unexpected(
            f'{kind} to end within {_GRACEFUL} s', 'it runs'
        ) from error


def _process(scene: faults.Scene, kind: _Kind) -> subprocess.Popen[bytes]:
    return scene.services.process(kind.service)


FAULTS: Mapping[str, faults.Fault] = {
    'scheduler-signalled': scheduler_signalled
}
