# SPDX-License-Identifier: Apache-2.0
"""Claims of servers in placement, looked at after they are made.

Placement lets anybody claim any provider: only the filters of nova-scheduler
know the request, and they look before the claim. The engine closes a host by a
write (the trait, or the removal from an aggregate), and then looks for claims.
nova-scheduler and nova-conductor write a claim, and then look here. So one of
the two always sees the other.

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
from nova_reservations.cloud import placement

LOG = log.getLogger(__name__)

_MARK = '_NOVA_RESERVATIONS'

Claimed = Mapping[str, Mapping[str, Any]]
"""UUID of a provider -> what is claimed of it, as Nova has it from
placement: its key ``resources`` maps classes to amounts."""


def refusal(claimed: Claimed, reservation_id: str | None) -> str | None:
    """Return why a claim can't stand; None if it can.

    Slots of a reservation are inventories of its own: placement has judged.
    Of the pool's hosts a server may claim those in the aggregate of its
    reservation. Which servers may leave it is not known here: the filters of
    nova-scheduler let them, and any other host is nobody's.

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
    """Return the reservation that a request asks for; None: for none."""
    found = request_spec.get_scheduler_hint(objects.HINT)
    return found if objects.is_id(found) else None


def named(allocation_request: str, reservation_id: str) -> str:
    """Return what placement is to be asked for, as Nova stores it, with the
    reservation for which nova-scheduler has chosen the host.

    As one more of the mappings, which placement takes and does not look at:
    Nova looks its own groups up by their names.
    """
    asked = jsonutils.loads(allocation_request)
    mapping = {_MARK: [reservation_id]}
    return str(
        jsonutils.dumps(
            {**asked, 'mappings': asked.get('mappings', {}) | mapping}
        )
    )


def name(allocation_request: Mapping[str, Any]) -> str | None:
    """Return the reservation for which nova-scheduler has chosen the host,
    where the server has not asked for it."""
    found = allocation_request.get('mappings', {}).get(_MARK)
    return str(found[0]) if found else None


def stands(
    server: str, claimed: Claimed, judge: Callable[[], str | None]
) -> bool:
    """Return whether the claim of a server stands; undo it if not, or if
    that can't be found out.

    :param judge: returns why it can't
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

    A new server held nothing, nor does one that is migrated: its migration
    holds it. One that is evacuated holds its old host beside the new one, and
    of what hosts share as much as before.

    :raises: AllocationUpdateFailed, as Nova does where a server holds what it
        should not: nothing is built then
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
