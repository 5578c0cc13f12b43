# SPDX-License-Identifier: Apache-2.0
"""The resources that a nova-compute is told to track."""

from oslo_config import cfg

GROUP = cfg.OptGroup('DEFAULT')

OPTS = [
    cfg.ListOpt(
        'compute_resources',
        default=[],
        help="""
The resources that this nova-compute tracks, besides Nova's own, by the names
of their entry points in ``nova.compute.resources``.

Takes effect where ``[oslo_messaging_notifications] driver`` has a line
``nova_reservations``, and with a restart of nova-compute.

Possible values:

* Empty: nothing is loaded, and nova-compute is as it is without this package
* Names of installed entry points; a name that is not installed is one error
  in the log, and the others are loaded

Related options:

* ``[oslo_messaging_notifications] driver``
* ``scheduler_consumers`` of nova-scheduler
""",
    ),
]
