# SPDX-License-Identifier: Apache-2.0
"""Checks of servers' claims in placement, after the claims were made.

Placement lets anybody claim any provider. Only the filters of nova-scheduler
know the request, and they run before the claim. The engine closes a host by a
write (the trait, or the removal from an aggregate), and then looks for claims.
nova-scheduler and nova-conductor write a claim, and then check it here. So one
of the two always sees the other's write.

Decision 0021: doc/source/decisions/0021-write-first-look-second
"""

# Nova's objects get their names only when the process registers them.
from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
from typing import Any

from nova import exception as nova_exception
from nova import objects as nova_objects
from oslo_log import log
from oslo_serialization import jsonutils

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.cloud.placement import placement

LOG = log.getLogger(__name__)

_MARK = '_NOVA_RESERVATIONS'

Claimed = Mapping[str, Mapping[str, Any]]
"""UUID of a provider -> the claim on it, in the format of placement: its key
``resources`` maps classes to amounts."""


def refusal(claimed: Claimed, reservation_id: str | None) -> str | None:
    """Return why a claim can't stand; None if it can.

    A claim of a slot always stands, because placement itself has checked it:
    a reservation has a resource class of its own. Otherwise a server may
    claim only those of the pool's hosts that are in the aggregate of its
    reservation. Hosts outside of the pool are not checked: the filters of
    nova-scheduler decide which servers of a reservation may use them.

    :raises: CloudUnavailable
    """
    if any(
        objects.slots_of(resource_class)
        for allocation in claimed.values()
        for resource_class in allocation['resources']
    ):
        return None
    pooled = [
        root
        for root in placement.roots(claimed)
        if placement.POOL_TRAIT in placement.traits(root)
    ]
    if not pooled:
        return None
    if reservation_id is None:
        return 'its host is for servers of reservations only'
    if any(reservation_id in placement.aggregates(root) for root in pooled):
        return None
    return f'its host is not of reservation {reservation_id}'


def hint(request_spec: nova_objects.RequestSpec) -> str | None:
    """Return the reservation that a request asks for; None: there is none."""
    found = request_spec.get_scheduler_hint(objects.HINT)
    return found if objects.is_id(found) else None


def named(allocation_request: str, reservation_id: str) -> str:
    """Return an allocation request, as Nova stores it, with the reservation
    for which nova-scheduler has chosen the host.

    The reservation is added as one more of the ``mappings``. Placement accepts
    and ignores it, and Nova reads only its own groups by their names.
    """
    asked = jsonutils.loads(allocation_request)
    mapping = {_MARK: [reservation_id]}
    return str(
        jsonutils.dumps(
            {**asked, 'mappings': asked.get('mappings', {}) | mapping}
        )
    )


def name(allocation_request: Mapping[str, Any]) -> str | None:
    """Return the reservation that ``named()`` has put into an allocation
    request; None: there is none."""
    found = allocation_request.get('mappings', {}).get(_MARK)
    return str(found[0]) if found else None


def stands(
    server: str, claimed: Claimed, judge: Callable[[], str | None]
) -> bool:
    """Return whether the claim of a server stands. Undo the claim if it does
    not, or if that is not known.

    :param judge: returns why the claim can't stand, or None
    :raises: what judge raises, after the claim is undone
    :raises: AllocationUpdateFailed
    """
    try:
        reason = judge()
    except exception.CloudUnavailable as error:
        reason = str(error)
    except Exception:
        undo(server, claimed)
        raise
    if reason is None:
        return True
    LOG.warning(
        'The claim of server %(server)s is undone: %(reason)s',
        {'server': server, 'reason': reason},
    )
    undo(server, claimed)
    return False


def undo(server: str, claimed: Claimed) -> None:
    """Reduce the server's allocations to those that it had before the claim.

    A new server had none. A migrated server had none either, because its
    migration holds the allocations of the old host. An evacuated server still
    has the allocations of its old host, and those of shared providers.

    :raises: AllocationUpdateFailed, which makes Nova build nothing, as it does
        itself where a server holds what it should not
    """

    def is_kept(provider: str, held: Collection[str]) -> bool:
        if provider not in claimed:
            return True
        return bool(
            set(held) - claimed.keys()
        ) and placement.SHARING in placement.traits(provider)

    try:
        placement.keep_allocations(server, is_kept)
    except exception.CloudUnavailable as error:
        LOG.error(
            'The claim of server %(server)s can not be undone: %(reason)s',
            {'server': server, 'reason': error},
        )
        raise nova_exception.AllocationUpdateFailed(
            consumer_uuid=server, error=str(error)
        ) from error
