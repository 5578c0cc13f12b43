# SPDX-License-Identifier: Apache-2.0
"""CPU that our code takes in requests to Nova that don't ask for a lease."""

from collections.abc import Callable
import time
from typing import Any

from sandbox import layout as lo
from sandbox.bench.probes import programs


class Clock:
    """Counts the CPU of this thread that is spent in our code, without Nova's
    code that ours wraps."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def ours(self, call: Callable[..., Any]) -> Callable[..., Any]:
        return self._counted(call, 1)

    def theirs(self, call: Callable[..., Any]) -> Callable[..., Any]:
        return self._counted(call, -1)

    def _counted(
        self, call: Callable[..., Any], sign: int
    ) -> Callable[..., Any]:
        def counted(*args: Any, **kwargs: Any) -> Any:
            began = time.thread_time()
            try:
                return call(*args, **kwargs)
            finally:
                self.seconds += sign * (time.thread_time() - began)

        return counted

    def share(
        self,
        rounds: int,
        request: Callable[[bool], object],
        between: Callable[[], object],
    ) -> dict[str, list[float]]:
        """Return seconds of CPU, one per request: with us, without us, and
        in our code.

        :param request: sends a request; its argument is whether our code is
            part of Nova
        """
        samples: dict[str, list[float]] = {
            'with': [],
            'without': [],
            'ours': [],
        }
        for number in range(-2, 2 * rounds):
            # In the order with, without, without, with: so each comes first
            # as often as second.
            with_us = number % 4 in (0, 3)
            self.seconds = 0.0
            began = time.process_time()
            request(with_us)
            whole = time.process_time() - began
            between()
            if number < 0:
                continue
            samples['with' if with_us else 'without'].append(whole)
            if with_us:
                samples['ours'].append(self.seconds)
        return samples


def boot(
    layout: lo.Layout, token: str, server: dict[str, Any], rounds: int
) -> dict[str, list[float]]:
    """Return seconds of CPU of POST /servers without a hint.

    The request ends before nova-api would call a conductor.
    """
    from nova_reservations.api import middleware

    clock = Clock()
    begin = middleware.Reservations.__init__

    def begin_counted(self: Any, application: Any) -> None:
        begin(self, clock.theirs(application))

    for name, counted in {
        '__init__': begin_counted,
        '__call__': clock.ours(middleware.Reservations.__call__),
    }.items():
        setattr(middleware.Reservations, name, counted)
    api = programs.Api(layout, ours=True, nova=True)
    from nova.conductor import rpcapi

    rpcapi.ComputeTaskAPI.schedule_and_build_instances = (
        lambda *args, **kwargs: None
    )
    made: list[str] = []

    def request(with_us: bool) -> None:
        answer = api.ask(
            api.applications[with_us],
            token,
            'POST',
            '/servers',
            json={'server': server},
        )
        made.append(answer['server']['id'])

    def between() -> None:
        api.ask(api.applications[0], token, 'DELETE', f'/servers/{made.pop()}')

    return clock.share(rounds, request, between)


def schedule(layout: lo.Layout, rounds: int) -> dict[str, list[float]]:
    """Return seconds of CPU of scheduling a server without a hint."""
    scheduler = programs.Scheduler(layout, ours=True)
    from nova.scheduler import request_filter

    from nova_reservations.scheduler import host_filter
    from nova_reservations.scheduler import request_filter as reserved_hosts

    clock = Clock()
    both = request_filter.ALL_REQUEST_FILTERS
    nova_only = [
        each
        for each in both
        if not isinstance(each, reserved_hosts.ReservedHosts)
    ]
    hosts = scheduler.manager.host_manager
    filters = hosts.enabled_filters
    for kind, name in (
        (reserved_hosts.ReservedHosts, '__call__'),
        (host_filter.ReservationFilter, 'filter_all'),
    ):
        setattr(kind, name, clock.ours(getattr(kind, name)))
    made: list[str] = []

    def request(with_us: bool) -> None:
        request_filter.ALL_REQUEST_FILTERS = both if with_us else nova_only
        hosts.enabled_filters = [
            each
            for each in filters
            if with_us or not isinstance(each, host_filter.ReservationFilter)
        ]
        made.append(scheduler.select())

    def between() -> None:
        scheduler.forget(made.pop())

    return clock.share(rounds, request, between)
