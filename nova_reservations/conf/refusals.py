# SPDX-License-Identifier: Apache-2.0
"""Refusals: the HTTP statuses that clients of leases get."""

from oslo_config import cfg

COMPATIBLE = 'compatible'
DISTINCT = 'distinct'

OPTS = [
    cfg.StrOpt(
        'refusal_statuses',
        default=COMPATIBLE,
        choices=[
            (COMPATIBLE, '400 for both, which all clients of Blazar know'),
            (DISTINCT, '409 where too little is free, 403 beyond a limit'),
        ],
        help="""
The HTTP status of the refusal of a lease for which too little is free, or that
is beyond a limit or not allowed by enforcement.

It is that of the answers to requests that ask for a lease or for offers of
one, or change a lease. The text of a refusal and its ``error_kind``,
``no_room`` or ``over_limit``, are the same with both values; so programs that
need to know which it is best read ``error_kind``. A request for a server that
brings its own lease is refused as Nova refuses servers, with 409 or 403.

Some clients of Blazar, such as the operator of schedules of Azimuth, show a
refusal with 400 to their users, and repeat a request that was refused with
another status for ever. Others, such as doni, try again after a 409, and give
up after a 400: these need ``distinct``.

All processes of nova-api must have the same value.

Possible values:

* compatible: 400 for both, which all clients of Blazar know
* distinct: 409 where too little is free, 403 beyond a limit or where
  enforcement does not allow it
""",
    ),
]
