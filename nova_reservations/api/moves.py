# SPDX-License-Identifier: Apache-2.0
"""Moves of servers that go past the scheduler, and so past every lease, and
resizes to flavors of others: refused where a lease is concerned."""

import re
from typing import Any
from typing import TypeAlias

from nova import context as nova_context
from nova import exception as nova_exception
from nova import objects
from nova.api.openstack import api_version_request
from nova.api.openstack import wsgi
from oslo_utils import strutils
from oslo_utils import uuidutils

from nova_reservations import bootstrap
from nova_reservations import exception
from nova_reservations import states
from nova_reservations import values
from nova_reservations.api import hints

Version: TypeAlias = api_version_request.APIVersionRequest

# Action -> the first microversion that asks the scheduler about a host that
# the request names, unless ``force`` is set. Since 2.68 there is no force.
ASKS_SINCE = {'os-migrateLive': Version('2.30'), 'evacuate': Version('2.29')}
LAST_FORCE = Version('2.67')

# Of what Nova's schema lets through, what can be the name of a host.
_HOST = re.compile('[a-zA-Z0-9._-]{1,255}')


def may_move(body: bytes) -> bool:
    """Whether it is worth parsing; JSON can spell a key with escapes."""
    return (
        b'os-migrateLive' in body
        or b'evacuate' in body
        or b'resize' in body
        or b'\\u' in body
    )


def version(request: wsgi.Request) -> Version | None:
    """Return the microversion asked for; None where Nova will refuse it."""
    if request.script_name.endswith('/v2'):
        # Its pipeline takes such headers away, further in.
        return Version(wsgi.DEFAULT_API_VERSION)
    try:
        request.set_api_version_request()
    except (
        nova_exception.InvalidAPIVersionString,
        nova_exception.InvalidGlobalAPIVersion,
    ):
        return None
    return request.api_version_request


def check(
    body: Any, server_id: str, asked: Version, services: bootstrap.Services
) -> None:
    """Refuse to move a leased server, or any onto a leased host, unseen.

    :param body: of the request, parsed as Nova does; what Nova's own schema
        refuses is left to it.
    :raises: InvalidState, NotFound
    """
    _check_resize(body, server_id, services)
    target = forced_target(body, asked)
    if target is None:
        return
    if services.hosts.is_enrolled(target):
        raise _refusal(server_id, f'host {target} can be leased')
    if not uuidutils.is_uuid_like(server_id):
        return
    try:
        host, hint = _where(server_id)
    except (
        nova_exception.InstanceMappingNotFound,
        nova_exception.RequestSpecNotFound,
        nova_exception.InstanceNotFound,
    ):
        # Nova says so, each in its way.
        return
    if host and services.hosts.is_enrolled(host):
        raise _refusal(server_id, f'it is on host {host}, which can be leased')
    # Hints of servers that are older than this filter may be anything.
    if values.is_id(hint):
        access = services.leases.access(hint)
        if access and access.status in states.OPEN:
            raise _refusal(server_id, f'it is in lease {access.lease_id}')


def _check_resize(
    body: Any, server_id: str, services: bootstrap.Services
) -> None:
    """Refuse what does not fit into the place that a server was guaranteed,
    and a slot that it has no right to: Nova itself does not ask whose a
    flavor is when a server is resized.

    :raises: InvalidState, NotFound
    """
    flavor = resized_to(body)
    if flavor is None or not uuidutils.is_uuid_like(server_id):
        return
    services.server_leases.check_resize(server_id, flavor)
    if not values.is_id(flavor):
        return
    access = services.leases.access(flavor)
    if access is None:
        return
    try:
        project_id, hint = _whose(server_id)
    except (
        nova_exception.InstanceMappingNotFound,
        nova_exception.RequestSpecNotFound,
    ):
        # Nova says so, each in its way.
        return
    if access.project_id != project_id:
        raise exception.NotFound(kind='Flavor', id=flavor)
    if access.status != states.Lease.ACTIVE:
        raise exception.InvalidState(
            kind='Lease',
            id=access.lease_id,
            status=access.status,
            reason='servers can be resized to its flavor only while it is '
            'ACTIVE',
        )
    if values.is_id(hint) and hint != flavor:
        other = services.leases.access(hint)
        if other and other.status in states.OPEN:
            raise exception.InvalidState(
                kind='Server',
                id=server_id,
                status=f'in lease {other.lease_id}',
                reason='a server can be in one reservation only',
            )


def resized_to(body: Any) -> str | None:
    """Return the flavor that a server is to have."""
    if not (isinstance(body, dict) and isinstance(body.get('resize'), dict)):
        return None
    flavor = body['resize'].get('flavorRef')
    if not isinstance(flavor, str):
        return None
    # Requests may give it as a URL, too.
    return flavor.rsplit('/', 1)[-1]


def _whose(server_id: str) -> tuple[str, Any]:
    """Return the server's project, and the hint that it was created with."""
    context = nova_context.get_admin_context()
    mapping = objects.InstanceMapping.get_by_instance_uuid(context, server_id)
    spec = objects.RequestSpec.get_by_instance_uuid(context, server_id)
    return mapping.project_id, spec.get_scheduler_hint(hints.RESERVATION)


def _where(server_id: str) -> tuple[str | None, Any]:
    """Return the server's host, and the hint that it was created with."""
    context = nova_context.get_admin_context()
    mapping = objects.InstanceMapping.get_by_instance_uuid(context, server_id)
    spec = objects.RequestSpec.get_by_instance_uuid(context, server_id)
    hint = spec.get_scheduler_hint(hints.RESERVATION)
    if mapping.cell_mapping is None:
        return None, hint
    with nova_context.target_cell(context, mapping.cell_mapping) as cell:
        host = objects.Instance.get_by_uuid(
            cell, server_id, expected_attrs=[]
        ).host
    return host, hint


def forced_target(body: Any, asked: Version) -> str | None:
    """Return the host that Nova would not ask the scheduler about."""
    if not (isinstance(body, dict) and len(body) == 1):
        return None
    [(action, arguments)] = body.items()
    if action not in ASKS_SINCE or not isinstance(arguments, dict):
        return None
    host = arguments.get('host')
    if not (isinstance(host, str) and _HOST.fullmatch(host)):
        return None
    forced = asked <= LAST_FORCE and strutils.bool_from_string(
        arguments.get('force')
    )
    return host if asked < ASKS_SINCE[action] or forced else None


def _refusal(server_id: str, reason: str) -> exception.InvalidState:
    return exception.InvalidState(
        kind='Server',
        id=server_id,
        status='not to be moved by force',
        reason=f'{reason}; use a microversion and arguments by which the '
        'scheduler is asked',
    )
