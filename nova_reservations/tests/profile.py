# SPDX-License-Identifier: Apache-2.0
"""The number of examples that hypothesis tries, and the steps between which
tests make something happen.

``--hypothesis-profile=all`` tries all examples; the default is a fifth, except
in tests of guards.
"""

from collections.abc import Iterator
import itertools
import random

import hypothesis

ALL = 100


def examples(count: int) -> int:
    """Return how many of ``count`` examples the profile lets a test try."""
    return max(1, count * hypothesis.settings.default.max_examples // ALL)


def guard(count: int = ALL) -> hypothesis.settings:
    """Return the settings of a test of a guard, which tries all its examples
    in each run: with a fifth of them one fault was found in one run of six.
    """
    return hypothesis.settings(max_examples=count)


def steps() -> Iterator[int]:
    """Yield, without end, the numbers of the steps before which something
    happens: all with ``--hypothesis-profile=all``, else every eighth one.

    Each test draws the first number at random. The seed of pytest-randomly,
    which a run prints, repeats the draw.
    """
    if hypothesis.settings.default.max_examples >= ALL:
        return itertools.count(1)
    return itertools.count(random.randint(1, 8), 8)  # noqa: S311
