# SPDX-License-Identifier: Apache-2.0
"""Many processes of one project ask for more than its limits in total."""

from collections import Counter
from concurrent import futures
import threading

import pytest

from nova_reservations.db.holdings import project_limits
from nova_reservations.objects import limits
from nova_reservations.objects import states
from nova_reservations.tests.functional.engine import pools
from nova_reservations.tests.functional.races import limit_load
from nova_reservations.tests.functional.races import load
from nova_reservations.tests.functional.races import test_races

crowd = test_races.crowd
party = test_races.party


def race(crowd, gates, *asked):
    racers = [
        crowd.submit(limit_load.within_limits, next(gates), 8, *asked)
        for _ in range(8)
    ]
    return sum((one.result() for one in racers), Counter())


WANTED = {
    'hosts': load.ONE_HOST,
    'leases': load.ONE_HOST,
    'host_hours': load.ONE_HOST,
    'slots': load.ONE_SLOT,
}
"""The limit -> an item that counts against it."""


@pytest.mark.parametrize('what', WANTED)
@test_races.EVERYWHERE
def test_64_creates_at_once_never_exceed_a_limit(party, crowd, gates, what):
    """There are more hosts, and slots, than the project may have."""
    allowed = limits.Limits(**{what: 6})
    answers = race(crowd, gates, allowed, 0, WANTED[what])
    assert answers == {'done': 6, 'OverLimit': 58}
    assert len(test_races.what_is_held(party.database)) == 6


@test_races.EVERYWHERE
def test_64_that_begin_to_wait_at_once_never_exceed_the_limit(
    party, crowd, gates
):
    """Another project has all hosts."""
    limit_load.take_all(party, len(test_races.HOSTS))
    allowed = limits.Limits(waiting=6)
    answers = race(crowd, gates, allowed, 0, None, states.LeaseType.RETRY)
    assert answers == {'done': 6, 'OverLimit': 58}
    _, used = party.leases.limits.used('p', party.database.now())
    assert (used.leases, used.waiting) == (6, 6)


@pytest.mark.parametrize(
    ('params', 'name'),
    [({}, pools.POOL), ({'size': 1}, f'{pools.POOL}/{pools.GIB}')],
)
@test_races.EVERYWHERE
def test_64_creates_of_another_type_never_exceed_its_limit(
    party, crowd, gates, params, name
):
    """There are more pools, and more GiB, than the project may have."""
    for number in range(8):
        party.resources.add(
            pools.POOL, f'pool {number}', party.database.now(), {pools.GIB: 8}
        )
    allowed = limits.Limits(resources={name: 6})
    answers = race(crowd, gates, allowed, 0, (pools.POOL, params))
    assert answers == {'done': 6, 'OverLimit': 58}
    _, used = party.leases.limits.used('p', party.database.now())
    assert used.resources[name] == 6


@pytest.fixture
def one_then_other(monkeypatch, any_database):
    """Have the first request stop between its look and its commit. Meanwhile a
    second one asks for a host, and would have enough time if it did not wait.
    Return the outcomes of both."""
    looked, goes_on = threading.Event(), threading.Event()
    look = project_limits.look

    def stop(*args):
        found = look(*args)
        if not looked.is_set():
            looked.set()
            assert goes_on.wait(30)
        return found

    def race(first, allowed):
        monkeypatch.setattr(project_limits, 'look', stop)
        with futures.ThreadPoolExecutor(2) as threads:
            one = threads.submit(first)
            try:
                assert looked.wait(30)
                other = threads.submit(
                    limit_load.within_limits, any_database.url, 1, allowed
                )
                futures.wait([other], timeout=2)
            finally:
                goes_on.set()
            return one.result(), other.result()

    return race


def test_the_second_request_sees_what_the_first_has_not_committed_yet(
    party, any_database, one_then_other
):
    allowed = limits.Limits(leases=1)
    answers = one_then_other(
        lambda: limit_load.within_limits(any_database.url, 1, allowed), allowed
    )
    assert answers == ({'done': 1}, {'OverLimit': 1})


def test_a_request_that_comes_while_one_that_waited_gets_its_host_sees_that(
    party, any_database, one_then_other
):
    url, allowed = any_database.url, limits.Limits(hosts=1)
    in_the_way = limit_load.take_all(party, len(test_races.HOSTS))
    waits = states.LeaseType.RETRY
    limit_load.within_limits(url, 1, limits.Limits(), lease_type=waits)
    party.leases.delete(in_the_way.id, limit_load.NEW_YEAR)
    _, answer = one_then_other(
        lambda: limit_load.serve_who_waits(url, allowed), allowed
    )
    assert answer == {'OverLimit': 1}
    [held] = test_races.what_is_held(party.database)
    assert party.leases.get(held.lease).lease_type == waits


@test_races.EVERYWHERE
def test_all_that_prolong_at_once_never_exceed_a_limit(party, crowd, gates):
    """Six hosts have an hour each, and the limit lets two of them have twenty
    more."""
    answers = race(crowd, gates, limits.Limits(hosts=6, host_hours=50), 20)
    assert answers == {'done': 2, 'OverLimit': 62}
    held = test_races.what_is_held(party.database)
    hours = [(each.end - each.start) / limits.HOUR for each in held]
    assert sorted(hours) == [1, 1, 1, 1, 21, 21]
