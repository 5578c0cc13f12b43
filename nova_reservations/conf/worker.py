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

Possible values:

* 1 to 64 threads
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
