# SPDX-License-Identifier: Apache-2.0
"""Counts of hypothesis's examples, by profile: all of them with
``--hypothesis-profile=all``, a fifth by itself; and the steps between which
something happens."""

from collections.abc import Iterator
import itertools
import random

import hypothesis

ALL = 100


def examples(count: int) -> int:
    """Return how many examples to try of a test that deserves ``count``."""
    return max(1, count * hypothesis.settings.default.max_examples // ALL)


def steps() -> Iterator[int]:
    """Yield the numbers of steps before which something happens, without end:
    all of them with ``--hypothesis-profile=all``, else every fourth one.

    The first is drawn anew for each test; pytest-randomly's seed, which a run
    tells, draws the same again.
    """
    if hypothesis.settings.default.max_examples >= ALL:
        return itertools.count(1)
    return itertools.count(random.randint(1, 4), 4)  # noqa: S311
