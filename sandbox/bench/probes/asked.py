# SPDX-License-Identifier: Apache-2.0
"""The statements and requests that a nova-scheduler sends to databases and to
placement."""

from collections.abc import Callable
import functools
import time
from typing import Any

import sqlalchemy as sa

from sandbox import layout as lo
from sandbox.bench.probes import cpu
from sandbox.bench.probes import programs

_Found = dict[str, float]

_KINDS = ('ours', 'nova', 'requests')
"""Statements to our tables, statements to Nova's, requests to placement."""


class _Asked:
    """Counts the statements and requests of the process."""

    def __init__(self) -> None:
        from keystoneauth1 import session

        # Appending to a list is atomic, so several threads can do it.
        self._noted: list[str] = []
        sa.event.listen(sa.engine.Engine, 'before_cursor_execute', self._note)
        requested = self._requested(session.Session.request)
        session.Session.request = requested  # type: ignore[method-assign]

    def _note(
        self, _connection: Any, _cursor: Any, statement: str, *_: Any
    ) -> None:
        # Our tables are in Nova's API database.
        self._noted.append('ours' if 'nr_' in statement else 'nova')

    def _requested(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def requested(*args: Any, **kwargs: Any) -> Any:
            self._noted.append('requests')
            return call(*args, **kwargs)

        return requested

    def during(self, call: Callable[[], object]) -> _Found:
        """Return the counts during a call, and its seconds of CPU."""
        self._noted.clear()
        began = time.process_time()
        call()
        seconds = time.process_time() - began
        return {
            **{what: self._noted.count(what) for what in _KINDS},
            'cpu': seconds,
        }


def tasks(layout: lo.Layout, changed: int) -> dict[str, dict[str, _Found]]:
    """Return the counts of each periodic task if nothing has changed, and
    after so many providers got another generation in placement."""
    programs.become_nova(layout)
    from nova.conf import CONF

    from nova_reservations import bootstrap
    from nova_reservations import conf

    conf.register_opts(CONF)
    # Nobody reports for hosts that are rows only.
    CONF.set_override('service_down_time', 10**6)
    CONF.set_override('enable_polling_monitor', True, 'reservations')
    services = bootstrap.build(CONF, notify=lambda *_: None)
    asked = _Asked()

    def run() -> dict[str, _Found]:
        return {
            task.name: asked.during(
                functools.partial(task.run, services.database.now())
            )
            for task in services.tasks
        }

    # The first opens connections, and fills caches.
    run()
    unchanged = run()
    _change(layout, changed)
    return {'unchanged': unchanged, 'changed': run()}


def _change(layout: lo.Layout, count: int) -> None:
    """Increment the generation of providers in the pool, as servers do."""
    engine = sa.create_engine(layout.database('placement'))
    with engine.begin() as connection:
        connection.execute(
            sa.text(
                'UPDATE resource_providers SET generation = generation + 1 '
                "WHERE name LIKE 'compute-1-%' ORDER BY id LIMIT :count"
            ),
            {'count': count},
        )
    engine.dispose()


def look(layout: lo.Layout, rounds: int) -> _Found:
    """Return the counts of so many looks for due work; a worker does 120 in a
    minute."""
    programs.become_nova(layout)
    from nova.conf import CONF

    from nova_reservations import bootstrap
    from nova_reservations import conf
    from nova_reservations.db.leases import looks

    conf.register_opts(CONF)
    services = bootstrap.build(CONF, notify=lambda *_: None)
    asked = _Asked()
    looking = looks.Looks(services.database)
    looking.look()
    return asked.during(lambda: [looking.look() for _ in range(rounds)])


def boot(layout: lo.Layout, rounds: int) -> list[_Found]:
    """Return, for each of so many servers without a hint, the counts during
    scheduling, and the seconds of CPU in our code."""
    scheduler = programs.Scheduler(layout, ours=True)
    from nova_reservations.scheduler import host_filter
    from nova_reservations.scheduler import request_filter

    clock = cpu.Clock()
    for kind, name in (
        (request_filter.ReservedHosts, '__call__'),
        (request_filter.ReservedHosts, 'confirm'),
        (host_filter.ReservationFilter, 'filter_all'),
    ):
        setattr(kind, name, clock.ours(getattr(kind, name)))
    asked = _Asked()
    found: list[_Found] = []
    made: list[str] = []
    # The first two open connections, and fill caches.
    for number in range(-2, rounds):
        clock.seconds = 0.0
        cost = asked.during(lambda: made.append(scheduler.select()))
        scheduler.forget(made.pop())
        if number >= 0:
            found.append({**cost, 'cpu': clock.seconds})
    return found
