# SPDX-License-Identifier: Apache-2.0
"""HTTP answers for refusals; only this module knows their status codes."""

from collections.abc import Mapping
from typing import Any

from nova import exception as nova_exception
from nova.api.openstack import wsgi
from oslo_log import log as logging
import webob
import webob.exc

from nova_reservations import exception
from nova_reservations.api import dates
from nova_reservations.api import responses

LOG = logging.getLogger(__name__)

RETRY_AFTER_SECONDS = 5

STATUS: Mapping[type[Exception], int] = {
    exception.InvalidInput: 400,
    nova_exception.PolicyNotAuthorized: 403,
    exception.OverLimit: 403,
    exception.NotFound: 404,
    exception.InvalidState: 409,
    exception.NotEnoughResources: 409,
    exception.HostInUse: 409,
    exception.AlreadyEnrolled: 409,
    exception.ResourceInUse: 409,
    exception.ResourceExists: 409,
    exception.AmbiguousHost: 409,
    exception.Conflict: 409,
    exception.CloudRefused: 409,
    exception.RequestUnderWay: 409,
    exception.KeyReused: 422,
    exception.ClocksDisagree: 503,
    exception.Contended: 503,
    exception.DatabaseUnavailable: 503,
    exception.CloudUnavailable: 503,
    exception.CloudSlow: 503,
    exception.CellUnavailable: 503,
    exception.LimitsUnknown: 503,
}
"""Exception -> status; subclasses have the status of their base class."""


def status(error: Exception) -> int:
    """Return the status of an error; 500 for errors that are bugs."""
    for cause in type(error).__mro__:
        if cause in STATUS:
            return STATUS[cause]
    return 500


def response(error: Exception, request_id: str | None) -> webob.Response:
    """Return the answer in the format of the lease API."""
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
    code = status(error)
    if code == 500:
        LOG.error('Unexpected error of the lease API', exc_info=error)
        return _json(
            code,
            {},
            {
                'error_code': code,
                'error_name': 'INTERNAL_SERVER_ERROR',
                'error_message': f'Internal Server Error ({request_id})',
            },
        )
    return _json(
        code,
        _headers(code),
        {
            'error_code': code,
            'error_name': code,
            'error_message': _said(error),
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
    code = status(error)
    fault = webob.exc.status_map[code](explanation=_said(error))
    fault.headers.update(_headers(code))
    return wsgi.Fault(fault)


def _said(error: Exception) -> str:
    """Return the message for the user; log the cause for the operator."""
    if status(error) == 503:
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
