# SPDX-License-Identifier: Apache-2.0
"""Memory of a Nova process that answers requests, with and without us."""

from collections.abc import Callable
import datetime
import gc
import pathlib
import time

from sandbox import layout as lo
from sandbox.bench.probes import programs


def growth(
    layout: lo.Layout, process: str, ours: bool, token: str, rounds: int
) -> list[float]:
    """Return the private memory of this process in MiB, while it answers
    requests: after the first round, after a tenth of the rounds, and after
    all. There must be at least 3 rounds."""
    if process == 'nova-api':
        api = programs.Api(layout, ours, nova=False)
        call = _api_traffic(api, token, ours)
    else:
        scheduler = programs.Scheduler(layout, ours)
        call = _scheduler_traffic(scheduler, ours)
    seen = []
    marks = 1, max(rounds // 10, 2), rounds
    for number in range(rounds + 1):
        if number in marks:
            gc.collect()
            seen.append(_own_memory())
        call(number)
    return seen


def listing(
    layout: lo.Layout, ours: bool, token: str, path: str, key: str
) -> dict[str, float]:
    """Return how many items nova-api lists, in how many seconds, and by how
    many MiB its memory grows."""
    api = programs.Api(layout, ours, nova=False)
    (application,) = api.applications
    # The first fills caches.
    api.ask(application, token, 'GET', f'{path.partition("?")[0]}?limit=1')
    gc.collect()
    # Reset the kernel's peak value of the memory.
    pathlib.Path('/proc/self/clear_refs').write_text('5')
    before, began = _peak_memory(), time.perf_counter()
    count = sum(
        piece.count(f'"{key}":'.encode())
        for piece in api.pieces(application, token, path)
    )
    return {
        'count': count,
        'seconds': time.perf_counter() - began,
        'mib': _peak_memory() - before,
    }


def _peak_memory() -> float:
    """Return the peak memory of this process in MiB."""
    status = pathlib.Path('/proc/self/status').read_text()
    (line,) = (each for each in status.splitlines() if 'VmHWM' in each)
    return int(line.split()[1]) / 1024


def _api_traffic(
    api: programs.Api, token: str, ours: bool
) -> Callable[[int], None]:
    (application,) = api.applications

    def call(number: int) -> None:
        api.ask(application, token, 'GET', '/os-server-groups')
        if not ours:
            return
        start = datetime.datetime.now(datetime.UTC) + datetime.timedelta(
            days=100, hours=number % 1000
        )
        leases = '/os-reservations/v1/leases'
        lease = api.ask(
            application,
            token,
            'POST',
            leases,
            json={
                'name': 'memory',
                'start_date': f'{start:%Y-%m-%d %H:%M}',
                'duration': '30m',
                'reservations': [
                    {'resource_type': 'physical:host', 'min': 1, 'max': 1}
                ],
            },
        )['lease']['id']
        for method in ('GET', 'DELETE'):
            api.ask(application, token, method, f'{leases}/{lease}')

    return call


def _scheduler_traffic(
    scheduler: programs.Scheduler, ours: bool
) -> Callable[[int], None]:
    if ours:
        from nova.conf import CONF

        from nova_reservations import bootstrap

        services = bootstrap.build(CONF)
        worker = bootstrap.build_worker(CONF, services)

    def call(_: int) -> None:
        scheduler.forget(scheduler.select())
        if ours:
            worker.tick(services.database.now())
            worker.drain()

    return call


def _own_memory() -> float:
    """Return the MiB that would become free if this process ended."""
    kib = 0
    rollup = pathlib.Path('/proc/self/smaps_rollup').read_text()
    for line in rollup.splitlines():
        if line.startswith(('Private_Clean:', 'Private_Dirty:')):
            kib += int(line.split()[1])
    return kib / 1024
