# SPDX-License-Identifier: Apache-2.0
"""The rest of a whole Nova, in the process of its API.

The services talk through oslo.messaging's fake driver, which works only within
a process. The API has read the configuration and set up messaging before.
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
    """Start conductor, scheduler and computes; return the API, wrapped by
    requests that stop and start computes."""
    driver.install()
    _start('nova-conductor', conductor_rpcapi.RPC_TOPIC, 'controller')
    _start('nova-scheduler', scheduler_rpcapi.RPC_TOPIC, 'controller')
    computes = {host: _start_compute(host) for host in lo.HOSTS}
    host_mapping.discover_hosts(context.get_admin_context())
    return _Switches(api, computes)


def _start_compute(host: str) -> service.Service:
    # Real computes would have this in their own nova.conf.
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
    """Make a compute receive no calls, and stop reporting.

    Its stop() is not used, because it would shut down the threads of the
    whole process.
    """
    for server in (compute.rpcserver, compute.rpcserver_alt):
        server.stop()
        server.wait()
    compute.tg.stop()


def _revive(compute: service.Service) -> None:
    """Make a compute receive calls and report again."""
    for server in (compute.rpcserver, compute.rpcserver_alt):
        server.start()
    compute.tg = type(compute.tg)()
    compute.servicegroup_api.join(compute.host, compute.topic, compute)


class _Switches:
    """Adds POST /sandbox/computes/HOST/stop, and start: by these a story that
    runs outside can do what an operator does on a host."""

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
