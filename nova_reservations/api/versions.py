# SPDX-License-Identifier: Apache-2.0
"""Which versions of the lease API there are, for whoever has a token."""

from typing import Any

from nova_reservations.api import request as api_request

VERSION = '1.0'


def index(req: api_request.LeaseRequest) -> dict[str, Any]:
    """List the versions of the API."""
    return {'versions': [_version(req)]}


def show(req: api_request.LeaseRequest) -> dict[str, Any]:
    """Show the version of the API."""
    return {'version': _version(req)}


def _version(req: api_request.LeaseRequest) -> dict[str, Any]:
    mount = req.mount.removesuffix('/v1')
    return {
        'id': f'v{VERSION}',
        'status': 'CURRENT',
        'min_version': VERSION,
        'max_version': VERSION,
        'links': [{'rel': 'self', 'href': f'{mount}/v1'}],
    }
