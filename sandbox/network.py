# SPDX-License-Identifier: Apache-2.0
"""A network API without any network, for Nova to ask.

Servers that are created with ``networks: none`` only need answers that there
is nothing for them.
"""

from collections.abc import Iterable
import json
from wsgiref.types import StartResponse
from wsgiref.types import WSGIEnvironment


def application(
    environ: WSGIEnvironment, start_response: StartResponse
) -> Iterable[bytes]:
    """Answer every list of the networking API v2.0 with an empty one."""
    _version, _, path = environ['PATH_INFO'].strip('/').partition('/')
    if not path:
        status, document = '200 OK', _versions(environ['HTTP_HOST'])
    elif environ['REQUEST_METHOD'] == 'GET' and '/' not in path:
        status, document = '200 OK', {path.replace('-', '_'): []}
    else:
        status, document = '404 Not Found', {}
    start_response(status, [('Content-Type', 'application/json')])
    return [json.dumps(document).encode()]


def _versions(host: str) -> dict[str, list[object]]:
    return {
        'versions': [
            {
                'id': 'v2.0',
                'status': 'CURRENT',
                'links': [{'rel': 'self', 'href': f'http://{host}/v2.0'}],
            }
        ]
    }
