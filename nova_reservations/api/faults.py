# SPDX-License-Identifier: Apache-2.0
"""HTTP answers for refusals, in the formats of Blazar and of Nova."""

from collections.abc import Mapping
from typing import Any

from nova import exception as nova_exception
from nova.api.openstack import wsgi
import nova.conf
from oslo_log import log as logging
import webob
import webob.exc

from nova_reservations import exception
from nova_reservations.api import cases
from nova_reservations.api import dates
from nova_reservations.api import responses

LOG = logging.getLogger(__name__)

RETRY_AFTER_SECONDS = 5


def response(
    error: Exception, request_id: str | None, asks: bool = False
) -> webob.Response:
    """Return the answer in the format of the lease API.

    :param asks: whether the request asks for a lease, or changes one
    """
    if isinstance(error, webob.exc.HTTPException):
        # The request itself is wrong: its URL, method or size.
        return _json(
            error.status_int,
            error.headers,
            {
                'error': error.status_int,
                'error_message': error.detail or error.explanation,
            },
        )
    case = cases.of(error)
    if case is cases.DEFECT:
        LOG.error('Unexpected error of the lease API', exc_info=error)
        return _json(
            case.status,
            {},
            {
                'error_code': case.status,
                'error_name': 'INTERNAL_SERVER_ERROR',
                'error_message': f'Internal Server Error ({request_id})',
            },
        )
    code = cases.where_asked(case, nova.conf.CONF) if asks else case.status
    return _json(
        code,
        _headers(code),
        {
            'error_code': code,
            'error_name': code,
            'error_kind': case.kind,
            'error_message': _said(error, code),
            **_times(error),
        },
    )


def _times(error: Exception) -> dict[str, str]:
    """Return dates with which the request would be accepted, if known."""
    if not isinstance(error, exception.NotEnoughResources):
        return {}
    return {
        key: dates.show(error.values[key])
        for key in ('earliest_start', 'latest_end')
        if key in error.values
    }


def nova_fault(
    error: exception.ReservationsError | nova_exception.PolicyNotAuthorized,
) -> wsgi.Fault:
    """Return the answer in the format of Nova's API."""
    code = cases.of(error).status
    fault = webob.exc.status_map[code](explanation=_said(error, code))
    fault.headers.update(_headers(code))
    return wsgi.Fault(fault)


def _said(error: Exception, code: int) -> str:
    """Return the message for the user; log the cause for the operator."""
    if code == 503:
        LOG.error('A request was refused: %s', error)
    if isinstance(error, exception.ReservationsError):
        return error.public
    return str(error)


def _headers(code: int) -> dict[str, str]:
    return {'Retry-After': str(RETRY_AFTER_SECONDS)} if code == 503 else {}


def _json(
    code: int, headers: Mapping[str, str], body: Mapping[str, Any]
) -> webob.Response:
    answer = responses.respond(code, body)
    for name in ('Allow', 'Retry-After'):
        if name in headers:
            answer.headers[name] = headers[name]
    return answer
