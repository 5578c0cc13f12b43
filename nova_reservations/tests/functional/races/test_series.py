# SPDX-License-Identifier: Apache-2.0
"""Series race with each other, and with single leases."""

from collections import Counter

import pytest

from nova_reservations import objects
from nova_reservations.tests.functional.races import series_load
from nova_reservations.tests.functional.races import test_races

HOSTS = len(test_races.HOSTS)
LESSEES = 6

party, crowd = test_races.party, test_races.crowd


def race(crowd, gates, *asks):
    """Return the answers to each of the asks, summed over its attempts."""
    racers = [
        crowd.submit(series_load.ask, next(gates), 3, *ask) for ask in asks
    ]
    return [one.result() for one in racers]


def what_there_is(party):
    """Return the number of leases by series, and of leased hosts by day."""
    held = test_races.what_is_held(party.database)
    assert test_races.given_twice(held) == []
    by_series = Counter(
        lease.series_id
        for lease in party.lease_lists.find(objects.LeaseQuery())
    )
    return by_series, Counter(each.start.day - 1 for each in held)


@test_races.EVERYWHERE
def test_of_all_who_want_the_same_days_as_many_win_as_there_are_hosts(
    party, crowd, gates
):
    answers = sum(race(crowd, gates, *[(2, 0)] * LESSEES), Counter())
    wins = HOSTS // 2
    assert answers == {
        'done': wins,
        'NotEnoughResources': 3 * LESSEES - wins,
    }
    by_series, taken = what_there_is(party)
    assert [*by_series.values()] == [3] * wins
    assert taken == dict.fromkeys(range(3), HOSTS)


@test_races.EVERYWHERE
def test_no_series_is_had_in_part_while_others_take_single_days(
    party, crowd, gates
):
    asks = [(2, 0), (1,), (2, 2, 1), (1,), (2, 1, 0), (1,)]
    answers = race(crowd, gates, *asks)
    by_series, taken = what_there_is(party)
    singles = by_series.pop(None, 0)
    assert set(by_series.values()) <= {3}
    done = [each['done'] for each in answers]
    assert singles == sum(done[1::2])
    assert len(by_series) == sum(done[::2])
    assert max(taken.values()) <= HOSTS
    told = {'done', 'NotEnoughResources', 'Contended'}
    if party.database.url.startswith('sqlite'):
        # On SQLite a writer may wait too long for all other writers.
        told.add('DatabaseUnavailable')
    assert set().union(*answers) <= told
    # A single day is refused only if all its hosts are taken.
    if any(each['NotEnoughResources'] for each in answers[1::2]):
        assert taken[1] == HOSTS


@pytest.mark.parametrize(
    'any_database', ['mysql', 'postgresql'], indirect=True
)
def test_a_series_that_is_killed_half_way_leaves_nothing(party):
    victim = test_races.PROCESSES.Process(
        target=series_load.die_in_a_series, args=(party.database.url,)
    )
    victim.start()
    victim.join()
    assert victim.exitcode == -9
    assert what_there_is(party) == (Counter(), Counter())
    # The killed series holds up nobody.
    assert series_load.ask(party.database.url, 1, HOSTS, 0) == {'done': 1}
