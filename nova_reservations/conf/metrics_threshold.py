# SPDX-License-Identifier: Apache-2.0
"""Limits on what servers and hosts use."""

from oslo_config import cfg

GROUP = cfg.OptGroup(
    'metrics_threshold',
    title='Metric plugin threshold',
    help="""
Notifications of servers and hosts that go over or under a limit.
""",
)

OPTS = [
    cfg.MultiStrOpt(
        'limit',
        default=[],
        mutable=True,
        help="""
A limit; the option may be there many times, and each of them that a server
meets is applied to it.

``[host] MEASURE over|under NUMBER [until NUMBER] [for SECONDS] [where
PROPERTY=PATTERN [and PROPERTY=PATTERN ...]]``

A notification ``server.metric.exceeded`` (``host.metric.exceeded`` of the
host) is emitted once the measure has been beyond the number for so many
seconds, and ``server.metric.cleared`` once it is back at ``until``, by
default the number itself.

Possible values:

* MEASURE: ``cpu.percent``, ``ram.percent``, ``bandwidth.out_bytes_rate`` and
  others, which the documentation lists
* NUMBER: a number, alone or with kB, MB, GB, TB, KiB, MiB, GiB, TiB (bytes),
  kbit, Mbit, Gbit (bits, an eighth of a byte), or %
* PROPERTY: ``flavor``, ``project``, ``user``, ``server`` (UUID), ``name``,
  ``extra_spec:KEY`` or ``metadata:KEY``
* PATTERN: text without blanks, in which * and ? stand for others
* One that is not understood is an error in the log, and the others hold

Related options:

* ``[metrics_plugins] interval``
""",
    ),
    cfg.BoolOpt(
        'server_metadata',
        default=True,
        mutable=True,
        help="""
Whether the metadata ``reservations_limit:NAME`` of a server, which its user
may set, is a limit of that server, as the flavor's extra spec of that name
is.

Possible values:

* True: eight of them at most
* False: only the operator sets limits
""",
    ),
]
