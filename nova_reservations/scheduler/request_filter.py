# SPDX-License-Identifier: Apache-2.0
"""The request filter: each request is restricted in its query to placement.

A request without a reservation forbids the trait that every enrolled host
has. One with a reservation requires the reservation's aggregate, after a
look into our database at who may use it, and when.
"""

# Nova's objects get their names only when the process registers them.
from __future__ import annotations

from nova import context as nova_context
from nova import objects as nova_objects
from nova.scheduler import request_filter as nova_request_filter
from oslo_log import log

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.engine import assembly
from nova_reservations.objects import usage
from nova_reservations.scheduler import admission as admissions
from nova_reservations.scheduler import guaranteed
from nova_reservations.scheduler import open_reservations
from nova_reservations.scheduler import placement_query
from nova_reservations.scheduler import requests

LOG = log.getLogger(__name__)


class ReservedHosts:
    """One of Nova's request filters.

    :ivar services: what all of this process uses: made before it forks, and
        opened after that, by each worker for itself.
    """

    def __init__(self, services: assembly.Services) -> None:
        self.services = services
        self._open = open_reservations.OpenReservations(services)
        self.admissions = admissions.Admissions(services)
        self._pool_trait = placement_query.PoolTrait()
        self._now = services.database.now

    def __call__(
        self,
        context: nova_context.RequestContext,
        request_spec: nova_objects.RequestSpec,
    ) -> bool:
        """Restrict the request; Nova may pass the same one twice.

        :raises: RequestFilterFailed if it may land nowhere, or if what
            decides that can't be reached
        """
        requests.bind_no_host(request_spec)
        try:
            admission = self.admissions.resolve(request_spec)
            if admission.guaranteed is not None:
                assert admission.reservation_id is not None
                guaranteed.send(
                    request_spec,
                    admission.reservation_id,
                    admission.guaranteed,
                )
            if admission.has_open and self._open.send(
                request_spec, requests.exists
            ):
                admission = self.admissions.resolve(request_spec)
            if admission.reservation_id is not None:
                placement_query.require_reservation(
                    request_spec, admission.reservation_id
                )
            elif admission.hosts:
                self._pool_trait.forbid(request_spec)
            if admission.cell is not None and not requests.exists(
                request_spec
            ):
                placement_query.require_cell(request_spec, admission.cell)
        except exception.ReservationsError as error:
            LOG.error('Request refused: %s', error)
            raise requests.refusal(error.public) from error
        return bool(admission.hosts)

    def confirm(
        self, request_spec: nova_objects.RequestSpec, server: str
    ) -> admissions.Admission:
        """Return where the request may land now, and record its server.

        The lease counts as used from then on. A new server that has a slot, or
        was sent to an open reservation, is recorded as created in that
        reservation.

        :raises: RequestFilterFailed, NotEnoughResources,
            DatabaseUnavailable, CloudUnavailable, Contended
        """
        admission = self.admissions.resolve(request_spec)
        if admission.first_of is not None and not self.services.access.use(
            admission.first_of, self._now()
        ):
            # Another server was the first, or the lease has just ended because
            # it was unused.
            admission = self.admissions.resolve(request_spec)
        run = open_reservations.run()
        chosen = (
            run is not None
            and admission.reservation_id is not None
            and run.is_sent_to(admission.reservation_id)
        )
        if (
            admission.reservation_id is not None
            and (admission.in_slot or chosen)
            and not requests.exists(request_spec)
        ):
            self.services.access.record_server(
                server, admission.reservation_id, self._now(), chosen
            )
            if run is not None and chosen:
                run.recorded.append(server)
        carried = request_spec.get_scheduler_hint(requests.CARRIED)
        used = admission.reservation_id or carried
        if objects.is_id(used):
            self.services.access.record_use(
                server, used, _size(request_spec.flavor), self._now()
            )
        return admission


def _size(flavor: nova_objects.Flavor) -> usage.Size:
    return usage.Size(
        flavor.name,
        flavor.vcpus,
        flavor.memory_mb,
        flavor.root_gb + flavor.ephemeral_gb,
    )


def install(services: assembly.Services) -> ReservedHosts:
    """Add our request filter to Nova's, in place of any of an earlier call."""
    ours = ReservedHosts(services)
    request_filters = nova_request_filter.ALL_REQUEST_FILTERS
    request_filters[:] = [
        known
        for known in request_filters
        if not isinstance(known, ReservedHosts)
    ] + [ours]
    return ours


def installed() -> ReservedHosts | None:
    """Return our request filter in Nova's list; None if no ReservationFilter
    is enabled."""
    for known in nova_request_filter.ALL_REQUEST_FILTERS:
        if isinstance(known, ReservedHosts):
            return known
    return None
