# SPDX-License-Identifier: Apache-2.0
"""Every option, as data; nothing registers or reads them at import."""

import copy

from oslo_config import cfg

from nova_reservations.conf import compute
from nova_reservations.conf import consumers
from nova_reservations.conf import metrics
from nova_reservations.conf import metrics_ceilometer
from nova_reservations.conf import metrics_prometheus
from nova_reservations.conf import metrics_statsd
from nova_reservations.conf import metrics_threshold
from nova_reservations.conf import metrics_udp
from nova_reservations.conf import reservations
from nova_reservations.conf import resources

# Options beside Nova's own, in no group.
_UNGROUPED = (compute, consumers)
_GROUPED = (
    metrics,
    metrics_ceilometer,
    metrics_prometheus,
    metrics_statsd,
    metrics_threshold,
    metrics_udp,
    reservations,
    resources,
)


def register_opts(conf: cfg.ConfigOpts) -> None:
    for module in _UNGROUPED:
        conf.register_opts(module.OPTS)
    for module in _GROUPED:
        # oslo.config keeps the options' values in the group, and copies it
        # with these: two configurations would share them.
        conf.register_group(copy.deepcopy(module.GROUP))
        conf.register_opts(module.OPTS, group=module.GROUP.name)


def check(conf: cfg.ConfigOpts) -> None:
    """Read all that leases depend on: a value that can't be stops a process
    at its start, rather than the first lease that needs it.

    :raises: cfg.ConfigFileValueError
    """
    for option in reservations.OPTS:
        _ = conf[reservations.GROUP.name][option.dest]


def list_opts() -> list[tuple[cfg.OptGroup, list[cfg.Opt]]]:
    """Return the options, for oslo-config-generator."""
    return [(module.GROUP, module.OPTS) for module in _UNGROUPED + _GROUPED]
