# SPDX-License-Identifier: Apache-2.0
"""The old path of ``nova_reservations.plugins.drain_strategies.base``."""

from debtcollector import removals

from nova_reservations.plugins.drain_strategies import base
from nova_reservations.plugins.drain_strategies.base import *  # noqa: F403

Donor = base.DrainableHost

# Decision 0027: doc/source/decisions/0027-rooms-and-words
removals.removed_module(
    __name__,
    replacement='nova_reservations.plugins.drain_strategies.base',
    removal_version='0.3',
    stacklevel=4,
)
