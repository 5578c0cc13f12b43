# SPDX-License-Identifier: Apache-2.0
"""Counters that only grow, and how fast they do; pure."""

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

Parts = Mapping[str, Mapping[str, int]]
"""Part (a disk, an interface, a vcpu) -> counter -> value."""


def rate(before: int | None, now: int | None, seconds: float) -> float | None:
    """Return by how much a counter grew per second; None if it is unknown.

    A counter that is smaller than it was has started anew or wrapped; which
    of them, and how far it got before, nobody can tell.
    """
    if before is None or now is None or now < before or seconds <= 0:
        return None
    return (now - before) / seconds


def counters(
    now: Parts, before: Parts, seconds: float, keys: Sequence[str]
) -> dict[str, Any]:
    """Return the sums and rates of the counters of all parts, and of each.

    A part that came, went or started anew takes part in no rate; the others
    do, so that the rate of the whole is never negative either.

    :param seconds: between the two
    :returns: key, key + '_rate' -> value or None; 'each' -> part -> the same
    """
    each = {}
    for name, part in now.items():
        was = before.get(name, {})
        values: dict[str, float | None] = {}
        for key in keys:
            values[key] = part.get(key)
            values[f'{key}_rate'] = rate(was.get(key), part.get(key), seconds)
        each[name] = values
    total: dict[str, Any] = {}
    for key in keys:
        for field in (key, f'{key}_rate'):
            known = [
                value
                for part in each.values()
                if (value := part[field]) is not None
            ]
            total[field] = sum(known) if known else None
    total['each'] = each
    return total
