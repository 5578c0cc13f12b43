# SPDX-License-Identifier: Apache-2.0
"""The group ``[reservations]``: its options, by subject."""

from oslo_config import cfg

from nova_reservations.conf import before_end
from nova_reservations.conf import best_effort
from nova_reservations.conf import database
from nova_reservations.conf import default_lease
from nova_reservations.conf import enforcement
from nova_reservations.conf import healing
from nova_reservations.conf import hosts
from nova_reservations.conf import lease_end
from nova_reservations.conf import leases
from nova_reservations.conf import limits
from nova_reservations.conf import monitoring
from nova_reservations.conf import rating
from nova_reservations.conf import refusals
from nova_reservations.conf import retry
from nova_reservations.conf import usage
from nova_reservations.conf import weighers
from nova_reservations.conf import worker

GROUP = cfg.OptGroup(
    'reservations',
    title='Advance reservations',
    help="""
Leases of hosts for a window of time, kept by Nova's own processes.
""",
)

OPTS: list[cfg.Opt] = [
    *database.OPTS,
    *leases.OPTS,
    *limits.OPTS,
    *refusals.OPTS,
    *enforcement.OPTS,
    *before_end.OPTS,
    *lease_end.OPTS,
    *default_lease.OPTS,
    *retry.OPTS,
    *best_effort.OPTS,
    *hosts.OPTS,
    *monitoring.OPTS,
    *healing.OPTS,
    *worker.OPTS,
    *usage.OPTS,
    *rating.OPTS,
    *weighers.OPTS,
]
