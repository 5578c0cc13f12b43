# SPDX-License-Identifier: Apache-2.0
"""The rest of a whole Nova, in the process of its API.

They talk through oslo.messaging's fake driver, which reaches no further than
the process. The API has read the configuration and set up messaging before.
"""

from collections.abc import Callable
from collections.abc import Iterable
from typing import Any

from nova import context
from nova import service
from nova.compute import rpcapi as compute_rpcapi
from nova.conductor import rpcapi as conductor_rpcapi
import nova.conf
from nova.objects import host_mapping
from nova.scheduler import rpcapi as scheduler_rpcapi

from sandbox import config
from sandbox import driver
from sandbox import layout as lo

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


def start(api: Application) -> Application:
    """Start conductor, scheduler and computes; return the API with what
    stops and starts computes."""
    driver.install()
    _start('nova-conductor', conductor_rpcapi.RPC_TOPIC, 'controller')
    _start('nova-scheduler', scheduler_rpcapi.RPC_TOPIC, 'controller')
    computes = {host: _start_compute(host) for host in lo.HOSTS}
    host_mapping.discover_hosts(context.get_admin_context())
    return _Switches(api, computes)


def _start_compute(host: str) -> service.Service:
    # Each would have it in a nova.conf of its own.
    nova.conf.CONF.set_override(
        'cu_capacity', config.UNITS[host], 'resource_plugins'
    )
    return _start(
        'nova-compute',
        compute_rpcapi.RPC_TOPIC,
        host,
        topic_alt=compute_rpcapi.RPC_TOPIC_ALT,
    )


def _start(
    binary: str, topic: str, host: str, **kwargs: str
) -> service.Service:
    started = service.Service.create(
        binary=binary, topic=topic, host=host, **kwargs
    )
    started.start()
    return started


def _die(compute: service.Service) -> None:
    """Have a compute hear no calls, and report no more.

    Not by its stop(), which would shut down the threads of the process.
    """
    for server in (compute.rpcserver, compute.rpcserver_alt):
        server.stop()
        server.wait()
    compute.tg.stop()


def _revive(compute: service.Service) -> None:
    """Have it hear calls, and report, again."""
    for server in (compute.rpcserver, compute.rpcserver_alt):
        server.start()
    compute.tg = type(compute.tg)()
    compute.servicegroup_api.join(compute.host, compute.topic, compute)


class _Switches:
    """POST /sandbox/computes/HOST/stop, or start: what somebody does on a
    host, for stories that are told from outside."""

    def __init__(
        self, api: Application, computes: dict[str, service.Service]
    ) -> None:
        self._api = api
        self._computes = computes

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        match environ['PATH_INFO'].split('/'):
            case ['', 'sandbox', 'computes', host, 'stop']:
                _die(self._computes[host])
            case ['', 'sandbox', 'computes', host, 'start']:
                _revive(self._computes[host])
            case _:
                return self._api(environ, start_response)
        start_response('204 No Content', [])
        return []
