# SPDX-License-Identifier: Apache-2.0
"""Counters that only grow, and how fast they do; pure."""

from collections.abc import Mapping
import functools
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
    now: Parts, before: Parts, seconds: float, keys: tuple[str, ...]
) -> dict[str, Any]:
    """Return the sums and rates of the counters of all parts, and of each.

    A part that came, went or started anew takes part in no rate; the others
    do, so that the rate of the whole is never negative either.

    :param seconds: between the two
    :returns: key, key + '_rate' -> value or None; 'each' -> part -> the same
    """
    fields = _fields(keys)
    parts: dict[str, dict[str, float | None]] = {}
    total: dict[str, Any] = {}
    for pair in fields:
        total |= dict.fromkeys(pair)
    for name, part in now.items():
        was = before.get(name, {})
        values = parts[name] = {}
        for key, key_rate in fields:
            value = part.get(key)
            grown = rate(was.get(key), value, seconds)
            values[key], values[key_rate] = value, grown
            if value is not None:
                total[key] = value + (total[key] or 0)
            if grown is not None:
                total[key_rate] = grown + (total[key_rate] or 0)
    total['each'] = parts
    return total


@functools.cache
def _fields(keys: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    return tuple((key, f'{key}_rate') for key in keys)
