# SPDX-License-Identifier: Apache-2.0
"""The last look at a request: after its claim, before Nova relies on it.

A nova-scheduler may stand still, or wait for placement, between the host
filter's look and the claim, for longer than any end waits. A claim that an
end could not see is taken back here; one that is found good was made before
the end began, which will see it.
"""

# Nova's objects get their names only when the process registers them.
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nova import context as nova_context
from nova import exception as nova_exception
from nova import objects
from nova.scheduler import utils
from nova.scheduler.client import report
from oslo_log import log
import wrapt

from nova_reservations import exception
from nova_reservations.scheduler import request_filter

LOG = log.getLogger(__name__)


def install() -> None:
    """Look after each claim; once per process."""
    wrapt.wrap_function_wrapper(utils, 'claim_resources', _claim)


def _claim(
    wrapped: Callable[..., bool], _: Any, args: Any, kwargs: Any
) -> bool:
    return wrapped(*args, **kwargs) and _stands(*args[:4])


def _stands(
    context: nova_context.RequestContext,
    client: report.SchedulerReportClient,
    request_spec: objects.RequestSpec,
    server: str,
) -> bool:
    """Whether the request may still land somewhere; take its claim back if
    not.

    Servers that are moved have what they held before in their claim, too:
    they are never refused, also if our database does not answer.
    """
    reserved_hosts = request_filter.installed()
    if reserved_hosts is None:
        return True
    try:
        reserved_hosts.confirm(request_spec, server)
    except nova_exception.RequestFilterFailed as error:
        refusal = str(error)
    except exception.ReservationsError as error:
        if _is_moved(request_spec):
            return True
        refusal = str(error)
    else:
        return True
    LOG.error('The claim of server %s is undone: %s', server, refusal)
    client.delete_allocation_for_instance(context, server, force=True)
    return False


def _is_moved(request_spec: objects.RequestSpec) -> bool:
    try:
        return request_filter.exists(request_spec)
    except exception.CloudUnavailable:
        return True
