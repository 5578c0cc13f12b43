# SPDX-License-Identifier: Apache-2.0
"""Enrolled hosts: how they are closed to others, and kept up to date."""

from oslo_config import cfg

OPTS = [
    cfg.BoolOpt(
        'conductors_guarded',
        default=False,
        help="""
Whether every nova-conductor, those of cells too, looks at what it claims.

A build, a resize or a cold migration that fails on its host goes on to
another one, which nova-conductor claims without asking nova-scheduler. Where
``[oslo_messaging_notifications] driver`` of each nova-conductor names
``nova_reservations`` besides what it names already, it takes no host that was
enrolled meanwhile.

Possible values:

* ``True``: a host is reservable as soon as it is found empty. If one
  nova-conductor has not that line, or has not been restarted since it got it,
  servers of others may be on leased hosts
* ``False``: those builds, resizes, cold migrations and moves by force that
  were in flight when the host was closed are waited for

Related options:

* ``build_wait``
""",
    ),
    cfg.IntOpt(
        'build_wait',
        default=1800,
        min=0,
        help="""
How long an enrolment, and the emptying of a host for a lease of type
``best_effort``, waits for what was in flight when the host was closed, in
seconds.

Only where nova-conductors are not guarded. The default is for slow images and
large disks: it is beyond what Nova's own periodic tasks leave alone. After
that those still in flight are named, in ``os-hosts`` and in the log, and an
administrator decides; a host that was to be emptied is given up.

Possible values:

* A number of seconds

Related options:

* ``conductors_guarded``
* ``best_effort_timeout``
""",
    ),
    cfg.IntOpt(
        'host_refresh_interval',
        min=1,
        default=60,
        help="""
Seconds between two looks at which facts of enrolled hosts (CPUs, memory,
disk, traits, inventories, availability zone) have changed.

One request to placement, whatever the number of hosts; details are read only
for those that changed.

Possible values:

* Any number of seconds from 1
""",
    ),
]
