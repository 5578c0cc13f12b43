# SPDX-License-Identifier: Apache-2.0
"""The rest of a whole Nova, in the process of its API.

They talk through oslo.messaging's fake driver, which reaches no further than
the process. The API has read the configuration and set up messaging before.
"""

from nova import context
from nova import service
from nova.compute import rpcapi as compute_rpcapi
from nova.conductor import rpcapi as conductor_rpcapi
import nova.conf
from nova.objects import host_mapping
from nova.scheduler import rpcapi as scheduler_rpcapi

from nova_reservations.sandbox import config
from nova_reservations.sandbox import driver
from nova_reservations.sandbox import layout as lo


def start() -> None:
    """Start conductor, scheduler and computes."""
    driver.install()
    _start('nova-conductor', conductor_rpcapi.RPC_TOPIC, 'controller')
    _start('nova-scheduler', scheduler_rpcapi.RPC_TOPIC, 'controller')
    for host in lo.HOSTS:
        # Each would have it in a nova.conf of its own.
        nova.conf.CONF.set_override(
            'cu_capacity', config.UNITS[host], 'resource_plugins'
        )
        _start(
            'nova-compute',
            compute_rpcapi.RPC_TOPIC,
            host,
            topic_alt=compute_rpcapi.RPC_TOPIC_ALT,
        )
    host_mapping.discover_hosts(context.get_admin_context())


def _start(binary: str, topic: str, host: str, **kwargs: str) -> None:
    service.Service.create(
        binary=binary, topic=topic, host=host, **kwargs
    ).start()
