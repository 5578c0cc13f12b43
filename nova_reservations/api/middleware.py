# SPDX-License-Identifier: Apache-2.0
"""The paste filter ``reservations``: our part of Nova's API.

It comes right after keystonecontext in the pipelines of both /v2 and /v2.1.
Requests to the lease API go to an application of our own. Requests that may
make Nova create or move a server pass a gate. All other requests go straight
to Nova, at the cost of two comparisons.
"""

from collections.abc import Callable
from collections.abc import Iterable
import re
import threading
from typing import Any

from nova.api import wsgi
import nova.conf

from nova_reservations import bootstrap
from nova_reservations import conf
from nova_reservations import hooks
from nova_reservations.api import dispatch
from nova_reservations.api import policy
from nova_reservations.api import routes
from nova_reservations.api import warm_up
from nova_reservations.api.servers import actions
from nova_reservations.api.servers import create
from nova_reservations.api.servers import default_lease
from nova_reservations.api.servers import gate
from nova_reservations.cloud import time_limits
from nova_reservations.cloud.slots import group_counts
from nova_reservations.engine import assembly

# Like in Nova's own router, the path may begin with a project id.
_LEASES = re.compile(
    f'/(?:(?P<project_id>[0-9a-f-]+)/)?{routes.MOUNT[1:]}(?P<path>/.*)?',
    re.DOTALL,
)

# Requests with other methods have no body for Nova. PUT is included because
# Nova's router treats it as a POST if the query has _method=POST.
_WITH_BODY = frozenset({'POST', 'PUT'})


class Reservations(wsgi.Middleware):
    def __init__(
        self, application: Any, services: assembly.Services | None = None
    ) -> None:
        hooks.check('api')
        time_limits.install()
        super().__init__(application)
        conf.register_opts(nova.conf.CONF)
        default_lease.check(nova.conf.CONF)
        policy.register()
        if services is None:
            bootstrap.check(nova.conf.CONF)
        create.install()
        actions.install()
        group_counts.install()
        warm_up.warm_up()
        self._services = services
        self._building = threading.Lock()

    def services(self) -> assembly.Services:
        """Return the services, which are built at the first use: after any
        fork."""
        with self._building:
            if self._services is None:
                self._services = bootstrap.build(nova.conf.CONF)
            return self._services

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        path = environ['PATH_INFO']
        answer: Any
        if routes.MOUNT in path and (match := _LEASES.fullmatch(path)):
            answer = dispatch.answer(
                wsgi.Request(environ),
                match['project_id'],
                # Strings of WSGI are bytes, decoded as latin-1.
                (match['path'] or '')
                .encode('latin-1')
                .decode(errors='replace'),
                self.services,
            )
        elif environ['REQUEST_METHOD'] in _WITH_BODY:
            answer = gate.answer(environ, self.application, self.services)
        else:
            answer = self.application
        response: Iterable[bytes] = answer(environ, start_response)
        return response
