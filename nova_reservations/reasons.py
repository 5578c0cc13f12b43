# SPDX-License-Identifier: Apache-2.0
"""Reasons that owners are told, as long as they are to be."""

import re

LONGEST = 2000
"""Characters, in at most four bytes each: databases keep 65,535 bytes, and
the owner of a lease of 1,300 hosts does not read them all."""

_ROOM = len(' ... and 1,000,000 more')

_BETWEEN = re.compile(r'[,;] ')
"""What is between two items of a list."""


def fit(reason: str) -> str:
    """Return the reason, cut between two of what it lists, with the count of
    those that are left out; between two words where it lists nothing."""
    if len(reason) <= LONGEST:
        return reason
    kept = reason[: LONGEST - _ROOM]
    ends = [found.start() for found in _BETWEEN.finditer(kept)]
    # Not where nearly all of it is one item.
    if ends and ends[-1] > LONGEST // 2:
        kept = kept[: ends[-1]]
        left_out = len(_BETWEEN.findall(reason[len(kept) :]))
        return f'{kept} ... and {left_out:,} more'
    return f'{kept.rpartition(" ")[0] or kept} ...'
