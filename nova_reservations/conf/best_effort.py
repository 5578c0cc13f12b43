# SPDX-License-Identifier: Apache-2.0
"""Leases of type ``best_effort``: the hosts that are emptied for them."""

from oslo_config import cfg

OPTS = [
    cfg.StrOpt(
        'best_effort_aggregate',
        help="""
The aggregate of Nova whose hosts may be emptied, by migration of the servers
that are on them, for leases of type ``best_effort``.

Its hosts stay everybody's until such a lease needs them, and are so again
after it. They are not enrolled; those of them that are enrolled are of the
pool.

Possible values:

* The name or the UUID of an aggregate
* Unset: no host is emptied, and such leases get what is free in the pool

Related options:

* ``best_effort_strategy``
* ``best_effort_timeout``
* ``[service_user]``: no host is emptied where it is not configured
""",
    ),
    cfg.StrOpt(
        'best_effort_strategy',
        default='fewest_servers',
        help="""
Which hosts are emptied first for leases of type ``best_effort``.

Possible values:

* ``fewest_servers``: those with the fewest servers on them
* ``least_memory``: those whose servers have the least memory
* ``by_state``: stopped servers before running ones, small before large ones,
  and never a server with CPUs or devices of the host for itself
* The name of an installed entry point in
  ``nova_reservations.drain.strategies``. A name that is not installed stops
  the process with one line that says so

Related options:

* ``best_effort_aggregate``
""",
    ),
    cfg.IntOpt(
        'best_effort_timeout',
        min=1,
        max=86400,
        default=900,
        help="""
Seconds that hosts are emptied for a lease of type ``best_effort``. If there
are not enough by then, the lease is ``TIMEDOUT``, and what was taken for it is
given back.

Possible values:

* 1 to 86400 seconds

Related options:

* ``best_effort_aggregate``
""",
    ),
]
