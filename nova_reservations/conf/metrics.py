# SPDX-License-Identifier: Apache-2.0
"""The measurements of a nova-compute."""

from oslo_config import cfg

GROUP = cfg.OptGroup(
    'metrics_plugins',
    title='Metric plugins',
    help="""
Plugins that nova-compute hands its measurements to.

Whatever is here and in the groups of the plugins may be changed in the file
while nova-compute runs: it looks every ``reload_interval``.
""",
)

OPTS = [
    cfg.ListOpt(
        'enabled',
        default=[],
        mutable=True,
        help="""
The metric plugins of this nova-compute, by the names of their entry points
in ``nova_reservations.metrics``.

Takes effect where ``[oslo_messaging_notifications] driver`` has a line
``nova_reservations``. If it is empty when nova-compute starts, nothing runs
that would notice a change: then it takes a restart.

Possible values:

* Empty: nothing is loaded or measured
* Names of installed entry points; a name that is not installed is one error
  in the log, and the others are loaded

Related options:

* ``[oslo_messaging_notifications] driver``
""",
    ),
    cfg.IntOpt(
        'interval',
        default=60,
        min=1,
        max=86400,
        mutable=True,
        help="""
Seconds between two rounds in which the virt driver is asked what each server
and the host use.

What Nova polls itself is handed on when Nova does: the resource audit
(``[DEFAULT] update_resources_interval``) and the volume usage poll
(``[DEFAULT] volume_usage_poll_interval``).

Possible values:

* Any number of seconds from 1 to a day
""",
    ),
    cfg.IntOpt(
        'reload_interval',
        default=10,
        min=1,
        max=86400,
        mutable=True,
        help="""
Seconds between two looks at whether the files of the configuration have
changed.

If they have, all options that may change while nova-compute runs, Nova's too,
take their new values, and plugins that are off after failures are tried
again.

Possible values:

* Any number of seconds from 1 to a day
""",
    ),
]
