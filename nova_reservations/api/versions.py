# SPDX-License-Identifier: Apache-2.0
"""The versions of the lease API, for everybody who has a token."""

import re
from typing import Any

import microversion_parse
import webob
import webob.exc

from nova_reservations.api.action import served
from nova_reservations.api.request import LeaseRequest
from nova_reservations.api.schemas import versions as schemas

VERSION = '1.0'
_SERVICE = 'reservation'


def check(request: webob.Request) -> None:
    """Check that the request asks for an existing version, or for none.

    :raises: webob.exc.HTTPBadRequest, webob.exc.HTTPNotAcceptable
    """
    asked = microversion_parse.get_version(request.headers, _SERVICE)
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


def tell(response: webob.Response) -> None:
    """Put the version into the headers of an answer."""
    response.headers['OpenStack-API-Version'] = f'{_SERVICE} {VERSION}'
    response.headers['Vary'] = 'OpenStack-API-Version'


@served(300, response=schemas.INDEX_RESPONSE)
def index(req: LeaseRequest) -> dict[str, Any]:
    """List the versions of the API."""
    return {'versions': [_version(req)]}


@served(response=schemas.SHOW_RESPONSE)
def show(req: LeaseRequest) -> dict[str, Any]:
    """Show the version of the API."""
    return {'version': _version(req)}


def _version(req: LeaseRequest) -> dict[str, Any]:
    mount = req.mount.removesuffix('/v1')
    return {
        'id': f'v{VERSION}',
        'status': 'CURRENT',
        'min_version': VERSION,
        'max_version': VERSION,
        'links': [{'rel': 'self', 'href': f'{mount}/v1'}],
    }
