# SPDX-License-Identifier: Apache-2.0
"""Requests for leases in a cloud that has limits, and in one without."""

from collections.abc import Callable
import datetime
import itertools
import time
from typing import Any

from sandbox import layout as lo
from sandbox.bench import measure
from sandbox.bench.probes import programs

TWO = {'max_open_leases': 1000, 'max_reserved_hosts': 1000}
ALL: dict[str, Any] = TWO | {
    'max_waiting_leases': 1000,
    'max_reserved_slots': 1000,
    'max_host_hours': 100_000,
    'max_reserved_resources': {'virtual:floatingip': 1000},
}
"""Limits so high that none of them is reached."""

KEPT = 20
"""The number of leases that the project has all the time."""

_PATH = '/os-reservations/v1/leases'


def create(layout: lo.Layout, token: str, rounds: int) -> dict[str, Any]:
    """Return the seconds, of CPU and in all, that nova-api takes to create a
    lease without limits, with two, and with all."""
    project = _Project(programs.Api(layout, ours=True, nova=False), token)
    applications = [project.api.applications[0]]
    project.fill(applications[0])
    for limits in TWO, ALL:
        applications.append(_limited(layout, limits))
        # The first request of an application builds our services.
        project.api.ask(applications[-1], token, 'GET', _PATH)
    takes = [project.taker(each) for each in applications]
    cpu = measure.interleaved(rounds, *(take for take, _ in takes))
    return {'cpu': cpu, 'whole': [whole[-rounds:] for _, whole in takes]}


def _limited(layout: lo.Layout, limits: dict[str, Any]) -> Any:
    from nova.conf import CONF
    from paste import deploy

    for name, most in limits.items():
        CONF.set_override(name, most, 'reservations')
    return deploy.loadapp(
        f'config:{layout.etc}/api-paste.ini', name='osapi_compute'
    )


class _Project:
    def __init__(self, api: programs.Api, token: str) -> None:
        self.api = api
        self.token = token
        self._hours = itertools.count(24)

    def fill(self, application: Any) -> None:
        for _ in range(KEPT):
            self._create(application)

    def taker(
        self, application: Any
    ) -> tuple[Callable[[], float], list[float]]:
        """Return a function that creates a lease and returns the seconds of
        CPU, and the list to which it appends the elapsed seconds."""
        whole: list[float] = []

        def take() -> float:
            began, cpu = time.perf_counter(), time.process_time()
            lease = self._create(application)
            cpu = time.process_time() - cpu
            whole.append(time.perf_counter() - began)
            self.api.ask(application, self.token, 'DELETE', f'{_PATH}/{lease}')
            return cpu

        return take, whole

    def _create(self, application: Any) -> str:
        now = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
        start = now + datetime.timedelta(hours=next(self._hours))
        asked = {
            'name': 'limited',
            'start_date': start.isoformat(),
            'duration': '30m',
            'reservations': [
                {'resource_type': 'physical:host', 'min': 1, 'max': 1}
            ],
        }
        answer = self.api.ask(
            application, self.token, 'POST', _PATH, json=asked
        )
        return str(answer['lease']['id'])
