# SPDX-License-Identifier: Apache-2.0
"""Requests to the lease API, and the answers to them."""

from typing import Any

from keystoneauth1 import adapter
from osc_lib import exceptions
from osc_lib import utils
from osc_lib.command import command

_ENDED = frozenset({'TERMINATED', 'TIMEDOUT', 'ERROR', 'DELETING'})
"""Statuses after which no lease becomes active any more."""


class Forbidden(exceptions.CommandError):
    """The policy of the cloud refuses a request."""


def client_of(caller: command.Command) -> adapter.Adapter:
    manager: Any = caller.app.client_manager
    client: adapter.Adapter = manager.lease
    return client


def find(client: adapter.Adapter, lease: str) -> dict[str, Any]:
    """Return the lease with this name or ID.

    A name means a lease that has ended only where none lives that has it.

    :raises: CommandError unless there is exactly one
    """
    if utils.is_uuid_like(lease):
        return dict(request(client, 'GET', f'/leases/{lease}')['lease'])
    found = request(client, 'GET', '/leases', params={'name': lease})['leases']
    if not found:
        raise exceptions.CommandError(f'No lease has the name {lease}')
    meant = [each for each in found if each['status'] not in _ENDED] or found
    if len(meant) > 1:
        meant.sort(key=lambda each: str(each['start_date']))
        raise exceptions.CommandError(
            '\n'.join(
                [
                    f'{len(meant)} leases have the name {lease}: give the ID '
                    'of one',
                    *(
                        f'{each["id"]} {each["status"]} {each["start_date"]}'
                        for each in meant
                    ),
                ]
            )
        )
    return dict(meant[0])


def request(
    client: adapter.Adapter,
    method: str,
    path: str,
    body: Any = None,
    params: Any = None,
    headers: Any = None,
) -> dict[str, Any]:
    """Send a request, and return the body of the response.

    :raises: CommandError, with the message of the API if it gave one;
        Forbidden
    """
    sent = {} if body is None else {'json': body}
    response = client.request(
        path, method, params=params, headers=headers, **sent
    )
    if response.status_code == 204:
        return {}
    try:
        received = dict(response.json())
    except (ValueError, TypeError):
        received = {}
    if response.status_code >= 400 or not received:
        refusal = (
            Forbidden
            if response.status_code == 403
            else exceptions.CommandError
        )
        raise refusal(
            received.get('error_message')
            or f'{method} {response.url} was answered with '
            f'{response.status_code} {response.reason}'
        )
    return received
