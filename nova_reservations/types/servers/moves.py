# SPDX-License-Identifier: Apache-2.0
"""Moves of leases' servers off hosts that an operator drains, for all types
with servers.

Decision 0051: doc/source/decisions/0051-drained-hosts-lose-their-servers
"""

from collections.abc import Collection

from nova_reservations import ports
from nova_reservations.types import base

NAMED = 5
"""The report names so many of the servers that can't be moved."""


def move(
    booking: base.Booking,
    servers: Collection[ports.Server],
    cloud: ports.Cloud,
) -> dict[int, str]:
    """Ask Nova to move the servers, each once per request of the operator.

    nova-scheduler chooses among the hosts that the reservation has now.

    :param servers: servers of the reservation on hosts that it has left, or
        on their way from there
    :returns: resource id -> why servers there can not be moved
    """
    stay: dict[int, str] = {}
    for host in booking.left:
        asked_at = booking.emptied.get(host.id)
        if asked_at is None or not (booking.prepared and booking.resources):
            continue
        order = booking.order(int(asked_at.timestamp()))
        there = [server for server in servers if server.host == host.name]
        moved = [server for server in servers if server not in there]
        # A cold migration has to be confirmed.
        cloud.servers.settle_servers(moved, order)
        outcome = cloud.servers.drain_servers(there, order)
        if outcome.failed:
            stay[host.id] = _said(outcome)
    return stay


def _said(outcome: ports.Outcome) -> str:
    failed = sorted(outcome.failed.items())
    said = [f'server {server}: {reason.whole}' for server, reason in failed]
    if len(said) > NAMED:
        said[NAMED:] = [f'and {len(said) - NAMED} more']
    return '; '.join(said)
