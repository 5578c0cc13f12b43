# SPDX-License-Identifier: Apache-2.0
"""The lease API: every path and method, and how a request comes to its
action and back."""

from collections.abc import Callable
from collections.abc import Mapping
import json
import re
from typing import Any

import microversion_parse
import webob
import webob.exc

from nova_reservations import bootstrap
from nova_reservations.api import faults
from nova_reservations.api import hosts
from nova_reservations.api import leases
from nova_reservations.api import listing
from nova_reservations.api import openapi
from nova_reservations.api import request as api_request
from nova_reservations.api import validation
from nova_reservations.api import versions
from nova_reservations.api.action import Action
from nova_reservations.api.action import Routes
from nova_reservations.api.schemas import hosts as host_schemas
from nova_reservations.api.schemas import leases as lease_schemas
from nova_reservations.api.schemas import openapi as openapi_schemas
from nova_reservations.api.schemas import versions as version_schemas

MOUNT = '/os-reservations'
VERSION = versions.VERSION
MAX_BODY_BYTES = 64 * 1024

_NO_QUERY = validation.Schema({'maxProperties': 0})

_VERSIONS = Action(
    versions.index, 300, response=version_schemas.INDEX_RESPONSE
)


def _describe(req: api_request.LeaseRequest) -> dict[str, Any]:
    """Describe the API in this document."""
    return openapi.document(req.mount, ROUTES, req.services.leases.types)


ROUTES: Routes = {
    '/': {'GET': _VERSIONS},
    '/versions': {'GET': _VERSIONS},
    '/v1': {
        'GET': Action(versions.show, response=version_schemas.SHOW_RESPONSE)
    },
    '/v1/openapi.json': {
        'GET': Action(_describe, response=openapi_schemas.SHOW_RESPONSE)
    },
    '/v1/leases': {
        'GET': Action(
            leases.index,
            query=lease_schemas.INDEX,
            response=lease_schemas.INDEX_RESPONSE,
        ),
        'POST': Action(
            leases.create,
            201,
            body=lease_schemas.CREATE,
            response=lease_schemas.SHOW_RESPONSE,
            refusals=(409,),
        ),
    },
    '/v1/leases/{lease_id}': {
        'GET': Action(
            leases.show, response=lease_schemas.SHOW_RESPONSE, refusals=(404,)
        ),
        'PUT': Action(
            leases.update,
            body=lease_schemas.UPDATE,
            response=lease_schemas.SHOW_RESPONSE,
            refusals=(404, 409),
        ),
        'DELETE': Action(leases.delete, 204, refusals=(404, 409)),
    },
    '/v1/os-hosts': {
        'GET': Action(
            hosts.index,
            query=host_schemas.INDEX,
            response=host_schemas.INDEX_RESPONSE,
        ),
        'POST': Action(
            hosts.create,
            201,
            body=host_schemas.CREATE,
            response=host_schemas.SHOW_RESPONSE,
            refusals=(404, 409),
        ),
    },
    '/v1/os-hosts/allocations': {
        'GET': Action(
            hosts.allocations,
            query=host_schemas.ALLOCATIONS,
            response=host_schemas.ALLOCATIONS_RESPONSE,
        )
    },
    '/v1/os-hosts/capacity': {
        'GET': Action(
            hosts.capacity,
            query=host_schemas.CAPACITY,
            response=host_schemas.CAPACITY_RESPONSE,
        )
    },
    '/v1/os-hosts/properties': {
        'GET': Action(
            hosts.properties,
            query=host_schemas.PROPERTIES,
            response=host_schemas.PROPERTIES_RESPONSE,
        )
    },
    '/v1/os-hosts/properties/{name}': {
        'PATCH': Action(
            hosts.update_property,
            body=host_schemas.UPDATE_PROPERTY,
            response=host_schemas.PROPERTY_RESPONSE,
            refusals=(404,),
        )
    },
    '/v1/os-hosts/{host_id}': {
        'GET': Action(
            hosts.show, response=host_schemas.SHOW_RESPONSE, refusals=(404,)
        ),
        'PUT': Action(
            hosts.update,
            body=host_schemas.UPDATE,
            response=host_schemas.SHOW_RESPONSE,
            refusals=(404, 409),
        ),
        'DELETE': Action(hosts.delete, 204, refusals=(404, 409)),
    },
    '/v1/os-hosts/{host_id}/allocation': {
        'GET': Action(
            hosts.allocation,
            query=host_schemas.ALLOCATIONS,
            response=host_schemas.ALLOCATION_RESPONSE,
            refusals=(404,),
        )
    },
}
"""Below the mount; the first path that matches counts."""

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


def answer(
    request: webob.Request,
    path: str,
    services: Callable[[], bootstrap.Services],
) -> webob.Response:
    """Answer a request to what is below the mount.

    :param path: what follows the mount, without the query.
    """
    try:
        _check_version(request)
    except webob.exc.HTTPException as error:
        return faults.response(error, None)
    try:
        response = _answer(request, path, services)
    # The shape of an error is part of the API, even of one that is a bug.
    except Exception as error:
        response = faults.response(
            error, request.environ['nova.context'].request_id
        )
    response.headers['OpenStack-API-Version'] = f'reservation {VERSION}'
    response.headers['Vary'] = 'OpenStack-API-Version'
    return response


def _answer(
    request: webob.Request,
    path: str,
    services: Callable[[], bootstrap.Services],
) -> webob.Response:
    action, names = _find(request.method, path or '/')
    if action.query is not None:
        names['query'] = validation.parse_query(request.query_string)
        action.query.check(names['query'])
    else:
        _NO_QUERY.check(validation.parse_query(request.query_string))
    if action.body is not None:
        names['body'] = validation.parse_json(_body(request))
        action.body.check(names['body'])
    result = action.run(
        api_request.LeaseRequest(request, path, services), **names
    )
    if result is None:
        return webob.Response(status=action.status, content_type=None)
    if isinstance(result, listing.Listing):
        return listing.response(action.status, result)
    return _json(action.status, result)


def _check_version(request: webob.Request) -> None:
    asked = microversion_parse.get_version(request.headers, 'reservation')
    if asked in (None, 'latest'):
        return
    if not re.fullmatch('[0-9]+[.][0-9]+', asked):
        raise webob.exc.HTTPBadRequest(
            f'API Version String {asked} is of invalid format. Must be of '
            'format MajorNum.MinorNum.'
        )
    if asked != VERSION:
        raise webob.exc.HTTPNotAcceptable(
            f'Version {asked} is not supported by the API. Minimum is '
            f'{VERSION} and maximum is {VERSION}.'
        )


def _find(method: str, path: str) -> tuple[Action, dict[str, Any]]:
    """Return the action, and what the path names."""
    for pattern, actions in _PATTERNS:
        if match := pattern.fullmatch(path):
            if method not in actions:
                raise webob.exc.HTTPMethodNotAllowed(
                    f'{method} is not allowed here',
                    headers={'Allow': ', '.join(actions)},
                )
            return actions[method], match.groupdict()
    raise webob.exc.HTTPNotFound('There is no such resource')


def _body(request: webob.Request) -> bytes:
    if request.content_type not in ('', 'application/json'):
        raise webob.exc.HTTPBadRequest(
            f"Content type '{request.content_type}' isn't supported"
        )
    # The length need not be told, and what is told need not be true.
    body: bytes = b''
    if (request.content_length or 0) <= MAX_BODY_BYTES:
        body = request.body_file.read(MAX_BODY_BYTES + 1)
        if len(body) <= MAX_BODY_BYTES:
            return body
    raise webob.exc.HTTPRequestEntityTooLarge(
        f'The body is larger than {MAX_BODY_BYTES} bytes'
    )


def _json(status: int, body: Mapping[str, Any]) -> webob.Response:
    return webob.Response(
        status=status,
        content_type='application/json',
        charset='UTF-8',
        text=json.dumps(body),
    )
