# SPDX-License-Identifier: Apache-2.0
"""Breakdown of times, by SQL statements and by our functions."""

from collections import defaultdict
from collections.abc import Iterator
import contextlib
import cProfile
import datetime
import io
import os
import pathlib
import pstats
import sys
import time
from typing import Any

import sqlalchemy as sa

from sandbox import layout as lo
from sandbox.bench.probes import programs


def create(layout: lo.Layout, rounds: int) -> dict[str, str]:
    """Return a breakdown of the time of creating leases."""
    programs.become_nova(layout)
    from nova.conf import CONF

    from nova_reservations import bootstrap
    from nova_reservations import conf
    from nova_reservations import objects
    from nova_reservations.engine.booking import lease_requests

    conf.register_opts(CONF)
    services = bootstrap.build(CONF, notify=lambda *_: None)
    statements = _Statements(services.database.engine())
    profile = cProfile.Profile()
    now = services.database.now()
    for number in range(-1, rounds):
        start = now + datetime.timedelta(days=1, hours=7 * max(number, 0))
        asked = lease_requests.NewLease(
            name='probe',
            project_id='probe',
            user_id='probe',
            start=start,
            end=start + datetime.timedelta(minutes=30),
            before_end=None,
            reservations=(
                lease_requests.NewReservation(
                    objects.HOST, {'min': 1, 'max': 1}
                ),
            ),
        )
        if number == 0:
            # The first fills caches.
            statements.clear()
        with statements.collected(), _profiled(profile, number >= 0):
            lease = services.leases.create(asked, now)
        services.leases.delete(lease.id, now)
    with services.database.connection() as connection:
        return {
            'statements': statements.text(connection, rounds),
            'profile': _text(profile, rounds),
        }


@contextlib.contextmanager
def _profiled(profile: cProfile.Profile, enabled: bool) -> Iterator[None]:
    if enabled:
        profile.enable()
    yield
    profile.disable()


class _Statements:
    """Collects the statements to a database, with their times."""

    def __init__(self, engine: Any) -> None:
        self._seconds: dict[str, list[float]] = defaultdict(list)
        self._parameters: dict[str, Any] = {}
        self._collects = False
        self._began = 0.0
        sa.event.listen(engine, 'before_cursor_execute', self._before)
        sa.event.listen(engine, 'after_cursor_execute', self._after)

    @contextlib.contextmanager
    def collected(self) -> Iterator[None]:
        self._collects = True
        yield
        self._collects = False

    def clear(self) -> None:
        self._seconds.clear()

    def _before(self, *_: Any) -> None:
        self._began = time.perf_counter()

    def _after(
        self,
        _connection: Any,
        _cursor: Any,
        statement: str,
        parameters: Any,
        *_: Any,
    ) -> None:
        if self._collects:
            self._seconds[statement].append(time.perf_counter() - self._began)
            self._parameters[statement] = parameters

    def text(
        self, connection: sa.Connection, rounds: int, having: str = ''
    ) -> str:
        """Return each statement with its cost and, if it reads tables, its
        query plan."""
        blocks = []
        for statement, seconds in sorted(
            self._seconds.items(), key=lambda item: -sum(item[1])
        ):
            if having not in statement:
                continue
            words = ' '.join(statement.split())
            if len(words) > 400:
                words = f'{words[:190]} ... {words[-200:]}'
            blocks.append(
                f'{1000 * sum(seconds) / rounds:.2f} ms, '
                f'{len(seconds) / rounds:g} times: {words}'
            )
            if statement.lstrip().startswith('SELECT') and ' FROM ' in words:
                blocks += self._explained(connection, statement)
        return '\n'.join(blocks)

    def _explained(
        self, connection: sa.Connection, statement: str
    ) -> Iterator[str]:
        for row in connection.exec_driver_sql(
            f'EXPLAIN {statement}', self._parameters[statement]
        ).mappings():
            yield '   ' + ', '.join(
                f'{key} {row[key]}'
                for key in (
                    'select_type',
                    'table',
                    'type',
                    'key',
                    'rows',
                    'Extra',
                )
                if row[key]
            )


def explain(layout: lo.Layout, token: str, rounds: int) -> dict[str, Any]:
    """Return the query plan by which placement finds hosts without a trait,
    and the seconds that placement takes with and without this condition."""
    os.environ['OS_PLACEMENT_CONFIG_DIR'] = str(layout.etc)
    sys.argv = ['placement']
    import webob

    statements = _Statements(sa.Engine)
    from placement.wsgi import api

    trait = 'CUSTOM_NOVA_RESERVATIONS_POOL'
    samples: dict[str, list[float]] = {'with': [], 'without': []}
    for number in range(-2, 2 * rounds):
        with_us = number % 4 in (0, 3)
        request = webob.Request.blank(
            '/allocation_candidates?limit=1000'
            '&resources=VCPU:1,MEMORY_MB:512,DISK_GB:1'
            + (f'&required=!{trait}' if with_us else ''),
            headers={
                'X-Auth-Token': token,
                'OpenStack-API-Version': 'placement 1.39',
                'Accept': 'application/json',
            },
        )
        began = time.perf_counter()
        if with_us and number >= 0:
            with statements.collected():
                answer = request.get_response(api.application)
        else:
            answer = request.get_response(api.application)
        seconds = time.perf_counter() - began
        if answer.status_int != 200:
            raise RuntimeError(f'{answer.status}: {answer.text}')
        if number >= 0:
            samples['with' if with_us else 'without'].append(seconds)
    with sa.create_engine(layout.database('placement')).connect() as database:
        text = statements.text(database, rounds, 'resource_provider_traits')
    return {'statements': text, **samples}


def _text(profile: cProfile.Profile, rounds: int) -> str:
    """Return our functions that take most of the time, per profiled call."""
    written = io.StringIO()
    stats = pstats.Stats(profile, stream=written)
    total: float = stats.total_tt  # type: ignore[attr-defined]
    lines = [f'{1000 * total / rounds:.2f} ms in all, under the profiler']
    ours = [
        (cumulated, pathlib.Path(file).stem, function)
        for (file, _, function), (_, _, _, cumulated, _) in stats.stats.items()  # type: ignore[attr-defined]
        if '/nova_reservations/' in file
    ]
    lines += [
        f'{1000 * seconds / rounds:.2f} ms in {module}.{function}'
        for seconds, module, function in sorted(ours, reverse=True)[:20]
    ]
    return '\n'.join(lines)
