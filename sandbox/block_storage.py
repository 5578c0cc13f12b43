# SPDX-License-Identifier: Apache-2.0
"""A whole Cinder in the process of its API.

Its services talk through oslo.messaging's fake driver, which reaches no
further than the process.
"""

import sys

from cinder import monkey_patch
from oslo_config import cfg

from sandbox import layout as lo

CONF = cfg.CONF


def configure(layout: lo.Layout) -> None:
    """Have the API, which is imported next, use threads and its file."""
    monkey_patch.patch('threading')
    sys.argv.append(f'--config-file={layout.etc}/cinder.conf')


def start() -> None:
    """Start the service of the backend, and the scheduler, which waits for
    what that tells."""
    from cinder import service
    from cinder.common import constants
    import os_brick

    os_brick.setup(CONF)
    (backend,) = CONF.enabled_backends
    volumes = service.Service.create(
        host=f'{CONF.host}@{backend}',
        service_name=backend,
        binary=constants.VOLUME_BINARY,
    )
    volumes.start()
    service.Service.create(binary=constants.SCHEDULER_BINARY).start()
    # All of a process report as the one that was started last. Nobody asks
    # whether the scheduler is up.
    service.Service.service_id = volumes.origin_service_id
