# SPDX-License-Identifier: Apache-2.0
"""Any capacity that came free woke all waiting leases, and each of them read
all leases before it. 400 leases cost 17.7 s of CPU, and any member could cause
that again and again.

The tests count statements, and look at which leases are written. Issue 13,
item 6.
"""

from collections.abc import Iterator
import contextlib
import dataclasses
import json
import uuid

import pytest
import sqlalchemy as sa

from nova_reservations import objects
from nova_reservations.db import counters
from nova_reservations.db.leases import leases as rows
from nova_reservations.engine.waiting import retry
from nova_reservations.engine.waiting import retry_walk
from nova_reservations.testing.region import minutes
from nova_reservations.testing.region import NOON

FEW, MANY = 5, 60
"""Numbers of waiting leases. The costs are compared with a margin, as a worker
that looks at due leases makes a few statements more or less.
"""


def asks(key, value):
    return {'resource_properties': json.dumps(['==', f'${key}', str(value)])}


def describe(region, name, **properties):
    [host] = region.hosts.find(objects.HostQuery(name=name))
    region.hosts.update(host.id, properties, region.now)


def crowd(region, count, different):
    """Have this many leases wait, each for a rack of its own, or all for one.

    The rows are copied: to ask for each lease, and to try it, would take long.
    """
    first = region.retry(duration=60, retries=1000, **asks('rack', 'all'))
    region.work()
    first = region.see(first)
    with region.database.writer() as session:
        made = [
            like(
                first,
                counters.number(session, 'arrival'),
                asks('rack', number if different else 'all'),
            )
            for number in range(count)
        ]
        for lease in made:
            rows.insert(session, lease)
    region.delete(first)
    region.work()
    return made


def like(lease, arrival, asked):
    lease_id = str(uuid.uuid4())
    [wanted] = lease.reservations
    return dataclasses.replace(
        lease,
        id=lease_id,
        arrival=arrival,
        reservations=(
            dataclasses.replace(
                wanted,
                id=str(uuid.uuid4()),
                lease_id=lease_id,
                params=wanted.params | asked,
            ),
        ),
        events=tuple(
            dataclasses.replace(event, id=str(uuid.uuid4()), lease_id=lease_id)
            for event in lease.events
        ),
    )


@contextlib.contextmanager
def statements(region) -> Iterator[list[str]]:
    """Collect the statements that are executed."""
    made = []

    def note(_connection, _cursor, statement, *_) -> None:
        made.append(statement)

    engine = region.database.engine()
    sa.event.listen(engine, 'before_cursor_execute', note)
    yield made
    sa.event.remove(engine, 'before_cursor_execute', note)


@pytest.fixture
def full(make_region):
    """Makes regions of two hosts, each held by a lease."""

    def make():
        region = make_region('one', 'two', max_create_retries=1000)
        for name, rack in (('one', 'all'), ('two', 'other')):
            describe(region, name, rack=rack)
            region.active_lease(end=600, **asks('service_name', name))
        return region

    return make


def holder_of(region, name):
    for lease in region.lease_lists.find(
        objects.LeaseQuery(statuses=('ACTIVE',))
    ):
        if name in region.hosts_of(lease):
            return lease
    raise AssertionError(f'nobody has {name}')


def what_is_for_later(region):
    lease = region.lease(start=700, end=800, minimum=2)
    return lambda: region.delete(lease)


def what_nobody_asks_for(region):
    return lambda: region.delete(holder_of(region, 'two'))


def a_description(region):
    return lambda: describe(region, 'two', colour='green')


def one_that_waits_no_more(region):
    lease = region.retry(duration=60, **asks('rack', 'all'))
    region.work()
    return lambda: region.delete(lease)


def one_that_asks_for_something_else(region):
    lease = region.retry(duration=60, **asks('rack', 'all'))
    region.work()
    return lambda: region.change(lease, end=90)


@pytest.mark.parametrize('different', [False, True])
@pytest.mark.parametrize(
    'wakes',
    [
        what_is_for_later,
        what_nobody_asks_for,
        a_description,
        one_that_waits_no_more,
        one_that_asks_for_something_else,
    ],
)
def test_capacity_that_nobody_can_use_costs_no_more_where_many_wait(
    full, wakes, different
):
    costs = []
    for count in (FEW, MANY):
        region = full()
        queue = crowd(region, count, different)
        wake = wakes(region)
        with statements(region) as made:
            wake()
            region.work()
        costs.append(len(made))
        assert written(region, queue) == []
    assert costs[1] - costs[0] < (MANY - FEW) / 4


def written(region, queue):
    """Return the numbers of the leases in the queue that have been written."""
    return [
        number
        for number, lease in enumerate(queue)
        if region.see(lease).version != lease.version
    ]


@pytest.mark.parametrize('different', [False, True])
def test_only_whose_turn_it_is_is_tried(full, different):
    costs = []
    for count in (FEW, MANY):
        region = full()
        queue = crowd(region, count, different)
        turn = count - 1 if different else 0
        if different:
            describe(region, 'one', rack=str(turn))
            region.work()
        holder = holder_of(region, 'one')
        with statements(region) as made:
            region.delete(holder)
            region.work()
        costs.append(len(made))
        assert region.hosts_of(queue[turn]) == {'one'}
        assert written(region, queue) == [turn]
    assert costs[1] - costs[0] < (MANY - FEW) / 4


def test_a_lease_that_waits_is_not_looked_at_until_anything_comes_free(full):
    region = full()
    lease = region.retry(duration=60, retries=30)
    region.work()
    assert region.see(lease).due_at == NOON + minutes(30)


def test_a_lease_that_waits_for_long_looks_for_itself_now_and_then(full):
    """Some changes are not announced, such as those of the configuration."""
    region = full()
    lease = region.retry(duration=60, retries=300)
    region.work()
    assert region.see(lease).due_at == NOON + retry.SELDOM
    with region.database.writer() as session:
        session.execute(sa.text('UPDATE nr_allocations SET released = 1'))
    region.forward(until=59)
    assert region.status(lease) == 'CREATING'
    region.forward(until=60)
    assert region.status(lease) == 'ACTIVE'


def test_a_walk_goes_on_where_the_last_has_looked_at_enough(
    make_region, monkeypatch
):
    monkeypatch.setattr('nova_reservations.engine.waiting.retry_walk.MOST', 2)
    names = [f'host-{number}' for number in range(5)]
    region = make_region(*names)
    holder = region.lease(start=30, end=600, minimum=5)
    queue = [region.retry(duration=60) for _ in range(6)]
    region.work()
    region.delete(holder)
    promised = []
    services = region.services
    walk = retry_walk.Walk(services.means, services.lifecycle.queue)
    for _ in range(3):
        walk.run(region.now)
        promised.append([region.status(lease) for lease in queue])
    for count, statuses in zip((2, 4, 5), promised, strict=True):
        assert statuses == ['PENDING'] * count + ['CREATING'] * (6 - count)


@pytest.mark.parametrize('few', [0, retry.FEW])
def test_a_host_kept_for_a_lease_is_for_those_behind_when_it_waits_no_more(
    make_region, monkeypatch, few
):
    """This also holds for a window in which the first lease could not have
    had its hosts."""
    monkeypatch.setattr(retry, 'FEW', few)
    region = make_region('one', 'two')
    region.active_lease(end=60)
    region.active_lease(end=900)
    first = region.retry(minimum=2, duration=600)
    later = region.lease(start=120, end=180)
    second = region.retry(start=120, end=180)
    region.delete(later)
    region.work()
    assert region.status(second) == 'CREATING'
    region.delete(first)
    region.work()
    assert region.status(second) == 'PENDING'


def test_a_lease_that_another_worker_just_tries_is_waited_for(full):
    """The lease that another worker tries may not want what came free. It must
    not be lost for those behind."""
    region = full()
    queue = [region.retry(duration=60, **asks('rack', 'all')) for _ in '12']
    region.work()
    with region.database.writer() as session:
        rows.change(
            session,
            region.see(queue[0]),
            region.now,
            claimed_by='the queue',
            due_at=region.now + minutes(0.5),
        )
    region.delete(holder_of(region, 'one'))
    region.work()
    assert {region.status(lease) for lease in queue} == {'CREATING'}
    region.forward(until=0.5)
    assert region.hosts_of(queue[0]) == {'one'}
