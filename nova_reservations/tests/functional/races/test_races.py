# SPDX-License-Identifier: Apache-2.0
"""Many processes want few hosts; a slow and obvious oracle checks the
result.
"""

from collections import Counter
from collections import defaultdict
from concurrent import futures
import dataclasses
import datetime
import itertools
import time

import pytest
import sqlalchemy as sa

from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db import models
from nova_reservations.db.upkeep import audit
from nova_reservations.engine import claimed_leases
from nova_reservations.engine.booking import lease_requests
from nova_reservations.engine.worker import lifecycle
from nova_reservations.engine.worker import senders
from nova_reservations.engine.worker import worker
from nova_reservations.objects import states
from nova_reservations.tests import conftest
from nova_reservations.tests.functional.races import conftest as races
from nova_reservations.tests.functional.races import load
from nova_reservations.tests.processes import PROCESSES

HOSTS = load.HOSTS
LESSEES = 8
ATTEMPTS, SLOTS = (64, 16) if races.IF_LONG else (24, 8)
"""The leases that each lessee asks for, and the slots of time in which they
may begin: the last one's end is waited for."""

WORKERS = 2
PATIENCE = 200
"""Seconds until all work that was begun is over."""


EVERYWHERE = pytest.mark.parametrize(
    'any_database', [*conftest.BACKENDS, *races.IF_LONG], indirect=True
)


@pytest.fixture
def party(any_database):
    """All hosts are enrolled, and there is a journal."""
    load.JOURNAL.create(any_database.engine())
    party = load.join(any_database.url)
    for name in HOSTS:
        party.hosts.enrolment.enrol(name, {}, party.database.now())
    yield party
    party.database.dispose()


@pytest.fixture
def crowd(any_database):
    """Processes, or threads if the database is a file."""
    if any_database.url.startswith('sqlite'):
        pool = futures.ThreadPoolExecutor(LESSEES + WORKERS)
    else:
        pool = futures.ProcessPoolExecutor(
            LESSEES + WORKERS, mp_context=PROCESSES
        )
    with pool:
        yield pool


@dataclasses.dataclass(frozen=True)
class Held:
    lease: str
    host: int
    start: datetime.datetime
    end: datetime.datetime
    exclusive: bool
    amounts: dict[str, int]


CAPACITY = {'VCPU': 64, 'MEMORY_MB': 65024, 'DISK_GB': 1000}
"""The capacity of each host."""


def what_is_held(database: api.Database) -> list[Held]:
    """Return all allocations that are not released, as one query reads
    them."""
    allocation, amount = models.Allocation, models.AllocationAmount
    query = (
        sa.select(
            allocation.id,
            models.Reservation.lease_id,
            allocation.resource_id,
            allocation.start_date,
            allocation.end_date,
            allocation.exclusive,
            amount.resource_class,
            amount.amount,
        )
        .join(
            models.Reservation,
            models.Reservation.id == allocation.reservation_id,
        )
        .outerjoin(amount, amount.allocation_id == allocation.id)
        .where(allocation.released == sa.false())
    )
    found: dict[int, Held] = {}
    with database.reader() as session:
        for row in session.execute(query):
            one = found.setdefault(row.id, Held(*row[1:6], amounts={}))
            if row.resource_class in CAPACITY:
                one.amounts[row.resource_class] = row.amount
    return list(found.values())


def given_twice(held: list[Held]) -> list[tuple[Held, Held]]:
    """Return overlapping allocations of a host of which one is of the whole
    host."""
    return [
        (one, other)
        for one, other in itertools.combinations(held, 2)
        if one.host == other.host
        and one.start < other.end
        and other.start < one.end
        and (one.exclusive or other.exclusive)
    ]


def overbooked(held: list[Held]) -> list[tuple[Held, str, int]]:
    """Return shares at whose start their host has too little room."""
    found = []
    for one in held:
        there = [
            other
            for other in held
            if other.host == one.host and other.start <= one.start < other.end
        ]
        for name, capacity in CAPACITY.items():
            used = sum(other.amounts.get(name, 0) for other in there)
            if used > capacity:
                found.append((one, name, used))
    return found


def journal(database):
    with database.reader() as session:
        return session.execute(
            sa.select(load.JOURNAL).order_by(load.JOURNAL.c.id)
        ).all()


def used_twice(entries):
    """Return the entries by which a lease got a host, or a share of a host,
    before another lease had left it."""
    users = defaultdict(dict)
    found = []
    for entry in entries:
        if entry.what == 'update':
            # The update may have given hosts back.
            for given in users.values():
                given.pop(entry.lease, None)
        for name, amounts in entry.hosts.items():
            host = name.removesuffix('+')
            if entry.what == 'end':
                users[host].pop(entry.lease, None)
                continue
            users[host][entry.lease] = amounts
            if is_too_much(users[host].values()):
                found.append((entry, dict(users[host])))
    return found


def is_too_much(given):
    """Return whether a whole host is given to one of several leases, or shares
    exceed the capacity."""
    used = sum(map(Counter, given), Counter())
    return (len(given) > 1 and not all(given)) or any(
        used[name] > capacity for name, capacity in CAPACITY.items()
    )


def watch(party, until):
    """Check that no host is given twice, until the condition holds."""
    deadline = time.monotonic() + PATIENCE
    while not until():
        held = what_is_held(party.database)
        assert given_twice(held) == []
        assert overbooked(held) == []
        assert time.monotonic() < deadline, 'it takes too long'
        time.sleep(0.2)


@EVERYWHERE
def test_no_host_is_given_twice_and_each_lease_starts_and_ends_once(
    party, crowd, gates, tmp_path
):
    stop = tmp_path / 'stop'
    workers = [
        crowd.submit(load.work, next(gates), f'worker {number}', stop)
        for number in range(WORKERS)
    ]
    lessees = [
        crowd.submit(load.lessee, next(gates), seed, ATTEMPTS, SLOTS)
        for seed in range(LESSEES)
    ]
    try:
        watch(party, lambda: all(one.done() for one in lessees))
        watch(party, lambda: not what_is_held(party.database))
    finally:
        stop.touch()
    for one in workers:
        one.result()
    answers = sum((one.result() for one in lessees), Counter())
    created = {
        answer: count
        for answer, count in answers.items()
        if answer.startswith('create ')
    }
    assert set(created) <= {
        'create done',
        'create NotEnoughResources',
        'create Contended',
    }
    assert sum(created.values()) == LESSEES * ATTEMPTS
    assert created['create done'] > 2 * ATTEMPTS
    assert answers['create Contended'] + answers['Contended'] <= 10
    entries = journal(party.database)
    used = {name for entry in entries for name in entry.hosts}
    assert {name[-1] == '+' for name in used} == {True, False}
    assert used_twice(entries) == []
    ended_as_they_began(party, entries)
    nothing_is_lost(party)


def ended_as_they_began(party, entries):
    told = Counter((entry.lease, entry.what) for entry in entries)
    assert {
        count
        for (_, what), count in told.items()
        if what.startswith('lease.') and what != 'lease.update'
    } == {1}
    alive = {
        lease.id: str(lease.status)
        for lease in party.lease_lists.find(objects.LeaseQuery())
    }
    assert set(alive.values()) <= {'TERMINATED', 'ERROR'}
    for lease_id, status in alive.items():
        if status == 'TERMINATED':
            assert told[lease_id, 'lease.event.start_lease'] == 1
            assert told[lease_id, 'lease.event.end_lease'] == 1
            assert told[lease_id, 'end'] >= 1


def nothing_is_lost(party):
    lease_now(party, len(HOSTS))


def lease_now(party, count):
    now = party.database.now()
    hosts = {'min': count, 'max': count}
    asked = lease_requests.NewLease(
        name='all',
        project_id='p',
        user_id='u',
        start=now,
        end=now + datetime.timedelta(hours=1),
        before_end=None,
        reservations=(lease_requests.NewReservation(objects.HOST, hosts),),
    )
    return party.leases.create(asked, now)


def test_a_host_that_an_active_lease_gave_back_is_not_used_twice(party):
    one = worker.Worker(
        'one',
        party.database,
        party.lifecycle,
        party.tasks,
        1,
        senders.Senders(party.database, party.messages),
    )

    def work():
        for seconds in range(5):
            one.tick(
                party.database.now() + datetime.timedelta(seconds=seconds)
            )
            one.drain()

    lease = lease_now(party, len(HOSTS))
    work()
    fewer = {lease.reservations[0].id: {'min': 1, 'max': 1}}
    change = lease_requests.LeaseChanges(reservations=fewer)
    party.leases.update(lease.id, change, party.database.now())
    work()
    lease_now(party, len(HOSTS) - 1)
    work()
    entries = journal(party.database)
    assert sum(entry.what == 'start' for entry in entries) == 2
    assert used_twice(entries) == []


@EVERYWHERE
def test_of_all_who_want_the_same_window_as_many_win_as_there_are_hosts(
    party, crowd, gates
):
    racers = [
        crowd.submit(load.one_of_all, next(gates), 5) for _ in range(LESSEES)
    ]
    answers = sum((one.result() for one in racers), Counter())
    assert answers == {
        f'{objects.HOST} done': len(HOSTS),
        f'{objects.HOST} NotEnoughResources': LESSEES * 5 - len(HOSTS),
    }


@EVERYWHERE
def test_of_all_who_want_slots_as_many_win_as_there_is_room(
    party, crowd, gates
):
    racers = [
        crowd.submit(
            load.one_of_all, next(gates), 5, load.ONE_SLOT, load.ONE_GPU
        )
        for _ in range(LESSEES)
    ]
    answers = sum((one.result() for one in racers), Counter())
    room = 2 * len(HOSTS)
    assert answers == {
        f'{kind} {answer}': count
        for kind in (load.SLOTS_OF, load.FLAVORS)
        for answer, count in (
            ('done', room),
            ('NotEnoughResources', LESSEES * 5 - room),
        )
    }
    assert overbooked(what_is_held(party.database)) == []
    with party.database.reader() as session:
        assert audit.overbooked(session) == []


@EVERYWHERE
def test_of_all_servers_with_a_place_as_many_win_as_there_is_room(
    party, crowd, gates
):
    racers = [
        crowd.submit(load.server_of_all, next(gates), 5)
        for _ in range(LESSEES)
    ]
    answers = sum((one.result() for one in racers), Counter())
    room = 2 * len(HOSTS)
    assert answers == {
        'done': room,
        'NotEnoughResources': LESSEES * 5 - room,
    }
    assert overbooked(what_is_held(party.database)) == []


@EVERYWHERE
def test_of_all_who_want_hosts_or_slots_nobody_is_refused_what_there_is(
    party, crowd, gates
):
    """Each lessee asks for hosts and slots in turn, more often than there are
    any."""
    racers = [
        crowd.submit(
            load.one_of_all,
            next(gates),
            5,
            *(load.ONE_HOST, load.ONE_SLOT)[:: 1 if number % 2 else -1],
        )
        for number in range(LESSEES)
    ]
    answers = sum((one.result() for one in racers), Counter())
    wholes = answers[f'{objects.HOST} done']
    slots = answers[f'{load.SLOTS_OF} done']
    held = what_is_held(party.database)
    assert given_twice(held) == overbooked(held) == []
    assert wholes and slots
    assert slots == 2 * (len(HOSTS) - wholes)
    told = {'done', 'NotEnoughResources'}
    if party.database.url.startswith('sqlite'):
        # On SQLite a writer may wait too long for all other writers.
        told.add('DatabaseUnavailable')
    assert {answer.split()[1] for answer in answers} <= told


def host_for(party, start, minutes, **more):
    """Lease a host in this many minutes, for this many minutes."""
    now = party.database.now()
    start = now + datetime.timedelta(minutes=start)
    return party.leases.create(
        lease_requests.NewLease(
            name='one',
            project_id='p',
            user_id='u',
            start=start,
            end=start + datetime.timedelta(minutes=minutes),
            before_end=None,
            reservations=(
                lease_requests.NewReservation(
                    objects.HOST, {'min': 1, 'max': 1}
                ),
            ),
            **more,
        ),
        now,
    )


@EVERYWHERE
def test_all_that_is_freed_is_had_at_once_in_the_order_of_arrival(
    party, crowd, gates, tmp_path
):
    """Leases are woken: their own next look would come after the deadline."""
    holders = [host_for(party, 10, 60).id for _ in HOSTS]
    waiting = [
        host_for(
            party,
            0,
            60,
            lease_type=states.LeaseType.RETRY,
            duration=datetime.timedelta(minutes=60),
        )
        for _ in (*HOSTS, 'one more')
    ]
    assert {lease.status for lease in waiting} == {'CREATING'}
    stop = tmp_path / 'stop'
    workers = [
        crowd.submit(load.work, next(gates), f'worker {number}', stop)
        for number in range(WORKERS)
    ]
    deadline = time.monotonic() + 40
    try:
        deletes = [
            crowd.submit(load.delete, next(gates), holders[number::4])
            for number in range(4)
        ]
        while True:
            left = [
                lease.arrival
                for lease in party.lease_lists.find(objects.LeaseQuery())
                if lease.status == 'CREATING'
            ]
            assert sorted(left) == [
                lease.arrival for lease in waiting[len(waiting) - len(left) :]
            ]
            if len(left) == 1 and all(one.done() for one in deletes):
                break
            assert time.monotonic() < deadline, 'it takes too long'
            time.sleep(0.1)
    finally:
        stop.touch()
    for one in (*workers, *deletes):
        one.result()
    assert given_twice(what_is_held(party.database)) == []
    assert len(what_is_held(party.database)) == len(HOSTS)


@pytest.mark.parametrize('any_database', ['mysql'], indirect=True)
def test_a_worker_killed_in_mid_start_is_followed_by_another(party, tmp_path):
    lease = lease_now(party, 1)
    hint = tmp_path / 'starting'
    victim = PROCESSES.Process(
        target=load.start_and_stop, args=(party.database.url, hint)
    )
    victim.start()
    deadline = time.monotonic() + PATIENCE
    while not hint.exists():
        assert victim.is_alive()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    victim.kill()
    victim.join()
    assert party.leases.get(lease.id).status == 'STARTING'
    later = party.database.now() + claimed_leases.DURATION
    other = worker.Worker(
        'other',
        party.database,
        lifecycle.Lifecycle(
            party.means,
            clock=lambda: later,
            queue=party.lifecycle.queue,
            best_effort_leases=party.lifecycle.best_effort_leases,
            actions=party.lifecycle.ends.actions,
            monitors=party.monitoring,
            healer=party.healing,
        ),
        party.tasks,
        1,
        senders.Senders(party.database, party.messages),
    )
    other.tick(later)
    other.stop()
    assert party.leases.get(lease.id).status == 'ACTIVE'
    started = [entry.what for entry in journal(party.database)]
    assert started.count('lease.event.start_lease') == 1
