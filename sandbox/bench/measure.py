# SPDX-License-Identifier: Apache-2.0
"""Statistics of samples; pure functions, except for the timing of a call."""

from collections.abc import Callable
from collections.abc import Sequence
import math
import statistics
import time

#: Standard errors on either side of a mean: 95 % of a normal distribution.
_CONFIDENCE = 1.96


def percentile(samples: Sequence[float], percent: float) -> float:
    """Return the least sample that so many percent do not exceed."""
    rank = math.ceil(len(samples) * percent / 100)
    return sorted(samples)[max(rank, 1) - 1]


def mean(samples: Sequence[float]) -> tuple[float, float]:
    """Return the mean, and half the width of its confidence interval."""
    error = statistics.stdev(samples) / math.sqrt(len(samples))
    return statistics.fmean(samples), _CONFIDENCE * error


def interleaved(
    rounds: int, *takes: Callable[[], float]
) -> tuple[list[float], ...]:
    """Return the samples of each call, taken in turns, so that other load of
    the machine affects all of them alike.

    Every other round goes backwards. The first round is not kept: it opens
    connections, and fills caches.
    """
    samples: tuple[list[float], ...] = tuple([] for _ in takes)
    turns = list(zip(takes, samples, strict=True))
    for take in takes:
        take()
    for _ in range(rounds):
        for take, kept in turns:
            kept.append(take())
        turns.reverse()
    return samples


def seconds(call: Callable[[], object]) -> float:
    """Return how long a call takes."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began
