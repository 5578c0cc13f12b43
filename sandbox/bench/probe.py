# SPDX-License-Identifier: Apache-2.0
"""Measurements inside of a process of Nova's: this one becomes it.

Arguments: the name of the probe, the folder of the sandbox, and JSON of what
the probe takes. It prints, last, JSON of what it found.
"""

from collections import defaultdict
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import cProfile
import datetime
import gc
import io
import json
import os
import pathlib
import pstats
import sys
import time
from typing import Any

import sqlalchemy as sa

from sandbox import layout as lo


def _become_nova(layout: lo.Layout) -> None:
    """Configure Nova in this process, as one of its own programs does."""
    from nova import config
    from nova import objects as nova_objects

    nova_objects.register_all()
    config.parse_args(
        ['probe', f'--config-file={layout.etc}/nova.conf'],
        default_config_files=[],
    )


def aggregate(layout: lo.Layout, hosts: list[str]) -> float:
    """Return the seconds that Nova takes to put hosts into an aggregate."""
    _become_nova(layout)
    from nova import context
    from nova.compute import api

    admin = context.get_admin_context()
    aggregates = api.AggregateAPI()
    made = aggregates.create_aggregate(admin, 'one by one', None)
    began = time.perf_counter()
    for name in hosts:
        aggregates.add_host_to_aggregate(admin, made.id, name)
    seconds = time.perf_counter() - began
    for name in hosts:
        aggregates.remove_host_from_aggregate(admin, made.id, name)
    aggregates.delete_aggregate(admin, made.id)
    return seconds


def create(layout: lo.Layout, rounds: int) -> dict[str, str]:
    """Return where the time of creating leases goes."""
    _become_nova(layout)
    from nova.conf import CONF

    from nova_reservations import bootstrap
    from nova_reservations import conf
    from nova_reservations import objects
    from nova_reservations.engine import lease_requests

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
    """Collects what is sent to a database, and how long it took."""

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
        """Return each statement with its cost and, if it reads tables, how
        the database goes about it."""
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


class _Clock:
    """Counts the CPU of this thread that is spent in our code, less that of
    what our code calls on behalf of Nova."""

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

        :param request: takes whether with us
        """
        samples: dict[str, list[float]] = {
            'with': [],
            'without': [],
            'ours': [],
        }
        for number in range(-2, 2 * rounds):
            # Each comes as often first of the two as second.
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


class _Api:
    """Nova's API in this process, with us and without."""

    def __init__(self, layout: lo.Layout, ours: bool, nova: bool) -> None:
        os.environ['OS_NOVA_CONFIG_DIR'] = str(layout.etc)
        # The module makes an application, with us.
        sys.argv = ['nova-api']
        from nova.api.openstack import wsgi_app

        paste = layout.etc / 'api-paste.ini'
        plain = layout.directory / 'plain-paste.ini'
        plain.write_text(
            paste.read_text().replace(
                'keystonecontext reservations', 'keystonecontext'
            )
        )
        wsgi_app.CONFIG_FILES[0] = str(paste if ours else plain)
        self.applications = [
            wsgi_app.init_application('osapi_compute', 'nova-api')
        ]
        if ours and nova:
            from paste import deploy

            self.applications.insert(
                0, deploy.loadapp(f'config:{plain}', name='osapi_compute')
            )

    def ask(
        self,
        application: Any,
        token: str,
        method: str,
        path: str,
        **fields: Any,
    ) -> Any:
        request = self._request(token, method, path, **fields)
        answer = self._answer(application, request)
        return answer.json if answer.body else None

    def pieces(
        self, application: Any, token: str, path: str
    ) -> Iterator[bytes]:
        """Yield an answer as a server sends it."""
        request = self._request(token, 'GET', path)
        yield from self._answer(application, request).app_iter

    def _answer(self, application: Any, request: Any) -> Any:
        answer = request.get_response(application)
        if answer.status_int >= 400:
            raise RuntimeError(
                f'{request.method} {request.path}: {answer.status} '
                f'{answer.text}'
            )
        return answer

    def _request(
        self, token: str, method: str, path: str, **fields: Any
    ) -> Any:
        import webob

        return webob.Request.blank(
            f'/v2.1{path}',
            method=method,
            headers={
                'X-Auth-Token': token,
                'OpenStack-API-Version': 'compute 2.90',
            },
            **fields,
        )


def boot(
    layout: lo.Layout, token: str, server: dict[str, Any], rounds: int
) -> dict[str, list[float]]:
    """Return seconds of CPU of POST /servers without a hint.

    It ends where nova-api hands it to a conductor: none hears of it.
    """
    from nova_reservations.api import middleware

    clock = _Clock()
    begin = middleware.Reservations.__init__

    def begin_counted(self: Any, application: Any) -> None:
        begin(self, clock.theirs(application))

    for name, counted in {
        '__init__': begin_counted,
        '__call__': clock.ours(middleware.Reservations.__call__),
    }.items():
        setattr(middleware.Reservations, name, counted)
    api = _Api(layout, ours=True, nova=True)
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
    scheduler = _Scheduler(layout, ours=True)
    from nova.scheduler import request_filter

    from nova_reservations.scheduler import host_filter
    from nova_reservations.scheduler import request_filter as reserved_hosts

    clock = _Clock()
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


class _Scheduler:
    """A nova-scheduler's manager in this process."""

    def __init__(self, layout: lo.Layout, ours: bool) -> None:
        _become_nova(layout)
        from nova import context
        from nova import objects as nova_objects
        from nova.conf import CONF
        from nova.scheduler import manager

        # Nobody reports for hosts that are rows only.
        CONF.set_override('service_down_time', 10**6)
        if not ours:
            names = CONF.filter_scheduler.enabled_filters
            CONF.set_override(
                'enabled_filters',
                [name for name in names if name != 'ReservationFilter'],
                'filter_scheduler',
            )
            CONF.set_override(
                'available_filters',
                ['nova.scheduler.filters.all_filters'],
                'filter_scheduler',
            )
        self.manager = manager.SchedulerManager()
        self._context = context.get_admin_context()
        self._context.project_id = self._context.user_id = 'probe'
        (self._flavor,) = nova_objects.FlavorList.get_all(self._context)

    def select(self) -> str:
        """Have a host chosen for a server; return the server's id."""
        import uuid

        from nova import objects as nova_objects

        server = str(uuid.uuid4())
        spec = nova_objects.RequestSpec.from_components(
            self._context,
            server,
            nova_objects.ImageMeta.from_dict({'min_disk': 0, 'min_ram': 0}),
            self._flavor,
            None,
            nova_objects.InstancePCIRequests(requests=[]),
            {},
            None,
            None,
        )
        self.manager.select_destinations(
            self._context,
            spec_obj=spec,
            instance_uuids=[server],
            return_objects=True,
        )
        return server

    def forget(self, server: str) -> None:
        self.manager.placement_client.delete_allocation_for_instance(
            self._context, server, force=True
        )


def explain(layout: lo.Layout, token: str, rounds: int) -> dict[str, Any]:
    """Return how placement's database finds hosts that lack a trait, and
    the seconds that placement takes with and without it."""
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


def memory(
    layout: lo.Layout, process: str, ours: bool, token: str, rounds: int
) -> list[float]:
    """Return the MiB that are this process's own, while it answers more and
    more: after the first round, a tenth of them, and all; 3 at least."""
    if process == 'nova-api':
        api = _Api(layout, ours, nova=False)
        call = _api_traffic(api, token, ours)
    else:
        scheduler = _Scheduler(layout, ours)
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
    """Return how many nova-api lists, in how many seconds, and by how many
    MiB it is larger then than it was before."""
    api = _Api(layout, ours, nova=False)
    (application,) = api.applications
    # The first fills caches.
    api.ask(application, token, 'GET', f'{path.partition("?")[0]}?limit=1')
    gc.collect()
    # From now on the kernel counts the peak anew.
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
    """Return MiB, the most that this process has had."""
    status = pathlib.Path('/proc/self/status').read_text()
    (line,) = (each for each in status.splitlines() if 'VmHWM' in each)
    return int(line.split()[1]) / 1024


def _api_traffic(api: _Api, token: str, ours: bool) -> Callable[[int], None]:
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
    scheduler: _Scheduler, ours: bool
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
    """Return MiB that would be free if this process ended."""
    kib = 0
    rollup = pathlib.Path('/proc/self/smaps_rollup').read_text()
    for line in rollup.splitlines():
        if line.startswith(('Private_Clean:', 'Private_Dirty:')):
            kib += int(line.split()[1])
    return kib / 1024


def _text(profile: cProfile.Profile, rounds: int) -> str:
    """Return which functions of ours take most, per call of the profiled."""
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


PROBES: Mapping[str, Callable[..., Any]] = {
    'aggregate': aggregate,
    'boot': boot,
    'create': create,
    'explain': explain,
    'listing': listing,
    'memory': memory,
    'schedule': schedule,
}


def main() -> None:
    name, directory, arguments = sys.argv[1:]
    layout = lo.Layout.load(pathlib.Path(directory))
    found = PROBES[name](layout, **json.loads(arguments))
    print(f'\n{json.dumps(found)}', flush=True)
    # Without waiting for threads of the message bus.
    os._exit(0)


if __name__ == '__main__':
    main()
