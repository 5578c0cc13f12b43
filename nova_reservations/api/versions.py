# SPDX-License-Identifier: Apache-2.0
"""Which versions of the lease API there are, for whoever has a token."""

from typing import Any

from nova_reservations.api import request as api_call

VERSION = '1.0'


def index(call: api_call.Call) -> dict[str, Any]:
    """List the versions of the API."""
    return {'versions': [_version(call)]}


def show(call: api_call.Call) -> dict[str, Any]:
    """Show the version of the API."""
    return {'version': _version(call)}


def _version(call: api_call.Call) -> dict[str, Any]:
    mount = call.mount.removesuffix('/v1')
    return {
        'id': f'v{VERSION}',
        'status': 'CURRENT',
        'min_version': VERSION,
        'max_version': VERSION,
        'links': [{'rel': 'self', 'href': f'{mount}/v1'}],
    }
