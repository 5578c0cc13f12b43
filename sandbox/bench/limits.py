# SPDX-License-Identifier: Apache-2.0
"""The cost of limits."""

import statistics

from sandbox.bench import subject as su
from sandbox.bench.report import Figure
from sandbox.bench.report import Row

_MOST = 1.1
"""The maximum cost of a create, relative to one without limits."""


def limits(subject: su.Subject) -> Row:
    """Create a lease where limits are set, and where none is."""
    found = subject.probe(
        'limits',
        token=subject.demo.compute.get_token(),
        rounds=subject.pick(60, 400),
    )
    none, *others = (statistics.median(each) for each in found['cpu'])
    figures = [
        Figure(
            f'create one host lease with {which}: CPU of nova-api, p50',
            value,
            's',
            floor=none,
            limit=_MOST * none,
        )
        for which, value in zip(('2 limits', '6 limits'), others, strict=True)
    ]
    none, *others = (statistics.median(each) for each in found['whole'])
    figures += [
        Figure(
            f'create one host lease with {which}, p50',
            value,
            's',
            floor=none,
        )
        for which, value in zip(('2 limits', '6 limits'), others, strict=True)
    ]
    return Row(figures)
