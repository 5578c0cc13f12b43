# SPDX-License-Identifier: Apache-2.0
"""Conditions that Nova judges, each once for a value in a transaction.

A search asks several queries with the same requirements, and anybody may ask
for many conditions at once, where hosts have many values: each judgement costs
some 50 microseconds of CPU.

Every function joins the caller's transaction.

Decision 0064: doc/source/decisions/0064-specs-of-flavors-bind-slots
"""

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib

from sqlalchemy import orm

from nova_reservations import exception
from nova_reservations.db.resources import host_facts
from nova_reservations.objects import requirements

MOST_VALUES = 1000
"""The most values of a fact that are judged one by one."""

MOST = 5000
"""The most judgements of a transaction: 0.3 seconds of CPU. Those for the
promises of others have the same limit for themselves."""

_OF = 'judgements'
_OF_OTHERS = 'judgements of others'


class _Judgements:
    """The judgements of a transaction."""

    def __init__(self) -> None:
        self._values: dict[str, Mapping[int, str]] = {}
        self._passing: dict[requirements.Judged, Collection[int]] = {}
        self._left = MOST

    def passing(
        self, session: orm.Session, condition: requirements.Judged
    ) -> Collection[int]:
        if condition not in self._passing:
            self._passing[condition] = self._judge(session, condition)
        return self._passing[condition]

    def _judge(
        self, session: orm.Session, condition: requirements.Judged
    ) -> list[int]:
        fact = condition.fact
        if fact not in self._values:
            self._values[fact] = _values(session, fact)
        values = self._values[fact]
        self._left -= len(values)
        if self._left < 0:
            raise exception.InvalidInput(
                f'the hosts have {len(values)} values of {fact}: ask for '
                'fewer conditions at once that Nova has to judge'
            )
        return sorted(
            each for each, value in values.items() if condition.holds(value)
        )


def _values(session: orm.Session, fact: str) -> Mapping[int, str]:
    found = host_facts.values(session, fact, MOST_VALUES + 1)
    if len(found) > MOST_VALUES:
        raise exception.InvalidInput(
            f'{fact} has more than {MOST_VALUES} values on the hosts: ask for '
            'something else'
        )
    return found


def passing(
    session: orm.Session, expression: requirements.Expression
) -> Mapping[requirements.Judged, Collection[int]]:
    """Return each condition that Nova judges -> the ids of the values with
    which it holds.

    So no host is read for it, and few values, however many hosts there are. A
    transaction must not change facts of hosts after that.

    :raises: InvalidInput for a fact that has too many values, or if that would
        be too many judgements in this transaction
    """
    conditions = requirements.judged(expression)
    if not conditions:
        return {}
    known: _Judgements = session.info.setdefault(_OF, _Judgements())
    return {each: known.passing(session, each) for each in conditions}


@contextlib.contextmanager
def of_others(session: orm.Session) -> Iterator[None]:
    """Judge for promises of others: whoever makes a request can't help how
    many conditions these have."""
    own = session.info.setdefault(_OF, _Judgements())
    session.info[_OF] = session.info.setdefault(_OF_OTHERS, _Judgements())
    try:
        yield
    finally:
        session.info[_OF] = own
