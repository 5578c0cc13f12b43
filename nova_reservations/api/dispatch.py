# SPDX-License-Identifier: Apache-2.0
"""Dispatch of a request to the lease API to its action."""

from collections.abc import Callable
from typing import Any

import webob
import webob.exc

from nova_reservations.api import body
from nova_reservations.api import faults
from nova_reservations.api import listing
from nova_reservations.api import responses
from nova_reservations.api import routes
from nova_reservations.api import validation
from nova_reservations.api import versions
from nova_reservations.api.action import Action
from nova_reservations.api.request import LeaseRequest
from nova_reservations.api.schemas import parameters
from nova_reservations.engine import assembly

_NO_QUERY = validation.Schema({'maxProperties': 0})


def answer(
    request: webob.Request,
    project_id: str | None,
    path: str,
    services: Callable[[], assembly.Services],
) -> webob.Response:
    """Answer a request to a path below the mount.

    :param project_id: the project in the URL, if it has one
    :param path: the part of the path after the mount
    """
    try:
        _check_project(request, project_id)
        versions.check(request)
    except webob.exc.HTTPException as error:
        return faults.response(error, None)
    action = None
    try:
        action, names = routes.find(request.method, path or '/')
        response = _run(action, names, LeaseRequest(request, path, services))
    # The format of errors is part of the API, even for unexpected ones.
    except Exception as error:
        response = faults.response(
            error,
            request.environ['nova.context'].request_id,
            asks=action is not None and action.asks,
        )
    versions.tell(response)
    return response


def _check_project(request: webob.Request, project_id: str | None) -> None:
    own = request.environ['nova.context'].project_id
    if project_id not in (None, own):
        raise webob.exc.HTTPBadRequest(
            f"Malformed request URL: URL's project_id '{project_id}' "
            f"doesn't match Context's project_id '{own}'"
        )


def _run(
    action: Action, names: dict[str, Any], req: LeaseRequest
) -> webob.Response:
    """Run the action, with the values in the path.

    :raises: whatever it is refused with
    """
    result = action.run(req, **names, **_checked(req.request, action))
    if result is None:
        return webob.Response(status=action.status, content_type=None)
    if isinstance(result, listing.Listing):
        return listing.response(action.status, result)
    return responses.respond(action.status, result)


def _checked(request: webob.Request, action: Action) -> dict[str, Any]:
    """Return the query, the headers and the body, as far as the action takes
    them, after checking them.

    :raises: InvalidInput, and the errors of body.read()
    """
    parsed: dict[str, Any] = {}
    schema = action.query or _NO_QUERY
    query = validation.parse_query(request.query_string, schema.repeatable)
    query = parameters.meant(query, schema.schema)
    schema.check(query)
    if action.query is not None:
        parsed['query'] = query
    if action.headers is not None:
        parsed['headers'] = {
            name: request.headers[name]
            for name in action.headers.schema['properties']
            if name in request.headers
        }
        action.headers.check(parsed['headers'])
    if action.body is not None:
        parsed['body'] = validation.parse_json(body.read(request))
        action.body.check(parsed['body'])
    return parsed
