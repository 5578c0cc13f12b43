# SPDX-License-Identifier: Apache-2.0
"""The paste filter ``reservations``: our part of Nova's API.

It stands right after keystonecontext, in the pipelines of both /v2 and
/v2.1; a request that is none of ours costs it two comparisons, and one that
may have Nova move a server is passed on with what judges moves.
"""

from collections.abc import Callable
from collections.abc import Iterable
import functools
import re
import threading
from typing import Any

from nova import exception as nova_exception
from nova.api import wsgi
import nova.conf
from nova.policies import servers as server_policies
from oslo_serialization import jsonutils
import webob
import webob.exc

from nova_reservations import bootstrap
from nova_reservations import conf
from nova_reservations import exception
from nova_reservations import hooks
from nova_reservations.api import faults
from nova_reservations.api import policy
from nova_reservations.api import routes
from nova_reservations.api.servers import actions
from nova_reservations.api.servers import create
from nova_reservations.api.servers import default_lease
from nova_reservations.api.servers import lease_params
from nova_reservations.api.servers import scheduler_hints
from nova_reservations.policies import leases as policies

# Paths as Nova's own router has them, with a project's id or without.
_PROJECT = '/(?:(?P<project_id>[0-9a-f-]+)/)?'
_LEASES = re.compile(f'{_PROJECT}{routes.MOUNT[1:]}(?P<path>/.*)?', re.DOTALL)
_CREATE = re.compile(f'{_PROJECT}(?:servers|os-volumes_boot)$')

# Nova reads no body of others. A PUT is one because of Nova's router, which
# takes it for a POST if the query says _method=POST.
_WITH_BODY = frozenset({'POST', 'PUT'})


class Reservations(wsgi.Middleware):
    def __init__(
        self, application: Any, services: bootstrap.Services | None = None
    ) -> None:
        hooks.check('api')
        super().__init__(application)
        conf.register_opts(nova.conf.CONF)
        default_lease.check(nova.conf.CONF)
        policy.register()
        if services is None:
            bootstrap.check(nova.conf.CONF)
        create.install()
        actions.install()
        self._services = services
        self._building = threading.Lock()

    def services(self) -> bootstrap.Services:
        """Built at the first need, which is after any fork."""
        with self._building:
            if self._services is None:
                self._services = bootstrap.build(nova.conf.CONF)
            return self._services

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        path = environ['PATH_INFO']
        if routes.MOUNT in path and (match := _LEASES.fullmatch(path)):
            answer: Any = self._lease_api(environ, match)
        elif environ['REQUEST_METHOD'] in _WITH_BODY:
            answer = self._judged(environ, path)
        else:
            answer = self.application
        response: Iterable[bytes] = answer(environ, start_response)
        return response

    def _lease_api(
        self, environ: dict[str, Any], match: re.Match[str]
    ) -> webob.Response:
        request = wsgi.Request(environ)
        project_id = match['project_id']
        own = environ['nova.context'].project_id
        if project_id not in (None, own):
            return faults.response(
                webob.exc.HTTPBadRequest(
                    f"Malformed request URL: URL's project_id '{project_id}' "
                    f"doesn't match Context's project_id '{own}'"
                ),
                None,
            )
        # WSGI has bytes in its strings.
        path = (match['path'] or '').encode('latin-1').decode(errors='replace')
        return routes.answer(request, path, self.services)

    def _judged(self, environ: dict[str, Any], path: str) -> Any:
        """Return what answers the request: Nova, or why Nova must not."""
        try:
            if _CREATE.match(path):
                return self._create(environ)
            return actions.ask(
                webob.Request(environ), self.application, self.services
            )
        except (
            exception.ReservationsError,
            nova_exception.PolicyNotAuthorized,
        ) as error:
            return faults.nova_fault(error)

    def _create(self, environ: dict[str, Any]) -> Any:
        request = webob.Request(environ)
        options = nova.conf.CONF
        if not (
            scheduler_hints.may_ask(request.body)
            or options.reservations.default_reservation
        ):
            return self.application
        body = _parsed(request.body)
        context = environ['nova.context']
        services = self.services()
        try:
            scheduler_hints.check(body, context.project_id, services.access)
        except exception.ReservationsError:
            if not _may_create(context):
                # Nova says so, and no more.
                return self.application
            raise
        terms: Any
        if scheduler_hints.LEASE in scheduler_hints.given(body):
            target = {'project_id': context.project_id}
            context.can(policies.CREATE, target=target)
            terms = lease_params.asked
        elif default_lease.is_due(
            body, context.project_id, options, services.access
        ):
            # Whoever may create servers: this is the operator's will.
            terms = functools.partial(default_lease.terms, conf=options)
        else:
            return self.application
        return create.make(request, body, terms, self.application, services)


def _may_create(context: Any) -> bool:
    target = {'project_id': context.project_id, 'user_id': context.user_id}
    allowed: bool = context.can(
        server_policies.SERVERS % 'create', target=target, fatal=False
    )
    return allowed


def _parsed(body: bytes) -> Any:
    """Read the body as Nova does; None where Nova will refuse it."""
    try:
        return jsonutils.loads(body)
    except (ValueError, RecursionError):
        return None
