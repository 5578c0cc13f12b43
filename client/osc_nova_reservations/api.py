# SPDX-License-Identifier: Apache-2.0
"""The lease API for commands."""

from collections.abc import Iterator
from collections.abc import Sequence
from typing import Any

from keystoneauth1 import adapter
from osc_lib import exceptions
from osc_lib.command import command

from osc_nova_reservations import dates
from osc_nova_reservations import errors
from osc_nova_reservations.sdk import lease as sdk_lease
from osc_nova_reservations.sdk import proxy

Forbidden = errors.Forbidden

_MOST = 10
"""Leases that a refusal names at most."""


def client_of(caller: command.Command) -> proxy.Proxy:
    manager: Any = caller.app.client_manager
    client: proxy.Proxy = manager.lease
    return client


def find(client: proxy.Proxy, lease: str) -> sdk_lease.Lease:
    """Return the lease with this name or ID.

    A name means a lease that has ended only where none lives that has it.

    :raises: CommandError unless there is exactly one
    """
    with errors.told():
        meant = client.leases_named(lease)
    if not meant:
        raise exceptions.CommandError(
            f'No lease has the name or ID {lease}: "openstack lease list" '
            'shows those of the project'
        )
    if len(meant) > 1:
        meant.sort(key=lambda each: str(each.start_date))
        raise exceptions.CommandError('\n'.join(_several(lease, meant)))
    return meant[0]


def _several(name: str, meant: Sequence[sdk_lease.Lease]) -> Iterator[str]:
    """Yield the lines of a refusal of a name that several leases have."""
    yield f'{len(meant)} leases have the name {name}: give the ID of one'
    if len({each.series_id for each in meant}) == 1 and meant[0].series_id:
        yield (
            'They are one series: "openstack lease series show, set, delete, '
            f'add project {name}" are for all of them'
        )
    if len(meant) > _MOST:
        yield f'The first {_MOST}:'
    for each in meant[:_MOST]:
        start = dates.parsed(str(each.start_date))
        yield f'{each.id} {each.status} {start:%Y-%m-%d %H:%M} UTC'


def request(
    client: adapter.Adapter,
    method: str,
    path: str,
    body: Any = None,
    params: Any = None,
) -> dict[str, Any]:
    """Send a request, and return the body of the response.

    :raises: CommandError, with the message of the API if it gave one;
        Forbidden
    """
    sent = {} if body is None else {'json': body}
    with errors.told():
        response = client.request(path, method, params=params, **sent)
    return {} if response.status_code == 204 else dict(response.json())
