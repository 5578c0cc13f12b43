# SPDX-License-Identifier: Apache-2.0
"""Evacuation of servers from failed hosts, for all types with servers."""

from collections.abc import Iterable

from oslo_config import cfg
from oslo_log import log

from nova_reservations import ports
from nova_reservations.types import base

LOG = log.getLogger(__name__)


def stranded(
    booking: base.Booking,
    servers: Iterable[ports.Server],
    cloud: ports.Cloud,
    conf: cfg.ConfigOpts,
) -> list[ports.Server]:
    """Return the servers to be evacuated: those on hosts that the reservation
    has left and that are forced down. Empty if it has no other hosts."""
    if not conf.reservations.heal_evacuate or not booking.resources:
        return []
    left = {host.name for host in booking.left}
    there = [
        server
        for server in servers
        if server.host in left and not server.moved_to
    ]
    if not there:
        return []
    services = cloud.hosts.compute_services(
        booking.now, {server.host for server in there}
    )
    return [
        server
        for server in there
        if server.host in services and services[server.host].forced_down
    ]


def evacuate(
    booking: base.Booking,
    servers: Iterable[ports.Server],
    cloud: ports.Cloud,
    conf: cfg.ConfigOpts,
) -> None:
    refused = cloud.servers.evacuate(
        stranded(booking, servers, cloud, conf), booking.check
    )
    for server, reason in refused.items():
        LOG.warning(
            'Server %(server)s is not evacuated: %(reason)s',
            {'server': server, 'reason': reason},
        )
