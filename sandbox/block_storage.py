# SPDX-License-Identifier: Apache-2.0
"""A whole Cinder in the process of its API.

Its services talk through oslo.messaging's fake driver, which reaches no
further than the process.
"""

import sys
import threading

from cinder import monkey_patch
from oslo_config import cfg

from sandbox import layout as lo

CONF = cfg.CONF
_LOCK = threading.Lock()


def configure(layout: lo.Layout) -> None:
    """Make the API, which is imported next, use threads and its own
    configuration file."""
    monkey_patch.patch('threading')
    sys.argv.append(f'--config-file={layout.etc}/cinder.conf')


def start() -> None:
    """Start the services of the backend and of backups, and the scheduler,
    which waits for the reports of the other two."""
    from cinder.common import constants
    from cinder.service import Service
    import os_brick
    from os_brick.initiator import connector

    os_brick.setup(CONF)
    # All volumes are files. The other connectors are left out, because they
    # need root to tell what a host can attach.
    connector.unix_connector_list[:] = [
        'os_brick.initiator.connectors.local.LocalConnector'
    ]
    (backend,) = CONF.enabled_backends

    class Reporting(Service):
        """One of several services in this process. A plain Service would
        report as the one that was created last."""

        def report_state(self) -> None:
            with _LOCK:
                Service.service_id = self.origin_service_id
                super().report_state()

    for binary, more in {
        constants.VOLUME_BINARY: {
            'host': f'{CONF.host}@{backend}',
            'service_name': backend,
        },
        constants.BACKUP_BINARY: {'service_name': 'backup'},
        constants.SCHEDULER_BINARY: {},
    }.items():
        Reporting.create(binary=binary, **more).start()
