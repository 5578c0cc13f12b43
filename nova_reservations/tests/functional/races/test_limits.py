# SPDX-License-Identifier: Apache-2.0
"""Many processes of one project, which together want too much."""

from collections import Counter
from concurrent import futures
import threading

import pytest

from nova_reservations.db import project_limits
from nova_reservations.objects import limits
from nova_reservations.tests.functional.engine import pools
from nova_reservations.tests.functional.races import load
from nova_reservations.tests.functional.races import test_races

crowd = test_races.crowd
party = test_races.party


def race(crowd, gates, *asked):
    racers = [
        crowd.submit(load.within_limits, next(gates), 8, *asked)
        for _ in range(8)
    ]
    return sum((one.result() for one in racers), Counter())


@pytest.mark.parametrize('what', ['hosts', 'leases', 'host_hours'])
@test_races.EVERYWHERE
def test_64_creates_at_once_never_exceed_a_limit(party, crowd, gates, what):
    """There are more hosts than the project may have."""
    allowed = limits.Limits(**{what: 6})
    assert race(crowd, gates, allowed) == {'done': 6, 'OverLimit': 58}
    assert len(test_races.what_is_held(party.database)) == 6


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
    assert used.resources == {name: 6}


def test_who_comes_second_sees_what_the_first_has_not_committed_yet(
    party, any_database, monkeypatch
):
    """The first stops when it has looked, and before it commits."""
    allowed = limits.Limits(leases=1)
    looked, goes_on = threading.Event(), threading.Event()
    look = project_limits.look

    def stop(*args):
        found = look(*args)
        if not looked.is_set():
            looked.set()
            assert goes_on.wait(30)
        return found

    monkeypatch.setattr(project_limits, 'look', stop)
    with futures.ThreadPoolExecutor(2) as threads:
        url = any_database.url
        first = threads.submit(load.within_limits, url, 1, allowed)
        assert looked.wait(30)
        second = threads.submit(load.within_limits, url, 1, allowed)
        # Long enough for it, if it did not wait.
        futures.wait([second], timeout=2)
        goes_on.set()
        assert first.result() + second.result() == {'done': 1, 'OverLimit': 1}


@test_races.EVERYWHERE
def test_all_that_prolong_at_once_never_exceed_a_limit(party, crowd, gates):
    """Six hosts have an hour each, and two of them may have twenty more."""
    answers = race(crowd, gates, limits.Limits(hosts=6, host_hours=50), 20)
    assert answers == {'done': 2, 'OverLimit': 62}
    held = test_races.what_is_held(party.database)
    hours = [(each.end - each.start) / limits.HOUR for each in held]
    assert sorted(hours) == [1, 1, 1, 1, 21, 21]
