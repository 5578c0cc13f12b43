# SPDX-License-Identifier: Apache-2.0
"""A whole Nova in this process: API, conductor, scheduler and computes.

They talk through oslo.messaging's fake driver, which reaches no further than
the process.
"""

import os
import sys
from typing import Any

from nova import context
from nova import service
from nova.compute import rpcapi as compute_rpcapi
from nova.conductor import rpcapi as conductor_rpcapi
from nova.objects import host_mapping
from nova.scheduler import rpcapi as scheduler_rpcapi

from nova_reservations.sandbox import driver
from nova_reservations.sandbox import layout as lo


def start(layout: lo.Layout) -> Any:
    """Start everything, and return the API's WSGI application."""
    # Nova loads drivers from nova.virt only.
    sys.modules['nova.virt.sandbox'] = driver
    os.environ['OS_NOVA_CONFIG_DIR'] = str(layout.etc)
    # It reads the configuration and sets up messaging, once for all.
    from nova.wsgi import osapi_compute

    _start('nova-conductor', conductor_rpcapi.RPC_TOPIC, 'controller')
    _start('nova-scheduler', scheduler_rpcapi.RPC_TOPIC, 'controller')
    for host in layout.computes:
        _start(
            'nova-compute',
            compute_rpcapi.RPC_TOPIC,
            host,
            topic_alt=compute_rpcapi.RPC_TOPIC_ALT,
        )
    host_mapping.discover_hosts(context.get_admin_context())
    return osapi_compute.application


def _start(binary: str, topic: str, host: str, **kwargs: str) -> None:
    service.Service.create(
        binary=binary, topic=topic, host=host, **kwargs
    ).start()
