# SPDX-License-Identifier: Apache-2.0
"""The faults. A fault is over when its function returns."""

from collections.abc import Callable
from collections.abc import Mapping
from concurrent import futures
import contextlib
import dataclasses
import datetime
import os
import pathlib
import random
import signal
import threading
import time
from typing import Any

from nova_reservations.cloud import time_limits
from sandbox import cloud
from sandbox import layout as lo
from sandbox import person
from sandbox import polls
from sandbox import proxies
from sandbox import story
from sandbox.faults import builds
from sandbox.faults import load
from sandbox.faults import verdict

#: Seconds for which a worker is stopped. Its claims expire after 30 s, so
#: other workers have them by then.
_STOPPED = 35

#: Seconds from the request for a lease to its start: it is due in the outage.
_SOON = 10

#: Of what happens in the ten minutes of kills.
_JUMPS = 0.1


@dataclasses.dataclass(frozen=True)
class Scene:
    """The cloud in which faults happen.

    :ivar seconds: for how long something is down that comes back by itself.
    """

    services: cloud.Services
    placement: proxies.Front
    keystone: proxies.Front
    database: proxies.Wire
    broker: proxies.Wire
    verdict: verdict.Verdict
    chance: random.Random
    seconds: float

    def workers(self, service: str) -> list[int]:
        """Return the process ids of a service's workers, which are the
        children of all of its threads."""
        master = self.services.process(service).pid
        found: list[int] = []
        for children in pathlib.Path(f'/proc/{master}/task').glob(
            '*/children'
        ):
            # The thread may just have ended.
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                found += map(int, children.read_text().split())
        return found

    def kill_and_restart(self, service: str) -> None:
        self.services.kill(service)
        time.sleep(self.chance.uniform(0, 3))
        self.services.restart(service)
        if service in lo.APIS:
            self.services.wait_for_answer(service)

    def kill_worker(self, service: str) -> None:
        """Kill a worker; its master starts another one."""
        workers = self.workers(service)
        # There are none if the master itself was just killed.
        if workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.chance.choice(workers), signal.SIGKILL)


def worker_killed(scene: Scene) -> None:
    """Workers of nova-scheduler are killed, one after the other."""
    for service in lo.SCHEDULERS:
        _kill_worker(scene, service)
        time.sleep(scene.chance.uniform(2, 5))


def _kill_worker(scene: Scene, service: str) -> None:
    before = {*scene.workers(service)}
    scene.kill_worker(service)
    polls.until(
        f'{service} to have another worker beside {before}',
        lambda: {*scene.workers(service)} - before,
        bool,
    )


def scheduler_killed(scene: Scene) -> None:
    """A whole nova-scheduler is killed."""
    scene.kill_and_restart(scene.chance.choice(lo.SCHEDULERS))


def schedulers_killed(scene: Scene) -> None:
    """All nova-schedulers are killed."""
    for service in lo.SCHEDULERS:
        scene.services.kill(service)
    time.sleep(scene.chance.uniform(0, 3))
    for service in lo.SCHEDULERS:
        scene.services.restart(service)


def api_killed(scene: Scene) -> None:
    """nova-api is killed with all its workers."""
    scene.kill_and_restart('nova')


def conductor_killed(scene: Scene) -> None:
    """nova-conductor is killed."""
    scene.kill_and_restart('nova-conductor@controller-1')


def placement_killed(scene: Scene) -> None:
    """Placement is killed."""
    scene.kill_and_restart('placement')


def power_cut(scene: Scene) -> None:
    """Everything is killed at the same moment, with the computes, and starts
    again in any order, before the database does."""
    # By then some leases have started and have servers.
    time.sleep(scene.seconds / 4)
    services = [*lo.APIS, *lo.CONTROLLERS, *scene.services.layout.computes]
    for service in services:
        scene.services.kill(service)
    time.sleep(scene.chance.uniform(0, scene.seconds))
    scene.chance.shuffle(services)
    with scene.database.cut():
        for service in services:
            scene.services.restart(service)
        time.sleep(scene.chance.uniform(0, scene.seconds))
    for api in lo.APIS:
        scene.services.wait_for_answer(api)


def worker_stopped(scene: Scene) -> None:
    """A worker is stopped in mid-action, for longer than its claim."""
    # While placement hangs, a worker keeps the lease that it has claimed.
    with scene.placement.hanging():
        holder = polls.until(
            'a lease that a worker has', scene.verdict.holder, bool, 60
        )
        pid = int(str(holder).rpartition(':')[2])
        os.kill(pid, signal.SIGSTOP)
    time.sleep(_STOPPED)
    os.kill(pid, signal.SIGCONT)


def placement_fails(scene: Scene) -> None:
    """Placement answers all requests with 500."""
    with scene.placement.refusing(500, 'GET', 'PUT', 'POST', 'DELETE'):
        time.sleep(scene.seconds)


def placement_conflicts(scene: Scene) -> None:
    """Placement answers all writes with 409."""
    with scene.placement.refusing(409, 'PUT', 'POST', 'DELETE'):
        time.sleep(scene.seconds)


def placement_hangs(scene: Scene) -> None:
    """Placement does not answer."""
    with scene.placement.hanging():
        time.sleep(scene.seconds)


def silent_placement(scene: Scene) -> None:
    """Placement accepts all requests and answers none; the connections stay
    half open when it is back. A lease is due to start meanwhile."""
    who = person.Person(scene.services.layout.auth_url, 'alt')
    lease = polls.until(
        'a lease that begins soon', lambda: _long_lease(who, _SOON), bool, 60
    )
    with scene.placement.silent():
        _expect_not_yet(scene, lease, 'ACTIVE')
    _expect_soon(scene, lease, 'ACTIVE')
    polls.until(
        'the lease to be deleted',
        lambda: _delete(who, lease['id']),
        lambda status: status == 204,
        time_limits.SECONDS + 60,
    )


def silent_keystone(scene: Scene) -> None:
    """The same with keystone. A lease with a server is due to end meanwhile,
    and the nova-schedulers have new workers, which have no token yet."""
    who = person.Person(scene.services.layout.auth_url, 'alt')
    lease, _ = _with_server(who)
    end = datetime.datetime.now(datetime.UTC) + datetime.timedelta(
        seconds=_SOON
    )
    change = {'end_date': end.replace(microsecond=0).isoformat()}
    person.body(who.reservation.put(f'/leases/{lease["id"]}', json=change))
    with scene.keystone.silent():
        for service in lo.SCHEDULERS:
            for pid in scene.workers(service):
                os.kill(pid, signal.SIGKILL)
        _expect_not_yet(scene, lease, 'TERMINATED')
    _expect_soon(scene, lease, 'TERMINATED')


def _expect_not_yet(scene: Scene, lease: dict[str, Any], status: str) -> None:
    """Wait for the end of an outage, in which something becomes due."""
    time.sleep(_SOON + scene.seconds)
    seen = scene.verdict.status(lease['id'])
    if seen == status:
        raise person.Unexpected('a lease that waits', seen)


def _expect_soon(scene: Scene, lease: dict[str, Any], status: str) -> None:
    """Expect it within a time limit and a minute of the end of the outage."""
    polls.until(
        f'the lease that was due to be {status}',
        lambda: scene.verdict.status(lease['id']),
        lambda seen: seen == status,
        time_limits.SECONDS + 60,
    )


def _delete(who: person.Person, lease: str) -> int:
    """Return the status of the answer, 0 if there is none: the API may have
    connections that are half open."""
    with contextlib.suppress(*load.TROUBLE):
        return who.reservation.delete(f'/leases/{lease}').status_code
    return 0


def database_slow(scene: Scene) -> None:
    """The database takes its time over each statement."""
    with scene.database.slow(0.1):
        time.sleep(scene.seconds)


def database_gone(scene: Scene) -> None:
    """The database can not be reached."""
    with scene.database.cut():
        time.sleep(scene.seconds)


def broker_gone(scene: Scene) -> None:
    """The message broker can not be reached; what is cast is lost."""
    with scene.broker.cut():
        time.sleep(scene.seconds)


def clock_jump(scene: Scene) -> None:
    """The database's clock is set three hours ahead, and back."""
    who = person.Person(scene.services.layout.auth_url, 'demo')
    lease, server = _with_server(who)
    told = _complaints(scene)
    scene.verdict.make_clock('nr_later_time', hours=3)
    with scene.database.saying(b'utc_timestamp()', b'nr_later_time()'):
        time.sleep(scene.seconds)
        more = _complaints(scene)
        left = who.lease(lease['id']), who.server(server['id'])
    story.expect(
        'whether nova-schedulers say that clocks disagree', True, more > told
    )
    story.expect(
        'the lease, and its server',
        ['ACTIVE', 'ACTIVE'],
        [each and each['status'] for each in left],
    )
    person.body(who.reservation.delete(f'/leases/{lease["id"]}'), 204)


def _with_server(
    who: person.Person,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a lease of an hour, and a server in it."""
    lease = polls.until(
        'a lease of an hour', lambda: _long_lease(who), bool, 60
    )
    polls.until(
        'the lease to be ACTIVE', lambda: who.lease(lease['id']), _is_active
    )
    reservation, *_ = lease['reservations']
    server = person.body(who.boot('stays', reservation['id']), 202)['server']
    polls.until(
        'the server to be ACTIVE', lambda: who.server(server['id']), _is_active
    )
    return lease, server


def _long_lease(who: person.Person, ahead: float = 0) -> dict[str, Any]:
    """Return a lease of an hour, an empty one if no host is free.

    :param ahead: seconds until it begins
    """
    now = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    start = now + datetime.timedelta(seconds=ahead) if ahead else None
    end = now + datetime.timedelta(hours=1)
    answer = who.ask_lease('stays', start, end, 1)
    if person.no_room(answer):
        return {}
    lease: dict[str, Any] = person.body(answer, 201)['lease']
    return lease


def _is_active(thing: Any) -> bool:
    return bool(thing) and thing['status'] == 'ACTIVE'


def _complaints(scene: Scene) -> int:
    """Return how often a nova-scheduler has logged that clocks disagree."""
    log = scene.services.layout.log
    return sum(
        (log / f'{service}.log').read_text().count('neither start nor end')
        for service in lo.SCHEDULERS
    )


def builds_fail(scene: Scene) -> None:
    """A share of builds fails, with conductors not guarded, and guarded."""
    layout = scene.services.layout
    with builds.failing(layout):
        _enrol_beside_builds(scene)
        with builds.guarded(layout):
            _restart_with_conf(scene)
            _enrol_beside_builds(scene)
        _restart_with_conf(scene)


def _restart_with_conf(scene: Scene) -> None:
    for service in ('nova-conductor@controller-1', 'nova'):
        scene.kill_and_restart(service)


def _enrol_beside_builds(scene: Scene) -> None:
    deadline = time.monotonic() + scene.seconds
    rounds = _builds(scene)
    while True:
        rounds.round()
        if time.monotonic() > deadline:
            break


def _builds(scene: Scene) -> builds.Builds:
    return builds.Builds(
        scene.services.layout.auth_url, scene.verdict.enrolled
    )


def anything_killed(scene: Scene) -> None:
    """For ten times the usual time, something is killed all the time, a share
    of builds fails, and the database's clock is set ahead now and then."""
    beside = _builds(scene)
    with builds.failing(scene.services.layout):
        with contextlib.ExitStack() as stack:
            over = threading.Event()
            disturber = stack.enter_context(futures.ThreadPoolExecutor(1))
            stack.callback(over.set)
            disturbing = disturber.submit(_disturb, beside, over)
            _kill_anything(scene)
        disturbing.result()
    beside.tidy()


def _disturb(beside: builds.Builds, over: threading.Event) -> None:
    while not over.wait(3):
        with contextlib.suppress(*load.TROUBLE):
            beside.disturb()


def _kill_anything(scene: Scene) -> None:
    scene.verdict.make_clock('nr_later_time', hours=3)
    deadline = time.monotonic() + 10 * scene.seconds
    apis = ('nova', 'placement')
    while time.monotonic() < deadline:
        time.sleep(scene.chance.uniform(1, 10))
        fate = scene.chance.random()
        service = scene.chance.choice(apis + lo.CONTROLLERS)
        if fate < _JUMPS:
            with scene.database.saying(b'utc_timestamp()', b'nr_later_time()'):
                time.sleep(scene.chance.uniform(1, 10))
        elif fate < 0.5:
            scene.kill_worker(service)
        else:
            scene.kill_and_restart(service)


Fault = Callable[[Scene], None]

QUICK: Mapping[str, Fault] = {
    'worker-killed': worker_killed,
    'worker-stopped': worker_stopped,
    'scheduler-killed': scheduler_killed,
    'api-killed': api_killed,
    'placement-hangs': placement_hangs,
    'clock-jump': clock_jump,
}

FAULTS: Mapping[str, Fault] = {
    **QUICK,
    'conductor-killed': conductor_killed,
    'placement-killed': placement_killed,
    'placement-fails': placement_fails,
    'placement-conflicts': placement_conflicts,
    'build-fails': builds_fail,
    'silent-placement': silent_placement,
    'silent-keystone': silent_keystone,
    'schedulers-killed': schedulers_killed,
    'power-cut': power_cut,
    'database-slow': database_slow,
    'database-gone': database_gone,
    'broker-gone': broker_gone,
    'anything-killed': anything_killed,
}
