# SPDX-License-Identifier: Apache-2.0
"""What brings us into nova-compute: a notification driver that says nothing.

oslo.messaging makes it while Nova reads its configuration, before Nova
imports its compute manager: this module imports nothing of Nova. In other
processes of Nova, which may have the same configuration, nothing happens.
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
        if conf.compute_resources or conf.metrics_plugins.enabled:
            _wait_for_nova_compute()

    def notify(self, ctxt: Any, msg: Any, priority: Any, retry: Any) -> None:
        """Leave it to the other drivers."""


@functools.cache
def _wait_for_nova_compute() -> None:
    # Only nova-compute imports its manager. There may be many of us, there
    # is one process.
    wrapt.register_post_import_hook(_install, 'nova.compute.manager')


def _install(_: Any) -> None:
    install()


@functools.cache
def install() -> None:
    """Hook into this process's Nova, which has its compute manager.

    :raises: UnsupportedNova, which ends the process
    """
    hooks.check('compute')
    # Not before: they import Nova.
    for name in ('audits', 'tracking', 'metrics.service'):
        importlib.import_module(f'nova_reservations.compute.{name}').install()
    LOG.info('Resource and metric plugins of nova_reservations are in use')
