# SPDX-License-Identifier: Apache-2.0
"""Lessees and workers, each a process, that race for the same hosts.

The processes share a database and nothing else. Calls that a real cloud would
get are written to a journal table beside ours.
"""

from collections import Counter
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
import datetime
import pathlib
import random
import signal
import time
from typing import Any
import uuid

import sqlalchemy as sa

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.db import api
from nova_reservations.engine import assembly
from nova_reservations.engine import clocks
from nova_reservations.engine import resource_types
from nova_reservations.engine.assembly import Services
from nova_reservations.engine.booking import lease_requests
from nova_reservations.engine.worker import senders
from nova_reservations.engine.worker import worker
from nova_reservations.objects import states
from nova_reservations.plugins.drain_strategies import shipped
from nova_reservations.plugins.event_actions import offered
from nova_reservations.testing import fake_cloud
from nova_reservations.testing import options
from nova_reservations.tests.functional.engine import pools
from nova_reservations.types import base
from nova_reservations.types.servers import flavor
from nova_reservations.types.servers import host
from nova_reservations.types.servers import instance
from nova_reservations.types.servers import monitor as compute
from nova_reservations.types.servers import server

HOSTS = [f'host{number}' for number in range(10)]
"""The hosts of the cloud."""

SLOT = 2
"""Seconds: windows begin and end at multiples of this, so that many of them
touch.
"""

OPTIONS = options.engine_settings(
    prepare_ahead=datetime.timedelta(seconds=3),
    before_end=datetime.timedelta(0),
    settle=datetime.timedelta(0),
    host_refresh_interval=datetime.timedelta(days=1),
    # The fake clouds of these processes do not know whether a host is up.
    enable_polling_monitor=False,
    healing_interval=datetime.timedelta(days=1),
)

JOURNAL = sa.Table(
    'journal',
    sa.MetaData(),
    sa.Column('id', sa.Integer, primary_key=True),
    sa.Column('what', sa.String(64)),
    sa.Column('lease', sa.String(36)),
    sa.Column('hosts', sa.JSON),
)
"""In the column ``hosts``: name of a host, with '+' if the host is shared ->
resource class -> units; nothing for a whole host."""


class Journal:
    def __init__(self, database: api.Database) -> None:
        self.database = database

    def write(
        self, what: str, lease_id: str, hosts: Mapping[str, Mapping[str, int]]
    ) -> None:
        with self.database.writer() as session:
            session.execute(
                sa.insert(JOURNAL).values(
                    what=what, lease=lease_id, hosts=hosts
                )
            )

    def notify(self, event_type: str, payload: Mapping[str, Any]) -> None:
        self.write(event_type, payload['lease_id'], {})


class Journaled(base.ResourceType):
    """A type that writes its starts, changes and ends to the journal only."""

    journal: Journal

    def prepare(self, booking: base.Booking) -> None:
        booking.check()

    def start(self, booking: base.Booking) -> None:
        self._write('start', booking)

    def update(self, booking: base.Booking) -> None:
        self._write('update', booking)

    def heal(self, booking: base.Booking) -> None:
        self.update(booking)

    def end(self, booking: base.Booking) -> base.Waiting | None:
        self._write('end', booking)
        return None

    def _write(self, what: str, booking: base.Booking) -> None:
        booking.check()
        self.journal.write(what, booking.lease.id, self._used(booking))

    def _used(self, booking: base.Booking) -> dict[str, dict[str, int]]:
        return {resource.name: {} for resource in booking.resources}


class JournaledHost(Journaled, host.PhysicalHost):
    """Whole hosts."""


class JournaledSlots(Journaled, instance.VirtualInstance):
    """Slots of hosts; the journal names a host as host+."""

    def _used(self, booking: base.Booking) -> dict[str, dict[str, int]]:
        each = self.demand(booking.reservation.params).amounts
        return {
            f'{resource.name}+': {
                name: amount * booking.slots[resource.id]
                for name, amount in each.items()
            }
            for resource in booking.resources
        }


SLOTS_OF = 'virtual:instance'
SIZE = {'vcpus': 2, 'memory_mb': 30000, 'disk_gb': 10}
"""Two slots of this size fit the memory of a host."""

BUSY = {'vcpus': 16, 'memory_mb': 1024, 'disk_gb': 10}
"""Four slots of this size fit the CPUs of a host."""


class JournaledServer(Journaled, server.Server):
    """Servers with a lease of their own."""


class JournaledFlavor(Journaled, flavor.FlavorInstance):
    """Slots of a flavor that uses the GPUs below a host."""


FLAVORS = 'flavor:instance'
GPUS = tuple(
    objects.Inventory('VGPU', 3, 0, 1, 3, 1, 1.0, provider=name)
    for name in ('one', 'other')
)
GRAPHICS = ports.KnownFlavor(
    'graphics',
    'g1.small',
    True,
    ports.Flavor(1, 512, 1),
    {'VCPU': 1, 'MEMORY_MB': 512, 'VGPU/2': 2},
    frozenset(),
    frozenset(),
)
"""Each of the two GPUs of a host has room for one of these, and for half
another.
"""

LARGE = ports.KnownFlavor(
    'large',
    'm1.large',
    True,
    ports.Flavor(2, 30000, 10),
    {'VCPU': 2, 'MEMORY_MB': 30000, 'DISK_GB': 10},
    frozenset(),
    frozenset(),
)
"""This flavor needs as much as SIZE."""


def join(url: str, source: ports.LimitSource | None = None) -> Services:
    """Return the services of a process.

    :param source: where the limits of projects come from
    """
    opts = options.defaults()
    cloud = _cloud()
    database = api.Database(url)
    journal = Journal(database)
    kinds: dict[str, Any] = {
        objects.HOST: JournaledHost(cloud, opts),
        SLOTS_OF: JournaledSlots(cloud, opts),
        objects.SERVER: JournaledServer(cloud, opts),
        FLAVORS: JournaledFlavor(cloud, opts),
        pools.POOL: pools.Pool(cloud, opts),
    }
    for kind in kinds.values():
        kind.journal = journal
    parts = assembly.Parts(
        database,
        cloud,
        assembly.Plugins(
            resource_types.Types(kinds),
            [compute.ComputeMonitor(cloud, opts)],
            shipped.load(opts),
            offered.Actions(cloud, opts),
        ),
        OPTIONS,
        journal.notify,
        clocks.Clock(database.now, database.now),
        source,
    )
    return assembly.assemble(parts)


def _cloud() -> fake_cloud.FakeCloud:
    """Return the cloud as each process sees it: with all hosts in the pool, so
    that a worker counts none of them as lost."""
    cloud = fake_cloud.FakeCloud(*HOSTS)
    cloud.known_flavors |= {known.id: known for known in (LARGE, GRAPHICS)}
    for name in HOSTS:
        cloud.known[name] = dataclasses.replace(
            cloud.known[name], nested=GPUS, tree='two GPUs'
        )
    cloud.marked.update(HOSTS)
    cloud.pool.update(HOSTS)
    cloud.has_pool = True
    return cloud


class Dice(random.Random):
    """:ivar slots: the number of slots in which a window may begin."""

    slots: int


def lessee(url: str, seed: int, attempts: int, slots: int) -> Counter[str]:
    """Lease, change and delete at random; return how often there was which
    answer.

    :param slots: the number of slots in which a window may begin
    """
    party = join(url)
    dice = Dice(seed)
    dice.slots = slots
    mine: list[str] = []
    answers: Counter[str] = Counter()
    for _ in range(attempts):
        act = dice.choice([_create, _create, _create, _update, _delete])
        if act is not _create:
            # Attempts count creates; changes and deletes are made in addition.
            answers[_answer(act, party, dice, mine)] += 1
        answers['create ' + _answer(_create, party, dice, mine)] += 1
    for lease_id in mine[::2]:
        answers[_answer(_delete, party, dice, [lease_id])] += 1
    party.database.dispose()
    return answers


def _answer(act: Any, party: Services, dice: Dice, mine: Any) -> str:
    try:
        act(party, dice, mine)
    except exception.ReservationsError as error:
        return type(error).__name__
    return 'done'


def _window(
    party: Services, dice: Dice
) -> tuple[datetime.datetime, datetime.datetime, datetime.datetime]:
    now = party.database.now()
    first = int(now.timestamp()) // SLOT + dice.randrange(dice.slots)
    start, end = (
        datetime.datetime.fromtimestamp(slot * SLOT, datetime.UTC)
        for slot in (first, first + dice.randint(1, 4))
    )
    return now, max(start, now), max(end, now + datetime.timedelta(seconds=1))


def _create(party: Services, dice: Dice, mine: list[str]) -> None:
    now, start, end = _window(party, dice)
    minimum = dice.choice([1, 1, 1, 2, 3])
    kind, asked = (
        objects.HOST,
        {
            'min': minimum,
            'max': minimum + dice.choice([0, 0, 2]),
        },
    )
    if dice.random() < 0.4:
        kind, asked = (
            SLOTS_OF,
            {
                **dice.choice([SIZE, BUSY]),
                'amount': minimum,
                'affinity': dice.choice([None, True, False]),
                'resource_properties': '',
            },
        )
    lease = party.leases.create(
        lease_requests.NewLease(
            name='race',
            project_id='p',
            user_id='u',
            start=start,
            end=end,
            before_end=None,
            reservations=(lease_requests.NewReservation(kind, asked),),
        ),
        now,
    )
    mine.append(lease.id)


def _update(party: Services, dice: Dice, mine: list[str]) -> None:
    lease = party.leases.get(dice.choice(mine or ['none']))
    now, start, end = _window(party, dice)
    if lease.status != states.Lease.PENDING:
        start = lease.start_date
    maximum = dice.randint(1, 4)
    asked = {'min': 1, 'max': maximum}
    if lease.reservations[0].resource_type == SLOTS_OF:
        asked = {'amount': maximum}
    change = dice.choice(
        [
            lease_requests.LeaseChanges(name='other'),
            lease_requests.LeaseChanges(end=end),
            lease_requests.LeaseChanges(start=start, end=end),
            lease_requests.LeaseChanges(
                reservations={lease.reservations[0].id: asked}
            ),
        ]
    )
    party.leases.update(lease.id, change, now)


def _delete(party: Services, dice: Dice, mine: list[str]) -> None:
    lease_id = dice.choice(mine or ['none'])
    party.leases.delete(lease_id, party.database.now())


ONE_HOST = objects.HOST, {'min': 1, 'max': 1}
ONE_SLOT = (
    SLOTS_OF,
    {**SIZE, 'amount': 1, 'affinity': None, 'resource_properties': ''},
)

ONE_GPU = FLAVORS, {'flavor_id': 'graphics', 'amount': 1, 'affinity': None}


def one_of_all(
    url: str, attempts: int, *items: tuple[str, dict[str, Any]]
) -> Counter[str]:
    """Ask for these items in turn, in a window in which all other processes
    want the same; return how often there was which answer, by type."""
    party = join(url)
    answers: Counter[str] = Counter()
    now = datetime.datetime(2040, 1, 1, tzinfo=datetime.UTC)
    for item in list(items or [ONE_HOST]) * attempts:
        asked = lease_requests.NewLease(
            name='race',
            project_id='p',
            user_id='u',
            start=now + datetime.timedelta(hours=1),
            end=now + datetime.timedelta(hours=2),
            before_end=None,
            reservations=(lease_requests.NewReservation(*item),),
        )
        try:
            party.leases.create(asked, now)
        except exception.ReservationsError as error:
            answers[f'{item[0]} {type(error).__name__}'] += 1
        else:
            answers[f'{item[0]} done'] += 1
    party.database.dispose()
    return answers


def repeat(url: str, keys: int) -> list[str]:
    """Ask for one host with each of these idempotency keys, as other processes
    do; return the leases."""
    party = join(url)
    now = datetime.datetime(2040, 1, 1, tzinfo=datetime.UTC)
    made = []
    for number in range(keys):
        start = now + datetime.timedelta(hours=1 + number)
        asked = lease_requests.NewLease(
            name='race',
            project_id='p',
            user_id='u',
            start=start,
            end=start + datetime.timedelta(hours=1),
            before_end=None,
            reservations=(lease_requests.NewReservation(*ONE_HOST),),
            key=objects.IdempotencyKey.of('p', 'u', str(number), number),
        )
        made.append(party.leases.create(asked, now).id)
    party.database.dispose()
    return made


def server_of_all(url: str, attempts: int) -> Counter[str]:
    """Ask for servers with a guaranteed place, in a window in which all other
    processes want the same; return how often there was which answer."""
    party = join(url)
    answers: Counter[str] = Counter()
    now = datetime.datetime(2040, 1, 1, tzinfo=datetime.UTC)
    for _ in range(attempts):
        asked = lease_requests.NewLease(
            name='race',
            project_id='p',
            user_id='u',
            start=now,
            end=now + datetime.timedelta(hours=1),
            before_end=None,
            reservations=(
                lease_requests.NewReservation(
                    objects.SERVER,
                    {
                        'guaranteed': True,
                        'flavor_id': LARGE.id,
                        'amount': 1,
                    },
                ),
            ),
        )
        try:
            lease = party.server_leases.request(asked, now)
            party.server_leases.record(lease.id, str(uuid.uuid4()), now)
            party.server_leases.accept(lease.id, now)
        except exception.ReservationsError as error:
            answers[type(error).__name__] += 1
        else:
            answers['done'] += 1
    party.database.dispose()
    return answers


def delete(url: str, lease_ids: Sequence[str]) -> None:
    """Delete leases, one after the other."""
    party = join(url)
    for lease_id in lease_ids:
        party.leases.delete(lease_id, party.database.now())
    party.database.dispose()


def work(url: str, name: str, until: pathlib.Path) -> None:
    """Be a worker until this file exists."""
    party = join(url)
    one = worker.Worker(
        name,
        party.database,
        party.lifecycle,
        party.tasks,
        4,
        senders.Senders(party.database, party.messages),
    )
    while not until.exists():
        # The worker looks as often as the loop; a busy one would race only
        # with itself.
        with contextlib.suppress(exception.DatabaseUnavailable):
            one.tick(party.database.now())
        time.sleep(0.1)
    one.stop()
    party.database.dispose()


def start_and_stop(url: str, hint: pathlib.Path) -> None:
    """Be a worker that stops in the middle of the start of a lease."""
    party = join(url)
    kind = party.lifecycle.bookings.types[objects.HOST]

    def stopped(booking: base.Booking) -> None:
        JournaledHost.start(kind, booking)  # type: ignore[arg-type]
        hint.touch()
        signal.pause()

    kind.start = stopped  # type: ignore[method-assign]
    one = worker.Worker(
        'x',
        party.database,
        party.lifecycle,
        party.tasks,
        1,
        senders.Senders(party.database, party.messages),
    )
    one.tick(party.database.now())
    one.drain()
