# SPDX-License-Identifier: Apache-2.0
"""What a nova-compute is told to measure."""

from oslo_config import cfg

GROUP = cfg.OptGroup(
    'metrics_plugins',
    title='Metric plugins',
    help="""
Plugins that nova-compute hands its measurements to.
""",
)

OPTS = [
    cfg.ListOpt(
        'enabled',
        default=[],
        help="""
The metric plugins of this nova-compute, by the names of their entry points
in ``nova_reservations.metrics``.

Takes effect where ``[oslo_messaging_notifications] driver`` has a line
``nova_reservations``, and with a restart of nova-compute.

Possible values:

* Empty: nothing is loaded or measured
* Names of installed entry points; a name that is not installed is one error
  in the log, and the others are loaded

Related options:

* ``[oslo_messaging_notifications] driver``
""",
    ),
]
