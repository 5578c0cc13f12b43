# SPDX-License-Identifier: Apache-2.0
"""The weight of the weighers of this package."""

from oslo_config import cfg

OPTS = [
    cfg.FloatOpt(
        'resource_weight_multiplier',
        min=-1_000_000,
        max=1_000_000,
        default=1.0,
        help="""
How much the free amount of tracked resources counts when nova-scheduler
chooses among the hosts that will do for a server.

Takes effect where ``[filter_scheduler] weight_classes`` names
``ResourceWeigher`` of this package. An aggregate can have its own, as
metadata of this name.

Possible values:

* A number above 0: hosts with more free first. With 1 it counts as much as
  each of Nova's weighers
* A number below 0: hosts with less free first, which fills them
* 0: it does not count

Related options:

* ``[filter_scheduler] weight_classes``
* ``scheduler_consumers``
""",
    ),
    cfg.FloatOpt(
        'reserved_aggregates_weight_multiplier',
        min=-1_000_000,
        max=1_000_000,
        default=10.0,
        help="""
How much it counts, when nova-scheduler chooses among the hosts of a
reservation, that servers are there already.

Takes effect where ``[filter_scheduler] weight_classes`` names
``ReservedAggregatesWeigher`` of this package, and ``scheduler_consumers``
names ``reserved_aggregates``. An aggregate can have its own, as metadata of
this name.

Possible values:

* A number above 0: hosts with fewer slots left, or with more servers, first.
  The default is more than Nova's own weighers for CPU, memory and disk, which
  spread servers, together
* A number below 0: the servers of a reservation are spread over its hosts
* 0: it does not count

Related options:

* ``[filter_scheduler] weight_classes``
* ``scheduler_consumers``
""",
    ),
]
