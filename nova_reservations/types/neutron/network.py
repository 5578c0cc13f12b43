# SPDX-License-Identifier: Apache-2.0
"""Networks on segments of physical networks: the resource type
``virtual:network``, which has the second name ``network``."""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import TypeVar

from oslo_log import log

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.objects import demand
from nova_reservations.objects import requirements
from nova_reservations.objects import segment as segments
from nova_reservations.types import base
from nova_reservations.types import schemas
from nova_reservations.types.audited import Finding
from nova_reservations.types.neutron import neutron

LOG = log.getLogger(__name__)

_PROPERTIES = {
    'network_name': {'type': 'string', 'minLength': 1, 'maxLength': 255},
    'network_description': {'type': 'string', 'maxLength': 255},
    'network_properties': {
        **base.EXPRESSION,
        'description': 'what its segment must be',
    },
    'resource_properties': {
        **base.EXPRESSION,
        'description': 'the same; both must hold',
    },
    'before_end': {
        'enum': ['', 'default', None],
        'description': 'for clients of Blazar that send it: nothing is done '
        'with a network before the end',
    },
}

T = TypeVar('T')


class Network(neutron.InNeutron[ports.SegmentNetwork]):
    """A VLAN of a physical network that no other network uses.

    At the start the VLAN becomes a network of the project. At the end the
    network is deleted, with its subnets. Before that, ports of the lease's
    servers are deleted. Other ports are waited for, because the project may
    need them elsewhere.

    Decision 0053: doc/source/decisions/0053-networks
    """

    noun = 'network'
    noun_at = 'Network on VLAN'
    nouns = 'network', 'networks'
    place = 'VLAN'
    resource_type = segments.NETWORK
    enrolled_by = '.../networks'
    given_properties = segments.FACTS
    wants_lease_servers = True
    schema = schemas.closed(_PROPERTIES, 'network_name')
    update_schema = schemas.closed(_PROPERTIES)

    def validate(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        params = {
            'network_name': asked['network_name'],
            'network_description': asked.get('network_description') or '',
            'network_properties': asked.get('network_properties') or '',
            'resource_properties': asked.get('resource_properties') or '',
        }
        _requirements(params)
        return params

    def check_active_change(
        self, reservation: objects.Reservation, params: Mapping[str, Any]
    ) -> None:
        if params != reservation.params:
            raise base.refused_change(
                reservation,
                'its network is there: change its name and its description '
                'in Neutron',
            )

    def demand(self, params: Mapping[str, Any]) -> demand.Demand:
        return demand.Demand(segments.NETWORK, 1, 1, _requirements(params))

    def enrol(self, asked: Mapping[str, Any]) -> tuple[str, Mapping[str, str]]:
        """Return the name and properties of a segment.

        As far as Neutron tells, it must not give the segment to networks by
        itself. Only administrators can ask Neutron for such a segment.
        """
        where = segments.Segment(
            asked['physical_network'], int(asked['segment_id'])
        )
        where.check()
        ranges = self.cloud.segments.find_ranges(where.physical_network)
        if ranges is None:
            LOG.warning(
                'Neutron does not tell which VLANs it gives to networks by '
                'itself, for it has no network segment ranges: see that VLAN '
                '%s is in none of its network_vlan_ranges',
                where,
            )
        elif any(where.vlan in each for each in ranges):
            raise exception.InvalidInput(
                f'VLAN {where} is in a network segment range, so that Neutron '
                'may give it to any network: choose one outside, or make the '
                'range (network_vlan_ranges) smaller'
            )
        return where.name, where.properties

    def check_unused(self, name: str) -> None:
        where = segments.Segment.named(name)
        found = self.cloud.segments.find_networks(
            where.physical_network, [where.vlan]
        )
        for network in found.values():
            raise exception.InvalidState(
                kind='VLAN',
                id=str(where),
                status='in use',
                reason=f'network {network.id} of Neutron has it',
            )

    def find(
        self, resources: base.Resources
    ) -> Iterator[tuple[objects.Resource, ports.SegmentNetwork | None]]:
        named = {resource.name: resource for resource in resources}
        for network, vlans in segments.of_networks(named).items():
            found = self.cloud.segments.find_networks(network, vlans)
            for vlan in sorted(vlans):
                where = segments.Segment(network, vlan)
                yield named[where.name], found.get(vlan)

    def label(self, name: str) -> str:
        return str(segments.Segment.named(name))

    def name_at(self, found: ports.SegmentNetwork) -> str:
        return found.segment.name

    def find_marked(self) -> Collection[ports.SegmentNetwork]:
        return self.cloud.segments.find_marked()

    def misplaced(self, names: Collection[str]) -> Iterator[Finding]:
        for network, vlans in segments.of_networks(names).items():
            ranges = self.cloud.segments.find_ranges(network) or ()
            for vlan in sorted(vlans):
                if any(vlan in each for each in ranges):
                    yield Finding(
                        f'VLAN {vlan} of {network} is in a network segment '
                        'range, from which Neutron gives it to any network: '
                        'make the range smaller, or remove the VLAN'
                    )

    def leftover(self, found: ports.SegmentNetwork, problem: str) -> Finding:
        there = [port.id for port in self.cloud.segments.find_ports(found)]
        if there:
            return Finding(
                f'{problem}, and has ports: delete them, and it is deleted by '
                f'the next audit: {", ".join(there[: base.MAX_TOLD])}'
            )

        def repair() -> None:
            self.cloud.segments.delete_network(found, check=lambda: None)

        return Finding(problem, repair)

    def create(
        self,
        booking: base.Booking,
        resource: objects.Resource,
        mark: ports.Mark,
    ) -> None:
        params = booking.reservation.params
        self.cloud.segments.create_network(
            segments.Segment.named(resource.name),
            params['network_name'],
            params['network_description'],
            booking.lease.project_id,
            mark,
            booking.check,
        )

    def tag(
        self,
        found: ports.SegmentNetwork,
        mark: ports.Mark,
        check: ports.Check,
    ) -> None:
        self.cloud.segments.tag(found, mark, check)

    def delete(
        self, found: ports.SegmentNetwork, booking: base.Booking
    ) -> Sequence[objects.Reason]:
        """Delete the ports of the lease's servers, and then the network if it
        has no other ports."""
        reasons: list[objects.Reason] = []
        for port in self.cloud.segments.find_ports(found):
            if port.is_of_server and port.device_id in booking.lease_servers:
                reasons += _unless_refused(
                    self.cloud.segments.delete_port,
                    port,
                    booking.check,
                    f'port {port.id} of a server can not be deleted',
                )
            else:
                reasons.append(_stays(port, booking.lease.project_id))
        return reasons or _unless_refused(
            self.cloud.segments.delete_network,
            found,
            booking.check,
            f'network {found.id} is in use',
        )

    def leave(
        self, found: ports.SegmentNetwork, booking: base.Booking
    ) -> Sequence[objects.Reason]:
        """Delete a replaced network, once the reservation has another one and
        the project has moved all ports out of this one."""
        if not self._is_left(found, booking):
            return ()
        return _unless_refused(
            self.cloud.segments.delete_network,
            found,
            booking.check,
            f'network {found.id} is in use',
        )

    def remains(self, booking: base.Booking) -> base.Remains:
        vacated, movable = [], False
        for resource, found in self.find(booking.left):
            if found is None or not neutron.is_of(found, booking):
                vacated.append(resource)
            elif self._is_left(found, booking):
                movable = True
        return base.Remains(tuple(vacated), movable)

    def _is_left(
        self, found: ports.SegmentNetwork, booking: base.Booking
    ) -> bool:
        return bool(booking.resources) and not self.cloud.segments.find_ports(
            found
        )

    def usage(
        self,
        lease: objects.Lease,
        reservation: objects.Reservation,
        resources: Collection[objects.Resource],
        servers: Collection[str],
    ) -> Mapping[str, Any]:
        return {
            'networks': [
                {
                    'id': found.id,
                    'physical_network': found.segment.physical_network,
                    'segment_id': found.segment.vlan,
                }
                for _, found in self.find(tuple(resources))
                if found is not None and found.project_id == lease.project_id
            ]
        }


def _requirements(
    params: Mapping[str, Any],
) -> requirements.Expression | None:
    """:raises: InvalidInput"""
    both = [
        found
        for name in ('network_properties', 'resource_properties')
        if (
            found := requirements.parse(
                params[name], facts=requirements.OF_OTHERS
            )
        )
    ]
    return (
        requirements.AllOf(tuple(both))
        if len(both) > 1
        else next(iter(both), None)
    )


def _stays(port: ports.NetworkPort, project_id: str) -> objects.Reason:
    """Return the reason why a port keeps its network.

    The owner of the network may see the port's ID, but nothing else of
    another project."""
    kind = port.owner or 'nothing'
    whole = (
        f'port {port.id} of project {port.project_id}, of {kind} '
        f'{port.device_id}'.rstrip()
        + ', is in the network: delete it'
    )
    if port.is_of_router and port.project_id == project_id:
        return objects.Reason.plain(
            f'router {port.device_id} has port {port.id} in the network: '
            'remove its interface'
        )
    return objects.Reason(
        f'port {port.id} is in the network: delete it', whole
    )


def _unless_refused(
    delete: Callable[[T, ports.Check], None],
    what: T,
    check: ports.Check,
    told: str,
) -> list[objects.Reason]:
    """Delete something; return the reason if Neutron has refused it."""
    try:
        delete(what, check)
    except exception.CloudRefused as error:
        return [objects.Reason(told, str(error))]
    return []
