# SPDX-License-Identifier: Apache-2.0
"""Faults in a cloud of two cells whose computes are monitored.

A fault is over when its function returns.
"""

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import datetime
import time

from sandbox import ini
from sandbox import person
from sandbox import story
from sandbox.faults import faults
from sandbox.faults import verdict

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
    leases = _Leases(scene)
    seen = _SERVICE_DOWN_TIME + _DOWN_AFTER + _POLLING + _HEALED
    _kill_one(scene, leases, seen)
    _kill_one_forced_down(scene, leases)
    with _no_polling(scene):
        _kill_one_forced_down(scene, leases)


def _kill_one_forced_down(scene: faults.Scene, leases: '_Leases') -> None:
    _kill_one(scene, leases, _HEARD, forced_down=True)


def _kill_one(
    scene: faults.Scene,
    leases: '_Leases',
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
    leases = _Leases(scene)
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
    leases = _Leases(scene)
    kept = leases.begin_each(there.hosts)
    with scene.services.wires['cell2'].bus.cut():
        deadline = time.monotonic() + _OUTAGE
        story.until(
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


class _Leases:
    """Leases of an hour, beside those of users."""

    def __init__(self, scene: faults.Scene) -> None:
        auth_url = scene.services.layout.auth_url
        self.operator = person.Operator(auth_url)
        self._user = person.Person(auth_url, 'alt')
        self._begun: list[str] = []

    def begin_each(self, hosts: Collection[str]) -> dict[str, str]:
        """Lease each of these hosts as soon as it is free; return host ->
        lease."""
        return {host: self.begin([host]) for host in hosts}

    def serve(self, hosts: Collection[str]) -> None:
        """Check that a lease of one of these hosts begins and ends."""
        self._end(self.begin(hosts))

    def end_all(self) -> None:
        for lease in [*self._begun]:
            self._end(lease)

    def expect_moved(self, lease: str, host: str, seconds: float) -> None:
        """Expect that a lease gets another host within this time."""
        story.until(
            f'{lease} is not on {host}',
            lambda: self.host_of(lease),
            lambda seen: seen != host,
            seconds,
        )

    def expect_held(self, hosts: Mapping[str, str]) -> None:
        """Expect that nothing was moved.

        :param hosts: host -> the lease that has it
        """
        story.expect(
            'the hosts of leases',
            [*hosts],
            [self.host_of(lease) for lease in hosts.values()],
        )

    def reservable(self) -> set[str]:
        hosts = person.body(self.operator.reservation.get('/os-hosts'))
        return {
            each['hypervisor_hostname']
            for each in hosts['hosts']
            if each['reservable']
        }

    def wait_until_reservable(self, host: str) -> None:
        story.until(
            f'{host} is reservable',
            self.reservable,
            lambda seen: host in seen,
            60,
        )

    def begin(self, hosts: Collection[str]) -> str:
        """Lease one of these hosts as soon as one is free."""
        lease = story.until(
            f'one of {hosts} is free', lambda: self._ask(hosts), bool, 60
        )
        self._begun.append(lease)
        self._wait_for(lease, 'ACTIVE')
        return lease

    def _ask(self, hosts: Collection[str]) -> str:
        """Ask for a lease of one of the hosts; return None if others have
        them."""
        named = ', '.join(f'["==", "$service_name", "{h}"]' for h in hosts)
        end = datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=1)
        answer = self._user.ask_lease_of(
            'stays',
            None,
            end.replace(microsecond=0),
            {
                'resource_type': 'physical:host',
                'min': 1,
                'max': 1,
                'hypervisor_properties': f'["or", {named}]',
                'resource_properties': '',
            },
        )
        if answer.status_code == 409:
            return ''
        return str(person.body(answer, 201)['lease']['id'])

    def _end(self, lease: str) -> None:
        change = {'end_date': 'now'}
        person.body(
            self._user.reservation.put(f'/leases/{lease}', json=change)
        )
        self._wait_for(lease, 'TERMINATED')
        self._begun.remove(lease)

    def _wait_for(self, lease: str, status: str) -> None:
        story.until(
            f'the lease to be {status}',
            lambda: self._user.lease(lease)['status'],
            lambda seen: seen == status,
            verdict.SETTLING,
        )

    def host_of(self, lease: str) -> str:
        """Return the host that the lease has until the latest time."""
        names = self.operator.enrolled()
        allocations = person.body(
            self.operator.reservation.get(
                f'/os-hosts/allocations?lease_id={lease}'
            )
        )['allocations']
        _, name = max(
            (each['end_date'], names[host['resource_id']])
            for host in allocations
            for each in host['reservations']
        )
        return name


FAULTS: Mapping[str, faults.Fault] = {
    'compute-killed': compute_killed,
    'cell-down': cell_down,
    'cell-hung': cell_hung,
    'mass-outage': mass_outage,
}
