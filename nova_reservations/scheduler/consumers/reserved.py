# SPDX-License-Identifier: Apache-2.0
"""The reservations that a host is in, for weighers.

This consumer does not decide on access: the request filter and the host filter
do.
"""

# Nova's objects get their names only when the process registers them.
from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import Any

from nova import objects as nova_objects
from nova.scheduler import host_manager
from oslo_log import log

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.cloud.hosts import aggregates
from nova_reservations.scheduler import request_filter
from nova_reservations.scheduler import requests
from nova_reservations.scheduler.consumers import base

LOG = log.getLogger(__name__)

NAME = 'reserved_aggregates'


@dataclasses.dataclass(frozen=True, slots=True)
class Reserved:
    """The part of a host that a reservation has.

    :ivar owner: id of the project whose lease it is.
    :ivar slots_left: servers that still fit into its share of the host; None
        where the host is reserved whole.
    """

    reservation_id: str
    owner: str
    slots_left: int | None

    def after(self, request_spec: nova_objects.RequestSpec) -> Reserved:
        """Return the rest after a server of the request has come."""
        if self.slots_left is None or self.reservation_id != wanted(
            request_spec
        ):
            return self
        return dataclasses.replace(self, slots_left=self.slots_left - 1)


class ReservedAggregates(base.Consumer):
    """Reservations that the host is in; needs no plugin on the host.

    Holds reservation id -> Reserved for each active reservation of a host.
    Holds nothing of a host that is in none, and nothing at all without
    ReservationFilter.
    """

    reads_stats = False

    def read(
        self, host_state: host_manager.HostState, found: Mapping[str, Any]
    ) -> None:
        """Read nothing: compute hosts know nothing of leases."""

    def survey(
        self,
        host_states: Sequence[host_manager.HostState],
        request_spec: nova_objects.RequestSpec,
        summaries: Mapping[str, Any] | None,
    ) -> None:
        # Nova's cache of aggregates may be stale, so it tells only which
        # reservations to look up in our database. A request without a
        # reservation gets no such host, and costs no query.
        ids = set(_reservation_ids(host_states))
        reserved_hosts = request_filter.installed()
        if not ids or reserved_hosts is None:
            return
        try:
            owners = reserved_hosts.services.access.owners(ids)
        except exception.DatabaseUnavailable as error:
            LOG.error('Hosts are weighed without reservations: %s', error)
            return
        slots = slots_left(summaries or {})
        for host_state in host_states:
            reserved = {
                reservation_id: Reserved(
                    reservation_id,
                    owner,
                    slots.get((host_state.uuid, reservation_id)),
                )
                for reservation_id, (owner, hosts) in owners.items()
                if host_state.host in hosts
            }
            if reserved:
                self.hold(host_state, reserved)

    def consume(
        self,
        host_state: host_manager.HostState,
        request_spec: nova_objects.RequestSpec,
    ) -> None:
        reserved = self.held(host_state)
        if reserved is not None:
            self.hold(
                host_state,
                {
                    reservation_id: reservation.after(request_spec)
                    for reservation_id, reservation in reserved.items()
                },
            )


def wanted(request_spec: nova_objects.RequestSpec) -> str | None:
    """Return the reservation that the request names: by its hint, or by the
    flavor of the reservation; None if it names none."""
    hint = request_spec.get_scheduler_hint(requests.HINT)
    if hint is not None:
        return str(hint)
    return next(iter(requests.slots_asked(request_spec.flavor)), None)


def slots_left(
    summaries: Mapping[str, Mapping[str, Any]],
) -> dict[tuple[str, str], int]:
    """Return (UUID of a host's provider, reservation) -> servers that fit.

    :param summaries: placement's, by provider; the slots of a host are an
        inventory of a provider below it
    """
    found = {}
    for uuid, summary in summaries.items():
        for resource_class, amounts in summary['resources'].items():
            reservation_id = objects.slots_of(resource_class)
            if reservation_id is not None:
                host = summary.get('root_provider_uuid', uuid)
                found[host, reservation_id] = (
                    amounts['capacity'] - amounts['used']
                )
    return found


def _reservation_ids(
    host_states: Iterable[host_manager.HostState],
) -> Iterable[str]:
    for host_state in host_states:
        for aggregate in host_state.aggregates:
            found = aggregate.metadata.get(aggregates.RESERVATION_KEY)
            if found is not None:
                yield found
