# SPDX-License-Identifier: Apache-2.0
"""The tracked resources that a nova-scheduler counts."""

from oslo_config import cfg

GROUP = cfg.OptGroup('DEFAULT')

OPTS = [
    cfg.ListOpt(
        'scheduler_consumers',
        default=[],
        help="""
The resources that this nova-scheduler reads from what computes report, by the
names of their entry points in ``nova.scheduler.consumers``.

Takes effect where ``[filter_scheduler] available_filters`` names a filter of
this package, and with a restart of nova-scheduler.

Possible values:

* Empty: nothing is loaded, and nova-scheduler is as it is without
* Names of installed entry points; a name that is not installed is one error
  in the log, and the others are loaded

Related options:

* ``compute_resources`` of nova-compute, whose plugins have the same names
* ``[filter_scheduler] available_filters``
""",
    ),
]
