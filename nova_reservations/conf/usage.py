# SPDX-License-Identifier: Apache-2.0
"""The record of what was used, and how long it is kept."""

from oslo_config import cfg

OPTS = [
    cfg.BoolOpt(
        'lease_exists_notifications',
        default=True,
        help="""
Whether a notification ``lease.exists`` is sent at each full hour for each
active lease, with what it holds.

Possible values:

* True or False
""",
    ),
    cfg.IntOpt(
        'lease_retention',
        min=0,
        max=36500,
        default=365,
        help="""
Days for which leases are kept after their end, and after they were deleted.
Then a periodic task deletes all of their rows. A lease that is deleted before
it has begun is not kept at all.

The record of what they had is kept for ``usage_retention``, whether they are
there or not. What is deleted can not be tried again by
``nova-reservations-manage demand replay``, and is in no list.

Possible values:

* 0: for ever
* Any number of days

Related options:

* ``[reservations] usage_retention``
""",
    ),
    cfg.IntOpt(
        'usage_retention',
        min=0,
        max=36500,
        default=0,
        help="""
Days for which it is recorded what leases had and what servers used, counted
from when they had it no more: ``GET /usage``, ``openstack lease usage``.

Possible values:

* 0: for ever
* Any number of days, more than those of the longest period that is billed

Related options:

* ``[reservations] lease_retention``
""",
    ),
]
