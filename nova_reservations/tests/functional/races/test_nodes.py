# SPDX-License-Identifier: Apache-2.0
"""Processes that write at two nodes of Galera, while a third node is behind.

Connections go to the two nodes in turn, as behind a proxy. A process therefore
reads at one node what it has written at the other.
"""

from collections import Counter
import contextlib

import pytest
import sqlalchemy as sa

from nova_reservations import objects
from nova_reservations.db import models
from nova_reservations.objects import states
from nova_reservations.tests.functional.races import conftest
from nova_reservations.tests.functional.races import load
from nova_reservations.tests.functional.races import test_races as races
from sandbox import proxies

pytestmark = pytest.mark.parametrize(
    'any_database', [conftest.GALERA], indirect=True
)

LESSEES = 6
ATTEMPTS = 10
SLOTS = 4
BEHIND = 2
"""Seconds that the third node is behind."""

party = races.party
crowd = races.crowd


@pytest.fixture
def gate(cluster, node_urls):
    """The URL of a proxy before the two nodes."""
    one, other = (('127.0.0.1', node.port) for node in cluster.nodes[:2])
    with contextlib.closing(proxies.Wire(*one, other)) as wire:
        yield (
            sa.make_url(node_urls[0])
            .set(port=wire.port)
            .render_as_string(hide_password=False)
        )


@pytest.fixture
def onlooker(cluster, node_urls, party):
    """The services of a nova-scheduler at the third node."""
    cluster.nodes[2].catch_up()
    onlooker = load.join(node_urls[2])
    yield onlooker
    onlooker.database.dispose()


def begin(crowd, gate, stop):
    workers = [
        crowd.submit(load.work, gate, f'worker {number}', stop)
        for number in range(races.WORKERS)
    ]
    lessees = [
        crowd.submit(load.lessee, gate, seed, ATTEMPTS, SLOTS)
        for seed in range(LESSEES)
    ]
    return workers, lessees


def over(party):
    """Return the reservations that nobody may use any more."""
    with party.database.reader() as session:
        return set(
            session.scalars(
                sa.select(models.Reservation.id)
                .join(
                    models.Lease,
                    models.Lease.id == models.Reservation.lease_id,
                )
                .where(
                    models.Lease.status.in_(
                        [states.Lease.TERMINATED, states.Lease.DELETING]
                    )
                )
            )
        )


def watch(party, onlooker, until):
    """Watch as on other servers. Also check that a reservation that is over at
    the first node is not usable at the third. Return the reservations that are
    over."""
    seen = set()

    def look():
        for reservation_id in over(party) - seen:
            seen.add(reservation_id)
            found = onlooker.access.find(reservation_id)
            assert found is None or found.status != states.Lease.ACTIVE
        held = races.what_is_held(onlooker.database)
        assert races.given_twice(held) == []
        assert races.overbooked(held) == []
        return until()

    races.watch(party, look)
    return seen


def test_no_host_is_given_twice_by_writers_at_two_nodes(
    cluster, party, onlooker, crowd, gate, tmp_path
):
    conflicts = cluster.conflicts()
    stop = tmp_path / 'stop'
    workers, lessees = begin(crowd, gate, stop)
    try:
        with cluster.nodes[2].late(BEHIND):
            ended = watch(
                party, onlooker, lambda: all(one.done() for one in lessees)
            )
            ended |= watch(
                party, onlooker, lambda: not races.what_is_held(party.database)
            )
    finally:
        stop.touch()
    for one in workers:
        one.result()
    answers = sum((one.result() for one in lessees), Counter())
    # The number of leases depends on the machine.
    assert answers['create done']
    assert 'DatabaseUnavailable' not in str(answers)
    assert ended
    assert cluster.conflicts() > conflicts
    entries = races.journal(party.database)
    assert races.used_twice(entries) == []
    races.ended_as_they_began(party, entries)
    races.nothing_is_lost(party)


def test_of_all_at_two_nodes_who_want_the_same_as_many_win_as_there_are_hosts(
    cluster, party, crowd, gate
):
    racers = [
        crowd.submit(load.one_of_all, gate, 5) for _ in range(races.LESSEES)
    ]
    answers = sum((one.result() for one in racers), Counter())
    assert answers == {
        f'{objects.HOST} done': len(races.HOSTS),
        f'{objects.HOST} NotEnoughResources': races.LESSEES * 5
        - len(races.HOSTS),
    }
