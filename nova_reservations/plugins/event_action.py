# SPDX-License-Identifier: Apache-2.0
"""The old import path of ``nova_reservations.plugins.event_actions.base``."""

from debtcollector import removals

from nova_reservations.plugins.event_actions.base import *  # noqa: F403

# Decision 0027: doc/source/decisions/0027-rooms-and-words
removals.removed_module(
    __name__,
    replacement='nova_reservations.plugins.event_actions.base',
    removal_version='0.3',
    stacklevel=4,
)
