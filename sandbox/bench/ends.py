# SPDX-License-Identifier: Apache-2.0
"""The cost of many ends in one second in our database, beside other leases,
and of the end of a lease of many hosts."""

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
import datetime
import time
from typing import Any

from oslo_config import cfg
import sqlalchemy as sa

from nova_reservations import bootstrap
from nova_reservations import conf as options
from nova_reservations import objects
from nova_reservations.db import models
from nova_reservations.engine import assembly
from nova_reservations.engine.worker import senders
from nova_reservations.engine.worker import worker
from nova_reservations.types import base
from sandbox import person
from sandbox.bench import fleet
from sandbox.bench import subject as su
from sandbox.bench.report import Figure
from sandbox.bench.report import Row
from sandbox.person import body

ENDS = 60
LEASES_OF_EACH = 334
"""Leases of each group of ten hosts: 20,000 beside those that end."""

_WORKERS = 2
_THREADS = 8

#: The error code of a deadlock in MariaDB and MySQL.
_DEADLOCK = 1213

_ALLOCATION = models.table(models.Allocation)
_EVENT = models.table(models.Event)
_LEASE = models.table(models.Lease)
_RESERVATION = models.table(models.Reservation)

_ACTIVE = {'status': 'ACTIVE', 'prepared': True, 'in_nova': True}

#: Statuses of the events of a lease before its end, after the warning.
_EVENT_STATUS = sa.case(
    (_EVENT.c.event_type == 'end_lease', 'UNDONE'), else_='DONE'
)


#: The number of hosts of a lease -> the seconds that its end may take.
_LIMITS = {80: 4.1, 500: 20.0}


def ends(subject: su.Subject) -> Row:
    """60 ends in one second, in our database: two workers, Nova not asked; and
    the ends of leases of 80 and 500 hosts, in Nova."""
    rounds = subject.pick(3, 10)
    alone = _measure(subject, 1, rounds)
    beside = _measure(subject, LEASES_OF_EACH, rounds)
    others = f'{(LEASES_OF_EACH - 1) * ENDS:,} others'
    return Row(
        [
            Figure(
                f'{ENDS} ends in one second, beside no other lease',
                alone.seconds,
                's',
            ),
            Figure(
                f'the same beside {others}',
                beside.seconds,
                's',
                floor=alone.seconds,
                # The variation between runs.
                limit=1.25 * alone.seconds,
            ),
            Figure(
                'deadlocks in all of these',
                alone.deadlocks + beside.deadlocks,
                '',
                limit=0,
            ),
            *(
                Figure(
                    f'end of a lease of {hosts} hosts without servers',
                    _seconds_to_end(subject, hosts),
                    's',
                    limit=limit,
                )
                for hosts, limit in _LIMITS.items()
            ),
        ]
    )


def _seconds_to_end(subject: su.Subject, hosts: int) -> float:
    """Return the seconds until all of so many hosts are given back."""
    subject.populate(hosts)
    lease = subject.create(None, hosts)
    subject.wait([lease], 'ACTIVE', 120)
    began = time.monotonic()
    body(
        subject.demo.reservation.put(
            f'/leases/{lease}', json={'end_date': 'now'}
        )
    )
    subject.wait([lease], 'TERMINATED', 300)
    seconds = time.monotonic() - began
    subject.delete([lease])
    return seconds


@dataclasses.dataclass(frozen=True)
class _Taken:
    """:ivar seconds: the time of the quickest round.
    :ivar deadlocks: the number of deadlocks in all rounds.
    """

    seconds: float
    deadlocks: int


def _measure(subject: su.Subject, leases_of_each: int, rounds: int) -> _Taken:
    future = fleet.Future(
        subject.databases,
        subject.project_id,
        su.now(),
        ENDS * fleet.Future.size,
        leases_of_each,
    )
    # The workers of the cloud do not handle these ends, because they are in
    # the future. No other lease begins before that time.
    then = su.now() + datetime.timedelta(hours=12)
    ending = [
        f'{fleet.LEASE}{group * leases_of_each:012x}' for group in range(ENDS)
    ]
    services = _services(subject)
    try:
        future.create(subject.enrolled[0])
        with _deadlocks(services.database.engine()) as deadlocks:
            seconds = [
                _round(subject, services, ending, then) for _ in range(rounds)
            ]
        # The minimum, because other load of the machine only adds time.
        return _Taken(min(seconds), len(deadlocks))
    finally:
        services.database.dispose()
        future.delete()


class _Unseen(base.ResourceType):
    """Whole hosts that do not exist in Nova."""

    def validate(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        raise NotImplementedError

    def demand(self, params: Mapping[str, Any]) -> None:
        raise NotImplementedError

    def start(self, booking: base.Booking) -> None:
        raise NotImplementedError

    def end(self, booking: base.Booking) -> None:
        booking.check()


def _services(subject: su.Subject) -> assembly.Services:
    conf = cfg.ConfigOpts()
    options.register_opts(conf)
    conf([], default_config_files=[])
    conf.set_override(
        'connection',
        subject.layout.database('nova_api'),
        group='reservations',
    )
    services = bootstrap.build(conf, notify=lambda event_type, payload: None)
    kind = services.lifecycle.bookings.types[objects.HOST]
    services.lifecycle.bookings.types = {
        objects.HOST: _Unseen(kind.cloud, conf)
    }
    return services


@contextlib.contextmanager
def _deadlocks(engine: sa.Engine) -> Iterator[list[str]]:
    """Collect the statements of our connections that failed by deadlocks."""
    found: list[str] = []

    def note(context: sa.engine.ExceptionContext) -> None:
        error = context.original_exception
        if error.args[:1] == (_DEADLOCK,):
            found.append(str(context.statement))

    sa.event.listen(engine, 'handle_error', note)
    yield found
    sa.event.remove(engine, 'handle_error', note)


def _round(
    subject: su.Subject,
    services: assembly.Services,
    ending: Sequence[str],
    then: datetime.datetime,
) -> float:
    """Return the seconds until all leases that are due have ended."""
    _set_due(subject, ending, then)
    services.lifecycle.clock = lambda: then
    workers = [
        worker.Worker(
            f'bench {number}',
            services.database,
            services.lifecycle,
            [],
            _THREADS,
            senders.Senders(services.database, services.messages),
        )
        for number in range(_WORKERS)
    ]
    began = time.monotonic()
    ended = _LEASE.c.status == 'TERMINATED'
    while left := len(ending) - subject.count(ending, ended):
        if time.monotonic() - began > 120:
            raise person.Unexpected('no lease', left)
        for one in workers:
            one.tick(then)
        time.sleep(0.01)
    seconds = time.monotonic() - began
    for one in workers:
        one.stop()
    return seconds


def _set_due(
    subject: su.Subject, ending: Sequence[str], then: datetime.datetime
) -> None:
    """Make leases active, with their end at this time; also those that a
    round before has ended."""
    reservations = [
        each.replace(fleet.LEASE, fleet.RESERVATION) for each in ending
    ]
    for table, key, ids, columns in (
        (_ALLOCATION, 'reservation_id', reservations, {'released': False}),
        (_RESERVATION, 'id', reservations, {'status': 'active'}),
        (_EVENT, 'lease_id', ending, {'status': _EVENT_STATUS}),
        (_LEASE, 'id', ending, _ACTIVE | {'end_date': then, 'due_at': then}),
    ):
        with subject.databases.ours.connect() as connection:
            connection.execute(
                sa.update(table).where(table.c[key].in_(ids)).values(**columns)
            )
