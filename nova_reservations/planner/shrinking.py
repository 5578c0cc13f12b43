# SPDX-License-Identifier: Apache-2.0
"""Slots that a reservation keeps when it is to have fewer.

Decision 0034: doc/source/decisions/0034-hosts-are-given-back-early
"""

from collections.abc import Collection
from collections.abc import Mapping


def kept(
    slots: Mapping[int, int],
    held: Mapping[int, int],
    wanted: int,
    usable: Collection[int],
) -> dict[int, int]:
    """Return resource id -> how many slots stay: those that are held, and as
    many more as are wanted.

    Slots on unusable resources go first. Then as many resources as possible
    are given back completely, because others can use these for anything.

    :param slots: resource id -> how many there are
    :param held: resource id -> how many of them have to stay
    :param usable: ids of the resources on which servers can be
    """
    left = dict(slots)
    surplus = sum(slots.values()) - wanted
    for key in sorted(
        slots,
        key=lambda key: (
            key in usable,
            held.get(key, 0) > 0,
            slots[key],
            -key,
        ),
    ):
        if surplus <= 0:
            break
        given = min(surplus, max(0, slots[key] - held.get(key, 0)))
        left[key] -= given
        surplus -= given
    return left
