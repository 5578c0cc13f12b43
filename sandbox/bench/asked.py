# SPDX-License-Identifier: Apache-2.0
"""The cost of a fleet: statements to the databases, requests to placement, and
our CPU, with few and with many enrolled hosts."""

from collections.abc import Mapping
from collections.abc import Sequence
import statistics

from sandbox.bench import subject as su
from sandbox.bench.report import Figure
from sandbox.bench.report import Row

_FEW = 100
_CHANGED = 10
_LOOKS = 120
"""The number of looks of a worker in a minute."""

_KINDS: Mapping[str, str] = {
    'ours': 'statements to our tables',
    'nova': "statements to Nova's tables",
    'requests': 'requests to placement',
}

_PAGE = 100
"""One more statement is allowed for each so many hosts: they are read in bulk,
page by page."""

_Cost = Mapping[str, float]


def fleet(subject: su.Subject) -> Row:
    """Periodic tasks, looks and boots with 5,000 enrolled hosts."""
    size = subject.pick(1000, 5000)
    few, many = (_costs(subject, hosts) for hosts in (_FEW, size))
    return Row(
        [
            figure
            for what, cost in many.items()
            for figure in _compared(what, size, few[what], cost)
        ]
    )


def _compared(what: str, size: int, few: _Cost, many: _Cost) -> list[Figure]:
    return [
        Figure(
            f'{what}, {size:,} hosts: {name}',
            many[kind],
            '',
            floor=few[kind],
            limit=few[kind] + size // _PAGE,
        )
        for kind, name in _KINDS.items()
        if few[kind] or many[kind]
    ] + [
        Figure(
            f'{what}, {size:,} hosts: our CPU',
            1000 * many['cpu'],
            'ms',
            floor=1000 * few['cpu'],
        )
    ]


def _costs(subject: su.Subject, hosts: int) -> dict[str, _Cost]:
    """Return name of an action -> its cost with so many enrolled hosts.

    The floor in the report is the cost with few hosts.
    """
    subject.populate(hosts)
    tasks = subject.probe('asked-by-tasks', changed=_CHANGED)
    rounds = subject.pick(5, 20)
    boots = subject.probe('asked-by-boot', rounds=rounds)
    costs: dict[str, _Cost] = {
        f'the task {name}, {when}': cost
        for when, of_task in (
            ('nothing changed', tasks['unchanged']),
            (f'{_CHANGED} hosts changed', tasks['changed']),
        )
        for name, cost in of_task.items()
    }
    costs[f'{_LOOKS} looks of a worker, a minute'] = subject.probe(
        'asked-by-looks', rounds=_LOOKS
    )
    costs['scheduling a server without a reservation'] = _median(boots)
    return costs


def _median(costs: Sequence[_Cost]) -> _Cost:
    return {
        kind: statistics.median(cost[kind] for cost in costs)
        for kind in costs[0]
    }
