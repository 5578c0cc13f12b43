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

from nova import context as nova_context
from nova import exception as nova_exception
from nova import objects as nova_objects
from nova.scheduler import request_filter as nova_request_filter
from nova.scheduler import utils
from oslo_log import log

from nova_reservations import bootstrap
from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.cloud import errors
from nova_reservations.cloud import placement
from nova_reservations.engine import server_leases
from nova_reservations.objects import demand
from nova_reservations.objects import states
from nova_reservations.scheduler import open_reservations
from nova_reservations.scheduler import pool
from nova_reservations.scheduler.consumers import base as consumers

LOG = log.getLogger(__name__)

HINT = objects.HINT
CARRIED = 'lease_params'
"""The hint of servers that carry their own lease; our part of the API has put
the id of the reservation in its place."""


@dataclasses.dataclass(frozen=True, slots=True)
class Admission:
    """Where a request may land.

    :ivar reservation_id: on the reservation's hosts only; None: on no host
        of the pool.
    :ivar in_slot: whether it takes a slot of the reservation.
    :ivar has_open: whether there may be a reservation that it can use
        without asking for it.
    :ivar guaranteed: what the slot holds that its own lease has for it.
    """

    reservation_id: str | None
    hosts: frozenset[str]
    in_slot: bool = False
    has_open: bool = False
    guaranteed: demand.Share | None = None

    def admits(self, host: str) -> bool:
        return (host in self.hosts) == (self.reservation_id is not None)


@dataclasses.dataclass(frozen=True, slots=True)
class _Asked:
    """:ivar in_slot: by its flavor, which takes a slot; else by a hint."""

    reservation: Any
    in_slot: bool


class ReservedHosts:
    """One of Nova's request filters.

    :ivar services: what all of this process uses: made before it forks, and
        opened after that, by each worker for itself.
    """

    def __init__(self, services: bootstrap.Services) -> None:
        self.services = services
        self._open_slots = open_reservations.OpenSlots(services)
        self._pool = pool.Pool(services.database)
        self._now = services.database.now
        self._trait_is_known = False

    def __call__(
        self,
        context: nova_context.RequestContext,
        request_spec: nova_objects.RequestSpec,
    ) -> bool:
        """Restrict the request; Nova may pass the same one twice.

        :raises: RequestFilterFailed if it may land nowhere, or if what
            decides that can't be reached
        """
        try:
            admission = self.resolve(request_spec)
            if admission.guaranteed is not None:
                _send(request_spec, admission)
            if admission.has_open and self._open_slots.send(
                request_spec, exists
            ):
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

    def resolve(self, request_spec: nova_objects.RequestSpec) -> Admission:
        """Return where the request may land, as the database is now.

        A server that has a right to its reservation stays in it, also while
        there is no host.

        :raises: RequestFilterFailed, NotEnoughResources,
            DatabaseUnavailable, CloudUnavailable
        """
        try:
            place = self._place(request_spec)
            if place is not None:
                return place
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
        view = self._pool.view(request_spec.project_id)
        return Admission(
            None,
            view.hosts,
            # One with its own lease would end with another.
            has_open=view.has_open
            and request_spec.get_scheduler_hint(CARRIED) is None,
        )

    def confirm(
        self, request_spec: nova_objects.RequestSpec, server: str
    ) -> Admission:
        """Return where the request may land now, and remember in which
        reservation's slot a new server is.

        :raises: RequestFilterFailed, NotEnoughResources,
            DatabaseUnavailable, CloudUnavailable, Contended
        """
        admission = self.resolve(request_spec)
        if (
            admission.reservation_id is not None
            and admission.in_slot
            and not exists(request_spec)
        ):
            run = open_reservations.run()
            chosen = run is not None and run.is_sent
            self.services.access.record_server(
                server, admission.reservation_id, self._now(), chosen
            )
            if run is not None and chosen:
                run.recorded.append(server)
        return admission

    def _place(
        self, request_spec: nova_objects.RequestSpec
    ) -> Admission | None:
        """Return where the server's own lease has it; None: it has none, or
        leaves it to run where there is room.

        That of a new server must stand: it may have been given up while
        nova-api was making the server.

        :raises: RequestFilterFailed if it does not
        :raises: NotEnoughResources if there is no host at this moment
        """
        carried = request_spec.get_scheduler_hint(CARRIED)
        if carried is None:
            return None
        access = None
        if objects.is_id(carried):
            access = self.services.access.find(carried)
        if access is None or access.project_id != request_spec.project_id:
            refusal = f'The hint {CARRIED} is of no lease.'
        elif access.status not in server_leases.CARRYING:
            refusal = (
                f'Lease {access.lease_id} of the server is {access.status}.'
            )
        else:
            return self._place_of(access, request_spec)
        if exists(request_spec):
            return None
        raise _refusal(refusal)

    def _place_of(
        self, access: objects.Access, request_spec: nova_objects.RequestSpec
    ) -> Admission | None:
        """Return where a lease that stands has its server."""
        share = self.services.access.share(access)
        if share is None or not _is_in_place(access, request_spec):
            return None
        if not access.hosts:
            raise exception.NotEnoughResources(
                reason=f'those of reservation {access.reservation_id} have '
                'failed, or are not free yet'
            )
        return Admission(access.reservation_id, access.hosts, guaranteed=share)

    def _access(self, asked: _Asked, project_id: str) -> objects.Access:
        """:raises: RequestFilterFailed if the project may not use it now
        :raises: NotEnoughResources if it may, and there is no host
        """
        if not objects.is_id(asked.reservation):
            raise _refusal(
                f'{asked.reservation!r} is not the id of one reservation.'
            )
        try:
            return self.services.access.admit(
                asked.reservation, project_id, in_slot=asked.in_slot
            )
        except (
            exception.InvalidInput,
            exception.InvalidState,
            exception.NotFound,
        ) as error:
            raise _refusal(error.public) from error

    def _ensure_trait(self) -> None:
        """Make placement know the trait, once in the life of the process: an
        unknown one would fail every request."""
        if not self._trait_is_known:
            placement.ensure_trait()
            self._trait_is_known = True


def install(services: bootstrap.Services) -> ReservedHosts:
    """Have Nova ask us about each request, in place of any that it has asked
    before."""
    ours = ReservedHosts(services)
    request_filters = nova_request_filter.ALL_REQUEST_FILTERS
    request_filters[:] = [
        known
        for known in request_filters
        if not isinstance(known, ReservedHosts)
    ] + [ours]
    return ours


def installed() -> ReservedHosts | None:
    """Return what Nova asks; None where no ReservationFilter is enabled."""
    for known in nova_request_filter.ALL_REQUEST_FILTERS:
        if isinstance(known, ReservedHosts):
            return known
    return None


def _is_in_place(
    access: objects.Access, request_spec: nova_objects.RequestSpec
) -> bool:
    """Whether the time of a server's own lease has come, for what is made or
    moved.

    One for later is made beside the pool, also where that takes until its
    start: then it is brought in.
    """
    return access.lease_type == states.LeaseType.IMMEDIATE or (
        access.status in (states.Lease.STARTING, states.Lease.ACTIVE)
        and exists(request_spec)
    )


def _send(
    request_spec: nova_objects.RequestSpec, admission: Admission
) -> None:
    """Have the request ask for the slot that its server was guaranteed.

    :raises: RequestFilterFailed if it does not fit in there
    """
    assert admission.reservation_id is not None
    assert admission.guaranteed is not None
    asked = open_reservations.amounts(request_spec)
    # It may ask already: Nova passes some requests twice.
    asked.pop(objects.slot_class(admission.reservation_id), None)
    if not admission.guaranteed.holds(asked):
        raise _refusal(
            'The server asks for more than its lease has guaranteed it.'
        )
    open_reservations.ask_for_slot(request_spec, admission.reservation_id)


def _asked(request_spec: nova_objects.RequestSpec) -> _Asked:
    """Return the reservation that is asked for, by hint or by flavor.

    Not only by the flavor's id: whoever makes flavors can give another one
    the extra spec that takes a slot.

    :raises: RequestFilterFailed if there are two
    """
    hint = request_spec.get_scheduler_hint(HINT)
    found = slots_asked(request_spec.flavor)
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


def slots_asked(flavor: nova_objects.Flavor) -> set[str]:
    """Return the reservations of which a server of the flavor takes slots."""
    request = utils.ResourceRequest
    asked = map(request.XS_KEYPAT.match, consumers.extra_specs(flavor))
    found = {
        objects.slots_of(match[3])
        for match in asked
        if match and match[1] == request.XS_RES_PREFIX
    }
    return {reservation_id for reservation_id in found if reservation_id}


def _refusal(reason: str) -> nova_exception.RequestFilterFailed:
    return nova_exception.RequestFilterFailed(reason=reason)


@errors.translated()
def exists(request_spec: nova_objects.RequestSpec) -> bool:
    """Whether the server is in a cell already, and so is moved, not made."""
    try:
        mapping = nova_objects.InstanceMapping.get_by_instance_uuid(
            nova_context.get_admin_context(), request_spec.instance_uuid
        )
    except nova_exception.InstanceMappingNotFound:
        return False
    return mapping.cell_mapping is not None


def _require(
    request_spec: nova_objects.RequestSpec, reservation_id: str
) -> None:
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
        request_spec.requested_destination = nova_objects.Destination()
    destination = request_spec.requested_destination
    if reservation_id not in (destination.aggregates or ()):
        destination.require_aggregates([reservation_id])
