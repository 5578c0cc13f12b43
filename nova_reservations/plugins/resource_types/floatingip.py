# SPDX-License-Identifier: Apache-2.0
"""Floating IPs: the resource type ``virtual:floatingip``."""

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any
from typing import ClassVar

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.objects import address as addresses
from nova_reservations.objects import demand
from nova_reservations.objects import requirements
from nova_reservations.objects import states
from nova_reservations.plugins.resource_types import base

MOST = 1_000

_PROPERTIES = {
    'network_id': {
        'type': 'string',
        'minLength': 1,
        'maxLength': 36,
        'description': 'the ID of the external network',
    },
    'amount': {
        'oneOf': [
            {'type': 'integer', 'minimum': 1, 'maximum': MOST},
            {
                'type': 'string',
                'pattern': '^[1-9][0-9]{0,3}$',
                'description': 'a whole number from 1 on',
            },
        ]
    },
    'required_floatingips': {
        'type': 'array',
        'items': {'type': 'string', 'maxLength': 64},
        'maxItems': MOST,
        'uniqueItems': True,
        'description': 'addresses that must be among them',
    },
}

Found = tuple[str, str, ports.FloatingIP | None]
"""A network, an address of it, and the floating IP that has it."""


class FloatingIP(base.ResourceType):
    """Addresses of an external network, for which nobody else can have a
    floating IP.

    They are outside of what Neutron gives to anybody. At the start each
    becomes a floating IP of the project's, which bears the name of the
    reservation; at the end it is deleted.

    Decision 0050: doc/source/decisions/0050-addresses
    """

    schema: ClassVar[Mapping[str, Any]] = {
        'type': 'object',
        'properties': _PROPERTIES,
        'required': ['network_id', 'amount'],
        'additionalProperties': False,
    }
    update_schema: ClassVar[Mapping[str, Any]] = {
        'type': 'object',
        'properties': _PROPERTIES,
        'additionalProperties': False,
    }

    def look_up(
        self, asked: Mapping[str, Any], project_id: str
    ) -> Mapping[str, Any]:
        """Look at the network as the project sees it."""
        if 'network_id' in asked:
            network_id = asked['network_id']
            network = self.cloud.networks.find_network(network_id, project_id)
            if network is None:
                raise exception.InvalidInput(
                    f'Failed to find network {network_id}'
                )
            if not network.external:
                raise exception.InvalidInput(
                    f'Network {network_id} is not external, so that it has '
                    'no floating IPs'
                )
        return asked

    def validate(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        amount = int(asked['amount'])
        if not 1 <= amount <= MOST:
            raise exception.InvalidInput(
                f'amount must be between 1 and {MOST}'
            )
        required = sorted(
            {*map(addresses.plain, asked.get('required_floatingips') or ())}
        )
        if len(required) > amount:
            raise exception.InvalidInput(
                'Too many required_floatingips: there can be no more than '
                f'amount, {amount}'
            )
        return {
            'network_id': asked['network_id'],
            'amount': amount,
            'required_floatingips': required,
        }

    def check_active_change(
        self, reservation: objects.Reservation, params: Mapping[str, Any]
    ) -> None:
        before = reservation.params
        if params['network_id'] != before['network_id']:
            why = 'its addresses are in another network'
        elif params['amount'] < before['amount']:
            why = 'it can not give addresses back before its end'
        elif params['required_floatingips'] not in (
            before['required_floatingips'],
            [],
        ):
            why = 'required_floatingips can only be emptied'
        else:
            return
        raise exception.InvalidState(
            kind='Reservation',
            id=reservation.id,
            status=reservation.status,
            reason=why,
        )

    def demand(self, params: Mapping[str, Any]) -> demand.Demand:
        network_id = params['network_id']
        return demand.Demand(
            addresses.FLOATING_IP,
            params['amount'],
            params['amount'],
            requirements.Comparison('==', addresses.NETWORK, network_id),
            frozenset(
                addresses.name(address, network_id)
                for address in params['required_floatingips']
            ),
        )

    def ranged(
        self, params: Mapping[str, Any], minimum: int, maximum: int
    ) -> dict[str, Any]:
        return {**params, 'amount': minimum}

    def start(self, booking: base.Booking) -> None:
        """Create what is not there yet.

        What is there and of the project is what it was promised, whoever
        has made it: most often a worker that was killed before it gave it
        its tags.
        """
        mark = ports.Mark(booking.reservation.id, booking.database)
        project_id = booking.lease.project_id
        for network_id, address, found in self._find(booking.resources):
            if found is None:
                self.cloud.networks.create_floating_ip(
                    network_id, address, project_id, mark, booking.check
                )
            elif found.project_id != project_id:
                raise exception.CloudRefused(
                    what=f'The floating IP {address}',
                    reason='somebody else has this address: an administrator '
                    'has to look at it',
                )
            elif not (
                found.is_tagged and found.reservation_id == mark.reservation_id
            ):
                self.cloud.networks.tag(found, mark, booking.check)

    def end(self, booking: base.Booking) -> base.Waiting | None:
        """Delete its floating IPs; before its time only those that bear its
        name: what else has these addresses may be an earlier lease's of the
        same project.

        An address that is somebody else's is told of, and held.
        """
        reasons = self._take_back(booking, booking.resources)
        if booking.reservation.status != states.Reservation.ACTIVE:
            return None
        return base.Waiting.on(reasons) if reasons else None

    def heal(self, booking: base.Booking) -> None:
        self.update(booking)
        self._take_back(booking, booking.left)

    def remains(self, booking: base.Booking) -> base.Remains:
        """Return those of which the project has no floating IP any more."""
        theirs = {
            addresses.name(address, network_id)
            for network_id, address, found in self._find(booking.left)
            if found is not None and _is_of(found, booking)
        }
        return base.Remains(
            tuple(each for each in booking.left if each.name not in theirs)
        )

    def usage(
        self,
        lease: objects.Lease,
        reservation: objects.Reservation,
        resources: Collection[objects.Resource],
        servers: Collection[str],
    ) -> Mapping[str, Any]:
        return {
            'floatingips': sorted(
                addresses.parse(each.name)[0] for each in resources
            )
        }

    def _take_back(
        self, booking: base.Booking, resources: base.Resources
    ) -> list[objects.Reason]:
        """Delete the reservation's floating IPs at these addresses; return
        why others have to be left."""
        reasons = []
        for _, address, found in self._find(resources):
            if found is None:
                continue
            if _is_of(found, booking):
                self.cloud.networks.delete_floating_ip(found, booking.check)
            else:
                reasons.append(_stranger(address, found))
        return reasons

    def _find(self, resources: base.Resources) -> Iterator[Found]:
        """Yield the addresses with the floating IPs that have them now."""
        of_network: dict[str, list[str]] = {}
        for resource in resources:
            address, network_id = addresses.parse(resource.name)
            of_network.setdefault(network_id, []).append(address)
        for network_id, theirs in of_network.items():
            found = self.cloud.networks.find_floating_ips(network_id, theirs)
            for address in sorted(theirs):
                yield network_id, address, found.get(address)


def _is_of(found: ports.FloatingIP, booking: base.Booking) -> bool:
    """Return whether a floating IP is the reservation's: it bears its name,
    or, from its start on, is at least the project's, which may have changed
    that: also while the start is not done, or has failed."""
    return found.reservation_id == booking.reservation.id or (
        booking.now >= booking.lease.start_date
        and found.project_id == booking.lease.project_id
    )


def _stranger(address: str, found: ports.FloatingIP) -> objects.Reason:
    return objects.Reason(
        f'somebody else has the address {address}: an administrator has to '
        'look at it',
        f'floating IP {found.id} of project {found.project_id} has the '
        f'address {address}: delete it, or give it another one',
    )
