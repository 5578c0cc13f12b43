# SPDX-License-Identifier: Apache-2.0
"""Leases of type ``retry``: for how long they wait for capacity."""

from oslo_config import cfg

OPTS = [
    cfg.IntOpt(
        'max_create_wait',
        min=0,
        max=315360000,
        default=604800,
        help="""
Seconds that a lease of type ``retry`` waits for capacity at the most, from
when it was asked for. After that it goes to ERROR.

A request that says nothing waits for so long. One with ``max_retries`` waits
for that many times ``create_retry_interval``, if that is less.

Possible values:

* 0: such leases do not wait, and are refused as any other
* 1 to 315360000 seconds; the default is 7 days

Related options:

* ``create_retry_interval``
* ``max_create_retries``
""",
    ),
    cfg.IntOpt(
        'create_retry_interval',
        min=1,
        max=86400,
        default=60,
        help="""
Seconds that a lease of type ``retry`` waits for capacity, for each of the
times that its ``max_retries`` says.

It is tried again as soon as anything comes free that it could have, by the end
of a lease or otherwise, however often that is.

Possible values:

* 1 to 86400 seconds

Related options:

* ``max_create_wait``
* ``max_create_retries``
""",
    ),
    cfg.IntOpt(
        'max_create_retries',
        min=0,
        max=1000000,
        help="""
For how many times ``create_retry_interval`` a lease of type ``retry`` waits
for capacity at the most, whatever its ``max_retries`` says; and for how many,
if that says nothing. After that the lease goes to ERROR.

Possible values:

* Unset: only ``max_create_wait`` ends the wait
* 0: such leases do not wait, and are refused as any other
* Any number of times; the wait is over at ``max_create_wait`` all the same

Related options:

* ``create_retry_interval``
* ``max_create_wait``
""",
    ),
]
