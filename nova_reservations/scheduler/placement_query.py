# SPDX-License-Identifier: Apache-2.0
"""The restriction of a request, written into its query to placement."""

# Nova's objects get their names only when the process registers them.
from __future__ import annotations

from nova import objects as nova_objects
from nova.scheduler import utils
from oslo_log import log

from nova_reservations.cloud import cells
from nova_reservations.cloud.placement import placement
from nova_reservations.scheduler import requests

LOG = log.getLogger(__name__)


def require_reservation(
    request_spec: nova_objects.RequestSpec, reservation_id: str
) -> None:
    """Require that the server's host is in the aggregate of the reservation.

    :raises: RequestFilterFailed if the query cannot express that
    """
    # Nova puts member_of on the unsuffixed group of the query only, and
    # placement refuses a group that asks for nothing.
    request = utils.ResourceRequest.from_request_spec(request_spec)
    if not request.get_request_group(None).resources:
        raise requests.refusal(
            'The flavor asks for all resources in numbered groups, by which '
            'placement can not keep a server in a reservation.'
        )
    destination = _destination(request_spec)
    if reservation_id not in (destination.aggregates or ()):
        destination.require_aggregates([reservation_id])
    LOG.debug(
        'Server %s: aggregate %s is required',
        request_spec.instance_uuid,
        reservation_id,
    )


def require_cell(request_spec: nova_objects.RequestSpec, cell: str) -> None:
    """Require the cell with this UUID: Nova then asks no other cell about the
    hosts that placement offers.

    :raises: CloudUnavailable
    :raises: RequestFilterFailed if an administrator wants no new servers
        there
    """
    found = cells.find(cell)
    if found is None:
        return
    if found.disabled:
        # Nova does not check that for a cell that a request requires.
        raise requests.refusal('The cell of its place is disabled')
    _destination(request_spec).cell = found
    LOG.debug(
        'Server %(server)s: cell %(cell)s is required',
        {'server': request_spec.instance_uuid, 'cell': cell},
    )


def _destination(
    request_spec: nova_objects.RequestSpec,
) -> nova_objects.Destination:
    """Return the destination, which others may have put there already."""
    if (
        'requested_destination' not in request_spec
        or request_spec.requested_destination is None
    ):
        request_spec.requested_destination = nova_objects.Destination()
    return request_spec.requested_destination


class PoolTrait:
    """The trait of enrolled hosts. Placement rejects a query with a trait that
    it does not know, so the trait is created before its first use."""

    def __init__(self) -> None:
        self._is_known = False

    def forbid(self, request_spec: nova_objects.RequestSpec) -> None:
        """Forbid hosts that are enrolled.

        :raises: CloudUnavailable
        """
        if not self._is_known:
            placement.ensure_trait()
            self._is_known = True
        request_spec.root_forbidden.add(placement.POOL_TRAIT)
        LOG.debug(
            'Server %s: trait %s is forbidden',
            request_spec.instance_uuid,
            placement.POOL_TRAIT,
        )
