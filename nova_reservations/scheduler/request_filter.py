# SPDX-License-Identifier: Apache-2.0
"""Where a request may land: put into its query to placement.

A request without a reservation forbids the trait that every enrolled host
has. One with a reservation requires the reservation's aggregate, after a
look into our database at who may use it, and when. Administrators get no
pass: what counts is whose server it is.
"""

# Nova's objects get their names only when the process registers them.
from __future__ import annotations

import dataclasses
from typing import Any
import uuid

from nova import context as nova_context
from nova import exception as nova_exception
from nova import objects
from nova.scheduler import utils
from oslo_log import log

from nova_reservations import bootstrap
from nova_reservations import exception
from nova_reservations import states
from nova_reservations import values
from nova_reservations.cloud import failures
from nova_reservations.cloud import placement
from nova_reservations.scheduler import pool

LOG = log.getLogger(__name__)

HINT = 'reservation'


@dataclasses.dataclass(frozen=True, slots=True)
class Admission:
    """Where a request may land.

    :ivar reservation_id: on the reservation's hosts only; None: on no host
        of the pool.
    :ivar in_slot: whether it takes a slot of the reservation.
    """

    reservation_id: str | None
    hosts: frozenset[str]
    in_slot: bool = False

    def admits(self, host: str) -> bool:
        return (host in self.hosts) == (self.reservation_id is not None)


@dataclasses.dataclass(frozen=True, slots=True)
class _Asked:
    """:ivar in_slot: by its flavor, which takes a slot; else by a hint."""

    reservation: Any
    in_slot: bool


class ReservedHosts:
    """One of Nova's request filters."""

    def __init__(self, services: bootstrap.Services) -> None:
        self._leases = services.leases
        self._pool = pool.Pool(services.database)
        self._now = services.database.now
        self._trait_is_known = False

    def __call__(
        self,
        context: nova_context.RequestContext,
        request_spec: objects.RequestSpec,
    ) -> bool:
        """Restrict the request; Nova may pass the same one twice.

        :raises: RequestFilterFailed if it may land nowhere, or if what
            decides that can't be reached
        """
        try:
            admission = self.resolve(request_spec)
            if admission.reservation_id is not None:
                _require(request_spec, admission.reservation_id)
            elif admission.hosts:
                self._ensure_trait()
                request_spec.root_forbidden.add(placement.POOL_TRAIT)
        except exception.ReservationsError as error:
            LOG.error('Request refused: %s', error)
            raise _refusal(error.public) from error
        return bool(admission.hosts)

    def resolve(self, request_spec: objects.RequestSpec) -> Admission:
        """Return where the request may land, as the database is now.

        :raises: RequestFilterFailed, DatabaseUnavailable, CloudUnavailable
        """
        try:
            asked = _asked(request_spec)
            if asked.reservation is not None:
                access = self._access(asked, request_spec.project_id)
                return Admission(
                    access.reservation_id, access.hosts, asked.in_slot
                )
        except nova_exception.RequestFilterFailed as refusal:
            if not exists(request_spec):
                raise
            # Servers outlive their leases, and must still be moved. One
            # that has no right to a slot finds none outside of the pool.
            LOG.info(
                'Server %(server)s is moved as one without reservation: '
                '%(reason)s',
                {'server': request_spec.instance_uuid, 'reason': refusal},
            )
        return Admission(None, self._pool.hosts())

    def confirm(self, request_spec: objects.RequestSpec, server: str) -> None:
        """See that the request may still land somewhere, and remember in
        which reservation's slot a new server is.

        :raises: RequestFilterFailed, DatabaseUnavailable, CloudUnavailable,
            Contended
        """
        admission = self.resolve(request_spec)
        if (
            admission.reservation_id is not None
            and admission.in_slot
            and not exists(request_spec)
        ):
            self._leases.record_server(
                server, admission.reservation_id, self._now()
            )

    def _access(self, asked: _Asked, project_id: str) -> values.Access:
        """:raises: RequestFilterFailed if the project may not use it now"""
        hint = asked.reservation
        if not _is_id(hint):
            raise _refusal(f'{hint!r} is not the id of one reservation.')
        access = self._leases.access(hint)
        if access is None or access.project_id != project_id:
            raise _refusal(f'Reservation {hint} could not be found.')
        if access.status != states.Lease.ACTIVE:
            raise _refusal(
                f'Lease {access.lease_id} of reservation {hint} is '
                f'{access.status}.'
            )
        if not access.hosts:
            raise _refusal(
                f'Reservation {hint} is of {access.resource_type}, on which '
                'no server can land.'
            )
        if access.in_slots and not asked.in_slot:
            raise _refusal(
                f'Servers of reservation {hint} must have its flavor, which '
                'has the same id.'
            )
        return access

    def _ensure_trait(self) -> None:
        """Make placement know the trait, once in the life of the process: an
        unknown one would fail every request."""
        if not self._trait_is_known:
            placement.ensure_trait()
            self._trait_is_known = True


def _asked(request_spec: objects.RequestSpec) -> _Asked:
    """Return the reservation that is asked for, by hint or by flavor.

    Not only by the flavor's id: whoever makes flavors can give another one
    the extra spec that takes a slot.

    :raises: RequestFilterFailed if there are two
    """
    hint = request_spec.get_scheduler_hint(HINT)
    flavor = request_spec.flavor
    keys = flavor.extra_specs if 'extra_specs' in flavor else ()
    found = {
        values.slots_of(match[3])
        for match in map(utils.ResourceRequest.XS_KEYPAT.match, keys)
        if match
    } - {None}
    if len(found) > 1 or (
        hint is not None and any(hint != one for one in found)
    ):
        raise _refusal(
            'A server can be in one reservation only: hint and flavor name '
            'several.'
        )
    if found:
        return _Asked(found.pop(), in_slot=True)
    return _Asked(hint, in_slot=False)


def _refusal(reason: str) -> nova_exception.RequestFilterFailed:
    return nova_exception.RequestFilterFailed(reason=reason)


def _is_id(hint: Any) -> bool:
    """Whether it is spelled as ids are: databases may not care, placement
    does."""
    try:
        return isinstance(hint, str) and str(uuid.UUID(hint)) == hint
    except ValueError:
        return False


@failures.translated()
def exists(request_spec: objects.RequestSpec) -> bool:
    """Whether the server is in a cell already, and so is moved, not made."""
    try:
        mapping = objects.InstanceMapping.get_by_instance_uuid(
            nova_context.get_admin_context(), request_spec.instance_uuid
        )
    except nova_exception.InstanceMappingNotFound:
        return False
    return mapping.cell_mapping is not None


def _require(request_spec: objects.RequestSpec, reservation_id: str) -> None:
    # Nova puts member_of on the unsuffixed group of the query only, and
    # placement refuses a group that asks for nothing.
    request = utils.ResourceRequest.from_request_spec(request_spec)
    if not request.get_request_group(None).resources:
        raise _refusal(
            'The flavor asks for all resources in numbered groups, by which '
            'placement can not keep a server in a reservation.'
        )
    if (
        'requested_destination' not in request_spec
        or request_spec.requested_destination is None
    ):
        request_spec.requested_destination = objects.Destination()
    destination = request_spec.requested_destination
    if reservation_id not in (destination.aggregates or ()):
        destination.require_aggregates([reservation_id])
