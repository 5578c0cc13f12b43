# SPDX-License-Identifier: Apache-2.0
"""The table of all paths and methods of the lease API."""

import re
from typing import Any

import webob.exc

from nova_reservations.api import openapi
from nova_reservations.api import versions
from nova_reservations.api.action import Action
from nova_reservations.api.action import Routes
from nova_reservations.api.leases import leases
from nova_reservations.api.leases import offers
from nova_reservations.api.leases import project_access
from nova_reservations.api.leases import series
from nova_reservations.api.pool import floatingips
from nova_reservations.api.pool import host_actions
from nova_reservations.api.pool import hosts
from nova_reservations.api.pool import networks
from nova_reservations.api.pool import resources
from nova_reservations.api.reports import demand
from nova_reservations.api.reports import limits
from nova_reservations.api.reports import usage
from nova_reservations.api.request import LeaseRequest
from nova_reservations.api.schemas import openapi as openapi_schemas

MOUNT = '/os-reservations'


def describe(req: LeaseRequest) -> dict[str, Any]:
    """Describe the API in this document."""
    return openapi.document(req.mount, ROUTES, req.services.means.types)


DESCRIBE = Action(describe, response=openapi_schemas.SHOW_RESPONSE)

_TABLE = (
    ('GET', '/', versions.INDEX),
    ('GET', '/versions', versions.INDEX),
    ('GET', '/v1', versions.SHOW),
    ('GET', '/v1/openapi.json', DESCRIBE),
    ('GET', '/v1/leases', leases.INDEX),
    ('POST', '/v1/leases', leases.CREATE),
    ('POST', '/v1/leases/offers', offers.FIND),
    ('GET', '/v1/leases/{lease_id}', leases.SHOW),
    ('PUT', '/v1/leases/{lease_id}', leases.UPDATE),
    ('DELETE', '/v1/leases/{lease_id}', leases.DELETE),
    ('POST', '/v1/leases/{lease_id}/action', project_access.ACTION),
    ('GET', '/v1/leases/{lease_id}/project-access', project_access.INDEX),
    ('GET', '/v1/demand', demand.INDEX),
    ('GET', '/v1/floatingips', floatingips.INDEX),
    ('POST', '/v1/floatingips', floatingips.CREATE),
    ('GET', '/v1/floatingips/{floatingip_id}', floatingips.SHOW),
    ('DELETE', '/v1/floatingips/{floatingip_id}', floatingips.DELETE),
    ('GET', '/v1/limits', limits.SHOW),
    ('GET', '/v1/networks', networks.INDEX),
    ('POST', '/v1/networks', networks.CREATE),
    ('GET', '/v1/networks/{network_id}', networks.SHOW),
    ('DELETE', '/v1/networks/{network_id}', networks.DELETE),
    ('GET', '/v1/usage', usage.INDEX),
    ('GET', '/v1/lease-series/{series_id}', series.SHOW),
    ('DELETE', '/v1/lease-series/{series_id}', series.DELETE),
    ('GET', '/v1/os-hosts', hosts.INDEX),
    ('POST', '/v1/os-hosts', hosts.CREATE),
    ('GET', '/v1/os-hosts/allocations', hosts.ALLOCATIONS),
    ('GET', '/v1/os-hosts/calendar', hosts.CALENDAR),
    ('GET', '/v1/os-hosts/capacity', hosts.CAPACITY),
    ('GET', '/v1/os-hosts/properties', hosts.PROPERTIES),
    ('PATCH', '/v1/os-hosts/properties/{name}', hosts.UPDATE_PROPERTY),
    ('GET', '/v1/os-hosts/{host_id}', hosts.SHOW),
    ('PUT', '/v1/os-hosts/{host_id}', hosts.UPDATE),
    ('DELETE', '/v1/os-hosts/{host_id}', hosts.DELETE),
    ('GET', '/v1/os-hosts/{host_id}/allocation', hosts.ALLOCATION),
    ('POST', '/v1/os-hosts/{host_id}/action', host_actions.ACTION),
    ('GET', '/v1/resources', resources.INDEX),
    ('POST', '/v1/resources', resources.CREATE),
    ('GET', '/v1/resources/allocations', resources.ALLOCATIONS),
    ('GET', '/v1/resources/calendar', resources.CALENDAR),
    ('GET', '/v1/resources/capacity', resources.CAPACITY),
    ('GET', '/v1/resources/properties', resources.PROPERTIES),
    ('GET', '/v1/resources/{resource_id}', resources.SHOW),
    ('PUT', '/v1/resources/{resource_id}', resources.UPDATE),
    ('DELETE', '/v1/resources/{resource_id}', resources.DELETE),
)
"""Method, path below the mount, and action; the first path that matches
counts."""


def _by_path() -> Routes:
    routes: dict[str, dict[str, Action]] = {}
    for method, path, action in _TABLE:
        routes.setdefault(path, {})[method] = action
    return routes


ROUTES = _by_path()

_PATTERNS = [
    (
        re.compile(
            re.sub(r'\\{(\w+)\\}', r'(?P<\1>[^/]+?)', re.escape(path))
            + r'(\.json)?'
        ),
        actions,
    )
    for path, actions in ROUTES.items()
]


def find(method: str, path: str) -> tuple[Action, dict[str, Any]]:
    """Return the action, and the values in the path.

    :raises: webob.exc.HTTPNotFound, webob.exc.HTTPMethodNotAllowed
    """
    for pattern, actions in _PATTERNS:
        if match := pattern.fullmatch(path):
            if method not in actions:
                raise webob.exc.HTTPMethodNotAllowed(
                    f'{method} is not allowed here',
                    headers={'Allow': ', '.join(actions)},
                )
            return actions[method], match.groupdict()
    raise webob.exc.HTTPNotFound('There is no such resource')
