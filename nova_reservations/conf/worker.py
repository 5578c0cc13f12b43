# SPDX-License-Identifier: Apache-2.0
"""The workers in nova-scheduler, which start and end leases."""

from oslo_config import cfg

OPTS = [
    cfg.IntOpt(
        'engine_threads',
        min=1,
        max=64,
        default=8,
        help="""
How many leases one worker of nova-scheduler starts or ends at the same time.
A thread that hangs is replaced, as long as no more than so many hang.

Possible values:

* 1 to 64 threads
""",
    ),
    cfg.IntOpt(
        'engine_workers',
        min=1,
        default=2,
        help="""
How many workers of a nova-scheduler start and end leases, of those that it
has. They ask the database twice a second what is due; the others ask nothing,
and one of them takes over if one of these ends.

They agree by locks on files in ``[oslo_concurrency] lock_path``, or in
``state_path`` where that is unset.

Possible values:

* 1 or more; more than there are workers means all of them

Related options:

* ``[scheduler] workers``
* ``[reservations] engine_threads``
""",
    ),
    cfg.BoolOpt(
        'enable_engine',
        default=True,
        help="""
Whether the workers of this nova-scheduler start and end leases, and refresh
what is known of hosts.

At least one nova-scheduler of a cloud must have it on. Access is enforced
whether it is on or off.

Possible values:

* True or False
""",
    ),
]
