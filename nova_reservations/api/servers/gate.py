# SPDX-License-Identifier: Apache-2.0
"""The gate before Nova, for requests that may create or move a server."""

from collections.abc import Callable
import functools
import re
from typing import Any

from nova import exception as nova_exception
import nova.conf
from nova.policies import servers as server_policies
from oslo_serialization import jsonutils
import webob

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.api import faults
from nova_reservations.api.leases import creation
from nova_reservations.api.servers import actions
from nova_reservations.api.servers import create
from nova_reservations.api.servers import default_lease
from nova_reservations.api.servers import lease_params
from nova_reservations.api.servers import scheduler_hints
from nova_reservations.engine import assembly
from nova_reservations.policies import leases as policies

# Like in Nova's own router, the path may begin with a project id.
_CREATE = re.compile('/(?:[0-9a-f-]+/)?(?:servers|os-volumes_boot)$')


def answer(
    environ: dict[str, Any],
    application: Any,
    services: Callable[[], assembly.Services],
) -> Any:
    """Return the WSGI application that answers the request: Nova, an answer of
    Nova, or a refusal.

    :param application: Nova
    """
    request = webob.Request(environ)
    try:
        if _CREATE.match(environ['PATH_INFO']):
            return _create(request, application, services)
        return actions.ask(request, application, services)
    except (
        exception.ReservationsError,
        nova_exception.PolicyNotAuthorized,
    ) as error:
        return faults.nova_fault(error)


def _create(
    request: webob.Request,
    application: Any,
    build: Callable[[], assembly.Services],
) -> Any:
    options = nova.conf.CONF
    if not (
        scheduler_hints.may_ask(request.body)
        or options.reservations.default_reservation
    ):
        return application
    body = _parsed(request.body)
    hinted = scheduler_hints.hinted(body)
    context = request.environ['nova.context']
    services = build()
    check = functools.partial(
        scheduler_hints.check, body, context.project_id, services
    )
    try:
        check()
    except exception.ReservationsError as refusal:
        if not _may_create(context):
            # Nova refuses it; our reason would tell about leases.
            return application
        if not _has_waited(refusal, body, services):
            raise
        check()
    asked: Any
    if scheduler_hints.LEASE in scheduler_hints.given(body):
        target = {'project_id': context.project_id}
        context.can(policies.CREATE, target=target)
        creation.check_resource_types(context, [objects.SERVER])
        asked = lease_params.asked
    elif default_lease.is_due(
        body, context.project_id, options, services.access
    ):
        # No policy is checked, because the operator has configured it.
        asked = functools.partial(default_lease.asked, conf=options)
    else:
        if scheduler_hints.hinted(body) != hinted:
            # From here on, Nova knows the reservation, and no lease.
            request.body = jsonutils.dump_as_bytes(body)
        return application
    return create.make(request, body, asked, application, services)


def _has_waited(
    refusal: exception.ReservationsError,
    body: Any,
    services: assembly.Services,
) -> bool:
    """Wait if the lease that the body names starts just now; return False if
    there was nothing to wait for."""
    if not isinstance(refusal, exception.InvalidState):
        return False
    reservation_id = scheduler_hints.named(body)
    return reservation_id is not None and services.short_waits.for_start(
        reservation_id
    )


def _may_create(context: Any) -> bool:
    target = {'project_id': context.project_id, 'user_id': context.user_id}
    allowed: bool = context.can(
        server_policies.SERVERS % 'create', target=target, fatal=False
    )
    return allowed


def _parsed(body: bytes) -> Any:
    """Parse the body as Nova does; None if Nova will refuse it."""
    try:
        return jsonutils.loads(body)
    except (ValueError, RecursionError):
        return None
