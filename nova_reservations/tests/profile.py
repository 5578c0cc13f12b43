# SPDX-License-Identifier: Apache-2.0
"""Counts of hypothesis's examples, by profile: all of them with
``--hypothesis-profile=all``, less than a third with ``change``, a fifth by
itself."""

import hypothesis

ALL = 100


def examples(count: int) -> int:
    """Return how many examples to try of a test that deserves ``count``."""
    return max(1, count * hypothesis.settings.default.max_examples // ALL)
