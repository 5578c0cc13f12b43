# SPDX-License-Identifier: Apache-2.0
"""Faults in a cloud of two cells whose computes are monitored.

A fault is over when its function returns.
"""

from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import time

from sandbox import ini
from sandbox import person
from sandbox import polls
from sandbox import story
from sandbox.faults import faults
from sandbox.faults import held

#: Seconds after which a compute that does not report is down, for which it
#: must be down to count as failed, and in which a worker notices and heals it.
_SERVICE_DOWN_TIME = 20
_DOWN_AFTER = 15
_HEALED = 30

#: Seconds between two polls, and in which a notification is handled without
#: polling.
_POLLING = 10
_HEARD = 5

#: Seconds for which the bus of a cell is down. All of its computes have failed
#: after half of that time.
_OUTAGE = 120

CONF: ini.Sections = {
    'DEFAULT': {'service_down_time': _SERVICE_DOWN_TIME},
    'reservations': {
        'enable_polling_monitor': True,
        'enable_notification_monitor': True,
        'polling_interval': _POLLING,
        'down_after': _DOWN_AFTER,
    },
    'oslo_messaging_notifications': {'driver': 'messagingv2'},
    'notifications': {'notification_format': 'versioned'},
}


def compute_killed(scene: faults.Scene) -> None:
    """A nova-compute is killed whose host is leased; then one more, which is
    forced down: with polling, and without."""
    leases = held.Leases(scene)
    seen = _SERVICE_DOWN_TIME + _DOWN_AFTER + _POLLING + _HEALED
    _kill_one(scene, leases, seen)
    _kill_one_forced_down(scene, leases)
    with _no_polling(scene):
        _kill_one_forced_down(scene, leases)


def _kill_one_forced_down(scene: faults.Scene, leases: held.Leases) -> None:
    _kill_one(scene, leases, _HEARD, forced_down=True)


def _kill_one(
    scene: faults.Scene,
    leases: held.Leases,
    seconds: float,
    forced_down: bool = False,
) -> None:
    here, _ = scene.services.layout.cells
    lease = leases.begin(here.hosts)
    lost = leases.host_of(lease)
    with _killed(scene, lost):
        if forced_down:
            leases.operator.force_down(lost, True)
        leases.expect_moved(lease, lost, seconds)
    if forced_down:
        leases.operator.force_down(lost, False)
    leases.end_all()
    leases.wait_until_reservable(lost)


@contextlib.contextmanager
def _no_polling(scene: faults.Scene) -> Iterator[None]:
    """Switch polling off, so that only notifications report hosts."""
    conf = scene.services.layout.etc / 'nova.conf'
    told = conf.read_text()
    on, off = (f'enable_polling_monitor = {value}' for value in (True, False))
    if on not in told:
        raise person.Unexpected(on, told)
    try:
        conf.write_text(told.replace(on, off))
        faults.schedulers_killed(scene)
        yield
    finally:
        conf.write_text(told)
        faults.schedulers_killed(scene)


@contextlib.contextmanager
def _killed(scene: faults.Scene, host: str) -> Iterator[None]:
    compute = f'nova-compute@{host}'
    scene.services.kill(compute)
    try:
        yield
    finally:
        scene.services.restart(compute)


def cell_down(scene: faults.Scene) -> None:
    """The database of one of two cells can not be reached."""
    _silence(scene, scene.services.wires['cell2'].database.cut())


def cell_hung(scene: faults.Scene) -> None:
    """The database of one of two cells does not answer."""
    _silence(scene, scene.services.wires['cell2'].database.hanging())


def _silence(
    scene: faults.Scene, silence: contextlib.AbstractContextManager[None]
) -> None:
    """Check that leases in the other cell work, and that no host failed."""
    here, there = scene.services.layout.cells
    leases = held.Leases(scene)
    kept = leases.begin_each(there.hosts[:1])
    with silence:
        deadline = time.monotonic() + 2 * scene.seconds
        while True:
            leases.serve(here.hosts)
            if time.monotonic() > deadline:
                break
        leases.expect_held(kept)
    leases.end_all()


def mass_outage(scene: faults.Scene) -> None:
    """The bus of one cell is gone for two minutes: nothing is moved."""
    here, there = scene.services.layout.cells
    leases = held.Leases(scene)
    kept = leases.begin_each(there.hosts)
    with scene.services.wires['cell2'].bus.cut():
        deadline = time.monotonic() + _OUTAGE
        polls.until(
            f'{there.hosts} are seen to have failed',
            leases.reservable,
            lambda seen: not {*there.hosts} & seen,
            _OUTAGE / 2,
        )
        while time.monotonic() < deadline:
            leases.expect_held(kept)
            story.expect(
                'hosts of the other cell that have failed',
                set(),
                {*here.hosts}
                & {*scene.verdict.enrolled} - leases.reservable(),
            )
            time.sleep(1)
    for host in there.hosts:
        leases.wait_until_reservable(host)
    leases.expect_held(kept)
    leases.end_all()


FAULTS: Mapping[str, faults.Fault] = {
    'compute-killed': compute_killed,
    'cell-down': cell_down,
    'cell-hung': cell_hung,
    'mass-outage': mass_outage,
}
