# SPDX-License-Identifier: Apache-2.0
import pytest

from nova_reservations.engine.waiting import judged_walks
from nova_reservations.objects import requirements


@pytest.fixture
def judged():
    """Record the questions that Nova's matcher gets."""
    return []


@pytest.fixture
def condition(judged):
    def passes(key, value, spec):
        judged.append(value)
        return value == spec

    return requirements.Judged('cpu_info', 'key', 'yes', passes)


def test_judgements_of_an_earlier_walk_cost_nothing(condition, judged):
    known = judged_walks.Judgements()
    for _ in range(2):
        known.begin([condition, None])
        assert known.holds(condition, 'yes')
        assert not known.holds(condition, 'no')
    assert judged == ['yes', 'no']


def test_judgements_that_nobody_asks_for_any_more_are_forgotten(
    condition, judged
):
    known = judged_walks.Judgements()
    for asked in ([condition], [], [condition]):
        known.begin(asked)
        if asked:
            known.holds(condition, 'yes')
    assert judged == ['yes', 'yes']


def test_a_walk_that_has_judged_enough_is_told(condition, monkeypatch):
    monkeypatch.setattr(judged_walks.judgements, 'MOST', 2)
    known = judged_walks.Judgements()
    known.begin([condition])
    for value in ('one', 'two', 'one'):
        known.holds(condition, value)
    with pytest.raises(judged_walks.Tired):
        known.holds(condition, 'three')
    known.begin([condition])
    assert not known.holds(condition, 'three')
