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
    """

    reservation_id: str | None
    hosts: frozenset[str]

    def admits(self, host: str) -> bool:
        return (host in self.hosts) == (self.reservation_id is not None)


class ReservedHosts:
    """One of Nova's request filters."""

    def __init__(self, services: bootstrap.Services) -> None:
        self._leases = services.leases
        self._pool = pool.Pool(services.database)
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
        hint = request_spec.get_scheduler_hint(HINT)
        if hint is not None:
            try:
                access = self._access(hint, request_spec.project_id)
            except nova_exception.RequestFilterFailed as refusal:
                if not exists(request_spec):
                    raise
                # Servers outlive their leases, and must still be moved.
                LOG.info(
                    'Server %(server)s is moved as one without reservation: '
                    '%(reason)s',
                    {'server': request_spec.instance_uuid, 'reason': refusal},
                )
            else:
                return Admission(access.reservation_id, access.hosts)
        return Admission(None, self._pool.hosts())

    def _access(self, hint: Any, project_id: str) -> values.Access:
        """:raises: RequestFilterFailed if the project may not use it now"""
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
        if access.resource_type != values.HOST:
            raise _refusal(
                f'Reservation {hint} is of {access.resource_type}, on which '
                'no server can land.'
            )
        return access

    def _ensure_trait(self) -> None:
        """Make placement know the trait, once in the life of the process: an
        unknown one would fail every request."""
        if not self._trait_is_known:
            placement.ensure_trait()
            self._trait_is_known = True


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
