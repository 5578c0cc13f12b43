# SPDX-License-Identifier: Apache-2.0
"""Many processes of one project, which together want too much."""

from collections import Counter

import pytest

from nova_reservations.objects import limits
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


@test_races.EVERYWHERE
def test_all_that_prolong_at_once_never_exceed_a_limit(party, crowd, gates):
    """Six hosts have an hour each, and two of them may have twenty more."""
    answers = race(crowd, gates, limits.Limits(hosts=6, host_hours=50), 20)
    assert answers == {'done': 2, 'OverLimit': 62}
    held = test_races.what_is_held(party.database)
    hours = [(each.end - each.start) / limits.HOUR for each in held]
    assert sorted(hours) == [1, 1, 1, 1, 21, 21]
