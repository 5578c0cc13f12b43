# SPDX-License-Identifier: Apache-2.0
"""Moves of servers that go past the scheduler, and so past every lease:
refused where a lease is concerned."""

from typing import Any

from nova import context as nova_context
from nova import exception as nova_exception
from nova import objects
from nova.api.openstack import api_version_request
from nova.api.openstack import wsgi
from oslo_utils import strutils

from nova_reservations import bootstrap
from nova_reservations import exception
from nova_reservations import states
from nova_reservations.api import hints

# Action -> the first microversion that asks the scheduler about a host that
# the request names, unless ``force`` is set. Since 2.68 there is no force.
ASKS_SINCE = {'os-migrateLive': '2.30', 'evacuate': '2.29'}
LAST_FORCE = '2.67'


def may_force(body: bytes) -> bool:
    """Whether it is worth parsing; JSON can spell a key with escapes."""
    return b'os-migrateLive' in body or b'evacuate' in body or b'\\u' in body


def check(
    body: Any,
    server_id: str,
    request: wsgi.Request,
    services: bootstrap.Services,
) -> None:
    """Refuse to move a leased server, or any onto a leased host, unseen.

    :param body: of the request, parsed as Nova does; what Nova's own schema
        refuses is left to it.
    :raises: InvalidState
    """
    target = forced_target(body, request)
    if target is None:
        return
    if services.hosts.is_enrolled(target):
        raise _refusal(server_id, f'host {target} can be leased')
    context = nova_context.get_admin_context()
    try:
        mapping = objects.InstanceMapping.get_by_instance_uuid(
            context, server_id
        )
        reservation_id = objects.RequestSpec.get_by_instance_uuid(
            context, server_id
        ).get_scheduler_hint(hints.RESERVATION)
        if mapping.cell_mapping is None:
            return
        with nova_context.target_cell(
            context, mapping.cell_mapping
        ) as cell_context:
            host = objects.Instance.get_by_uuid(
                cell_context, server_id, expected_attrs=[]
            ).host
    except (
        nova_exception.InstanceMappingNotFound,
        nova_exception.RequestSpecNotFound,
        nova_exception.InstanceNotFound,
    ):
        # Nova says so, each in its way.
        return
    if host and services.hosts.is_enrolled(host):
        raise _refusal(server_id, f'it is on host {host}, which can be leased')
    access = reservation_id and services.leases.access(reservation_id)
    if access and access.status in states.OPEN:
        raise _refusal(server_id, f'it is in lease {access.lease_id}')


def forced_target(body: Any, request: wsgi.Request) -> str | None:
    """Return the host that Nova would not ask the scheduler about."""
    if not (isinstance(body, dict) and len(body) == 1):
        return None
    [(action, arguments)] = body.items()
    if action not in ASKS_SINCE or not isinstance(arguments, dict):
        return None
    host = arguments.get('host')
    if not (isinstance(host, str) and host):
        return None
    version = request.api_version_request
    if not version.matches(
        api_version_request.APIVersionRequest(ASKS_SINCE[action])
    ):
        return host
    if version.matches(
        api_version_request.APIVersionRequest(),
        api_version_request.APIVersionRequest(LAST_FORCE),
    ):
        return (
            host if strutils.bool_from_string(arguments.get('force')) else None
        )
    return None


def _refusal(server_id: str, reason: str) -> exception.InvalidState:
    return exception.InvalidState(
        kind='Server',
        id=server_id,
        status='not to be moved by force',
        reason=f'{reason}; use a microversion and arguments by which the '
        'scheduler is asked',
    )
