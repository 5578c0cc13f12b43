# SPDX-License-Identifier: Apache-2.0
"""The table of all paths and methods of the lease API."""

import re
from typing import Any

import webob.exc

from nova_reservations.api import openapi
from nova_reservations.api import versions
from nova_reservations.api.action import Action
from nova_reservations.api.action import Routes
from nova_reservations.api.action import served
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


@served(response=openapi_schemas.SHOW_RESPONSE)
def describe(req: LeaseRequest) -> dict[str, Any]:
    """Describe the API in this document."""
    return openapi.document(req.mount, ROUTES, req.services.means.types)


_TABLE = (
    ('GET', '/', versions.index),
    ('GET', '/versions', versions.index),
    ('GET', '/v1', versions.show),
    ('GET', '/v1/openapi.json', describe),
    ('GET', '/v1/leases', leases.index),
    ('POST', '/v1/leases', leases.create),
    ('POST', '/v1/leases/offers', offers.find),
    ('GET', '/v1/leases/{lease_id}', leases.show),
    ('PUT', '/v1/leases/{lease_id}', leases.update),
    ('DELETE', '/v1/leases/{lease_id}', leases.delete),
    ('POST', '/v1/leases/{lease_id}/action', project_access.action),
    ('GET', '/v1/leases/{lease_id}/project-access', project_access.index),
    ('GET', '/v1/demand', demand.index),
    ('GET', '/v1/floatingips', floatingips.index),
    ('POST', '/v1/floatingips', floatingips.create),
    ('GET', '/v1/floatingips/{floatingip_id}', floatingips.show),
    ('DELETE', '/v1/floatingips/{floatingip_id}', floatingips.delete),
    ('GET', '/v1/limits', limits.show),
    ('GET', '/v1/networks', networks.index),
    ('POST', '/v1/networks', networks.create),
    ('GET', '/v1/networks/{network_id}', networks.show),
    ('DELETE', '/v1/networks/{network_id}', networks.delete),
    ('GET', '/v1/usage', usage.index),
    ('GET', '/v1/lease-series/{series_id}', series.show),
    ('DELETE', '/v1/lease-series/{series_id}', series.delete),
    (
        'POST',
        '/v1/lease-series/{series_id}/action',
        project_access.series_action,
    ),
    ('GET', '/v1/os-hosts', hosts.index),
    ('POST', '/v1/os-hosts', hosts.create),
    ('GET', '/v1/os-hosts/allocations', hosts.allocations),
    ('GET', '/v1/os-hosts/calendar', hosts.calendar),
    ('GET', '/v1/os-hosts/capacity', hosts.capacity),
    ('GET', '/v1/os-hosts/properties', hosts.properties),
    ('PATCH', '/v1/os-hosts/properties/{name}', hosts.update_property),
    ('GET', '/v1/os-hosts/{host_id}', hosts.show),
    ('PUT', '/v1/os-hosts/{host_id}', hosts.update),
    ('DELETE', '/v1/os-hosts/{host_id}', hosts.delete),
    ('GET', '/v1/os-hosts/{host_id}/allocation', hosts.allocation),
    ('POST', '/v1/os-hosts/{host_id}/action', host_actions.action),
    ('GET', '/v1/resources', resources.index),
    ('POST', '/v1/resources', resources.create),
    ('GET', '/v1/resources/allocations', resources.allocations),
    ('GET', '/v1/resources/calendar', resources.calendar),
    ('GET', '/v1/resources/capacity', resources.capacity),
    ('GET', '/v1/resources/properties', resources.properties),
    ('GET', '/v1/resources/{resource_id}', resources.show),
    ('PUT', '/v1/resources/{resource_id}', resources.update),
    ('DELETE', '/v1/resources/{resource_id}', resources.delete),
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
