# SPDX-License-Identifier: Apache-2.0
"""A notification driver that sends nothing: it loads our code into
nova-compute and nova-conductor.

oslo.messaging makes it while Nova reads its configuration, before Nova imports
the manager of the process. That import tells us which process it is, so this
module must import nothing of Nova. In other processes of Nova, which may have
the same configuration, nothing happens.
"""

import functools
import importlib
from typing import Any

from oslo_config import cfg
from oslo_log import log
import wrapt

from nova_reservations import conf as options
from nova_reservations import hooks

LOG = log.getLogger(__name__)


class Driver:
    """The entry point ``nova_reservations`` of oslo.messaging."""

    def __init__(
        self, conf: cfg.ConfigOpts, topics: Any, transport: Any
    ) -> None:
        options.register_opts(conf)
        _wait_for_manager('conductor')
        if conf.compute_resources or conf.metrics_plugins.enabled:
            _wait_for_manager('compute')

    def notify(self, ctxt: Any, msg: Any, priority: Any, retry: Any) -> None:
        """Leave it to the other drivers."""


@functools.cache
def _wait_for_manager(process: str) -> None:
    # There may be many drivers, but the process is hooked into once.
    wrapt.register_post_import_hook(
        lambda _: install(process), f'nova.{process}.manager'
    )


_INSTALLED = {
    'compute': (
        'compute.service_hooks',
        'compute.tracker',
        'compute.metrics.service',
    ),
    'conductor': ('conductor.guard', 'conductor.answer'),
}
"""Modules that hook into a process once it has its manager."""


@functools.cache
def install(process: str) -> None:
    """Hook into this process's Nova.

    :raises: UnsupportedNova, which ends the process
    """
    hooks.check(process)
    # These are imported only now, because they import Nova.
    for name in _INSTALLED[process]:
        importlib.import_module(f'nova_reservations.{name}').install()
    LOG.info('nova-%s is hooked into by nova_reservations', process)
