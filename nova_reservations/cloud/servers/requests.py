# SPDX-License-Identifier: Apache-2.0
"""Requests to Nova to change servers, many at once.

Through Nova's own compute API, in an administrator's context, by which
locked servers are no exception. Nova is asked, and not waited for.
"""

from collections.abc import Callable
from collections.abc import Collection
import functools
import math
import threading
import time

from nova import context as nova_context
from nova import exception as nova_exception
from nova import objects
from nova.compute import api as compute_api
from oslo_log import log

from nova_reservations import exception
from nova_reservations import ports
from nova_reservations.cloud import parallel
from nova_reservations.cloud.servers import images

LOG = log.getLogger(__name__)


LOOK = 1
"""Seconds: no two looks at the same servers are closer."""


class Failed(Exception):
    """It is no use to ask again; in words for the owner."""


class Requests:
    """The base of all parts that ask Nova to change servers."""

    def __init__(self, hosts: ports.Hosts) -> None:
        self._hosts = hosts
        self._seen_up: dict[str, tuple[float, bool]] = {}
        """Host -> when it was asked for last, and whether it was up."""
        self._asking = threading.Lock()

    def _get(
        self, context: nova_context.RequestContext, uuid: str
    ) -> objects.Instance:
        """Return the server, and have the context be of its cell."""
        return self._compute.get(
            context,
            uuid,
            expected_attrs=[
                'flavor',
                'info_cache',
                'metadata',
                'numa_topology',
                'pci_requests',
                'system_metadata',
            ],
        )

    def _busy(self, instance: objects.Instance) -> str | None:
        """Return why nothing can be asked of the server now."""
        if instance.task_state is not None:
            return f'it is still {instance.task_state}'
        if not instance.host:
            return 'it has no host yet'
        # What is asked of a host that is down is never answered, and the
        # server is stuck with it.
        if not self._host_is_up(instance.host):
            return 'its host is down'
        return None

    def _host_is_up(self, host: str) -> bool:
        """Ask once for all servers of a host that are looked at together."""
        with self._asking:
            asked_at, up = self._seen_up.get(host, (-math.inf, False))
            now = time.monotonic()
            if now >= asked_at + LOOK:
                up = self._is_seen_up(host)
                self._seen_up[host] = now, up
        return up

    def _is_seen_up(self, host: str) -> bool:
        context = nova_context.get_admin_context()
        try:
            mapping = objects.HostMapping.get_by_host(context, host)
            with nova_context.target_cell(
                context, mapping.cell_mapping
            ) as cell:
                service = objects.Service.get_by_compute_host(cell, host)
        except (
            nova_exception.HostMappingNotFound,
            nova_exception.ComputeHostNotFound,
        ):
            return False
        return bool(self._compute.servicegroup_api.service_is_up(service))

    @functools.cached_property
    def _compute(self) -> compute_api.API:
        return compute_api.API(image_api=images.Images())


def ask(
    function: Callable[[str], str | None],
    servers: Collection[ports.Server],
    check: ports.Check,
) -> dict[str, str]:
    """Call function with each server's UUID; it returns why not.

    :returns: server UUID -> why not, of those for which there is a reason
    """
    outcome = each(function, servers, check)
    return {**outcome.waiting, **outcome.failed}


def each(
    function: Callable[[str], str | None],
    servers: Collection[ports.Server],
    check: ports.Check,
) -> ports.Outcome:
    """Call function with each server's UUID; it returns what the server
    waits for, and raises where it is no use to wait.

    One server, and what is wrong with it, must not keep the others.
    """
    waiting, failed = {}, {}

    def ask(uuid: str) -> None:
        check()
        try:
            reason = function(uuid)
        except nova_exception.InstanceNotFound:
            return
        except Failed as error:
            failed[uuid] = str(error)
        except exception.ReservationsError:
            raise
        except Exception as error:
            LOG.warning('Server %s stays as it is', uuid, exc_info=True)
            failed[uuid] = _said(error)
        else:
            if reason is not None:
                waiting[uuid] = reason

    # One that is being moved is on two hosts.
    parallel.each(ask, sorted({server.uuid for server in servers}))
    return ports.Outcome(waiting, failed)


def _said(error: Exception) -> str:
    """Return what the server's owner reads of an error: no name of a host,
    and a compute host that is asked on the way fails in any words."""
    if isinstance(error, nova_exception.NovaException) and not any(
        'host' in name or 'node' in name for name in error.kwargs
    ):
        return str(error.format_message())
    return 'Nova failed at it'
