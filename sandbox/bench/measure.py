# SPDX-License-Identifier: Apache-2.0
"""Statistics of samples. Pure, but for the clock that times a call."""

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
    """Return the samples of each, taken in turns: what else the machine does
    meanwhile it does to all of them.

    Every other round goes backwards, and a round that is not kept comes
    first: it opens connections, and fills caches.
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
