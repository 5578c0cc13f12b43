# SPDX-License-Identifier: Apache-2.0
"""The body of a request to the lease API, on the level of HTTP."""

import webob
import webob.exc

MAX_BYTES = 64 * 1024


def read(request: webob.Request) -> bytes:
    """Return the body of a request.

    :raises: webob.exc.HTTPBadRequest if it is of another type than JSON
    :raises: webob.exc.HTTPRequestEntityTooLarge if it is too long
    """
    if request.content_type not in ('', 'application/json'):
        raise webob.exc.HTTPBadRequest(
            f"Content type '{request.content_type}' isn't supported"
        )
    # Content-Length may be missing, and it may be wrong.
    body: bytes = b''
    if (request.content_length or 0) <= MAX_BYTES:
        body = request.body_file.read(MAX_BYTES + 1)
        if len(body) <= MAX_BYTES:
            return body
    raise webob.exc.HTTPRequestEntityTooLarge(
        f'The body is larger than {MAX_BYTES} bytes'
    )
