# SPDX-License-Identifier: Apache-2.0
"""The old import path of ``nova_reservations.tracking.stats``."""

from debtcollector import removals

from nova_reservations.tracking.stats import *  # noqa: F403

# Decision 0027: doc/source/decisions/0027-rooms-and-words
removals.removed_module(
    __name__,
    replacement='nova_reservations.tracking.stats',
    removal_version='0.3',
    stacklevel=4,
)
