# SPDX-License-Identifier: Apache-2.0
"""The last check of a request: after its claim, before Nova relies on it.

Between the host filter's check and the claim, nova-scheduler may be suspended
or wait for placement, for longer than the end of a lease waits for late
claims. So each claim is checked again, and undone if the end of a lease or the
enrolment of a host could not see it. If the lease is still active, its end
began after the claim, and will see it.

Decision 0007: doc/source/decisions/0007-an-end-settles
"""

# Nova's objects get their names only when the process registers them.
from __future__ import annotations

from collections.abc import Callable
from typing import Any
import weakref

from nova import exception as nova_exception
from nova import objects
from nova.scheduler import utils
import wrapt

from nova_reservations import exception
from nova_reservations import hooks
from nova_reservations.cloud.placement import claims
from nova_reservations.scheduler import request_filter
from nova_reservations.scheduler import requests

_refused: weakref.WeakSet[objects.RequestSpec] = weakref.WeakSet()
"""Requests that may land nowhere: Nova would try each of their hosts, and each
time claim it and have that undone."""


def install() -> None:
    """Look after each claim; once per process."""
    wrapt.wrap_function_wrapper(utils, 'claim_resources', _claim)


def _claim(
    wrapped: Callable[..., bool], _: Any, args: Any, kwargs: Any
) -> bool:
    claim = hooks.arguments(wrapped, args, kwargs)
    reserved_hosts = request_filter.installed()
    if reserved_hosts is None or utils.request_is_rebuild(claim['spec_obj']):
        # A rebuild claims nothing.
        return wrapped(*args, **kwargs)
    if claim['spec_obj'] in _refused:
        return False
    if not wrapped(*args, **kwargs):
        return False
    claimed = claim['alloc_req']['allocations']
    server = claim['instance_uuid']
    return claims.stands(
        server,
        claimed,
        lambda: _refusal(reserved_hosts, claim['spec_obj'], server, claimed),
    )


def _refusal(
    reserved_hosts: request_filter.ReservedHosts,
    request_spec: objects.RequestSpec,
    server: str,
    claimed: claims.Claimed,
) -> str | None:
    """Return why the request may not land where it has claimed; None if it
    may.

    :raises: CloudUnavailable
    """
    try:
        admission = reserved_hosts.confirm(request_spec, server)
    except (
        nova_exception.RequestFilterFailed,
        exception.ReservationsError,
    ) as error:
        if isinstance(error, exception.ReservationsError) and requests.exists(
            request_spec
        ):
            # A move must not depend on our database: placement's facts about
            # the new host are enough.
            return claims.refusal(claimed, claims.hint(request_spec))
        _refused.add(request_spec)
        return str(error)
    if not admission.hosts:
        # Nobody has enrolled any host.
        return None
    return claims.refusal(claimed, admission.reservation_id)
