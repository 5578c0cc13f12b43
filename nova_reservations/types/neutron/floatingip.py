# SPDX-License-Identifier: Apache-2.0
"""Floating IPs: the resource type ``virtual:floatingip``."""

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.objects import address as addresses
from nova_reservations.objects import demand
from nova_reservations.objects import requirements
from nova_reservations.types import base
from nova_reservations.types import schemas
from nova_reservations.types.audited import Finding
from nova_reservations.types.neutron import neutron

MOST = 1_000

_PROPERTIES = {
    'network_id': {
        'type': 'string',
        'minLength': 1,
        'maxLength': 36,
        'description': 'the ID of the external network',
    },
    'amount': schemas.whole_number(MOST, digits=4),
    'required_floatingips': {
        'type': 'array',
        'items': {'type': 'string', 'maxLength': 64},
        'maxItems': MOST,
        'uniqueItems': True,
        'description': 'addresses that must be among them',
    },
}


class FloatingIP(neutron.InNeutron[ports.FloatingIP]):
    """Addresses of an external network, of which nobody else can have a
    floating IP.

    The addresses are outside of Neutron's allocation pools. At the start
    each becomes a floating IP of the project that bears the reservation's ID;
    at the end the floating IP is deleted.

    Decision 0050: doc/source/decisions/0050-addresses
    """

    resource_type = addresses.FLOATING_IP
    noun = 'floating IP'
    noun_at = 'Floating IP'
    nouns = 'floating IP', 'floating IPs'
    place = 'address'
    enrolled_by = '.../floatingips'
    given_properties = (
        addresses.NETWORK,
        addresses.SUBNET,
    )
    # The values are networks, and not every project may see each of them.
    # Requests name a network as network_id; look_up_all() checks that it is
    # visible to the project.
    hidden_properties = given_properties
    schema = schemas.closed(_PROPERTIES, 'network_id', 'amount')
    update_schema = schemas.closed(_PROPERTIES)

    def look_up_all(
        self, asked: Sequence[Mapping[str, Any]], project_id: str
    ) -> Sequence[Mapping[str, Any]]:
        """Check that the project sees the networks, looking up each once.

        :raises: InvalidInput, CloudUnavailable
        """
        for network_id in dict.fromkeys(
            each['network_id'] for each in asked if 'network_id' in each
        ):
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
        raise base.refused_change(reservation, why)

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

    def seen(
        self, known: Collection[objects.Inventoried], project_id: str
    ) -> list[objects.Inventoried]:
        """Return the addresses in networks that the project sees."""
        networks = {
            network_id
            for network_id in addresses.of_networks(
                each.name for each in known
            )
            if self.cloud.networks.find_network(network_id, project_id)
        }
        return [
            each for each in known if addresses.parse(each.name)[1] in networks
        ]

    def enrol(self, asked: Mapping[str, Any]) -> tuple[str, Mapping[str, str]]:
        """Return the name and properties of an address.

        It must be in a subnet of an external network, and outside of the
        allocation pools, from which Neutron gives addresses to anybody.
        Only administrators can ask Neutron for such an address.
        """
        network_id = asked['floating_network_id']
        address = addresses.plain(asked['floating_ip_address'])
        subnet = self._subnet(network_id, address)
        return addresses.name(address, network_id), {
            addresses.NETWORK: network_id,
            addresses.SUBNET: subnet.id,
        }

    def _subnet(self, network_id: str, address: str) -> ports.Subnet:
        network = self.cloud.networks.find_network(network_id)
        if network is None:
            raise exception.InvalidInput(
                f'Failed to find network {network_id}'
            )
        if not network.external:
            raise exception.InvalidInput(
                f'Network {network_id} is not external: floating IPs can not '
                'be in it'
            )
        for subnet in network.subnets:
            if not subnet.has(address):
                continue
            if subnet.gives(address):
                raise exception.InvalidInput(
                    f'Floating IP {address} is the gateway of subnet '
                    f'{subnet.id}, or in an allocation pool of it, so that '
                    'Neutron may give it to anybody: choose one outside, or '
                    'make the pool smaller'
                )
            return subnet
        raise exception.NotFound(kind='Subnet with floating IP', id=address)

    def check_unused(self, name: str) -> None:
        address, network_id = addresses.parse(name)
        networks = self.cloud.networks
        if networks.find_floating_ips(
            network_id, [address]
        ) or networks.find_ports(network_id, [address]):
            raise exception.InvalidState(
                kind='Floating IP',
                id=address,
                status='in use',
                reason='a floating IP, or a port, of Neutron has it',
            )

    def find(
        self, resources: base.Resources
    ) -> Iterator[tuple[objects.Resource, ports.FloatingIP | None]]:
        named = {resource.name: resource for resource in resources}
        for network_id, theirs in addresses.of_networks(named).items():
            found = self.cloud.networks.find_floating_ips(network_id, theirs)
            for address in sorted(theirs):
                name = addresses.name(address, network_id)
                yield named[name], found.get(address)

    def label(self, name: str) -> str:
        return addresses.parse(name)[0]

    def name_at(self, found: ports.FloatingIP) -> str:
        return addresses.name(found.address, found.network_id)

    def find_marked(self) -> Collection[ports.FloatingIP]:
        return self.cloud.networks.find_marked()

    def misplaced(self, names: Collection[str]) -> Iterator[Finding]:
        for network_id, theirs in addresses.of_networks(names).items():
            network = self.cloud.networks.find_network(network_id)
            if network is None or not network.external:
                yield Finding(
                    f'Network {network_id} is not there, or not external any '
                    f'more: {len(theirs)} of its addresses can be leased. '
                    'Remove them'
                )
                continue
            for address in theirs:
                subnets = [
                    each for each in network.subnets if each.has(address)
                ]
                if not subnets or any(each.gives(address) for each in subnets):
                    yield Finding(
                        f'Address {address} is in no subnet of network '
                        f'{network.id} any more, or in an allocation pool, '
                        'from which Neutron gives it to anybody: make the '
                        'pool smaller, or remove the address'
                    )

    def leftover(self, found: ports.FloatingIP, problem: str) -> Finding:
        def repair() -> None:
            self.cloud.networks.delete_floating_ip(found, check=lambda: None)

        return Finding(problem, repair)

    def create(
        self,
        booking: base.Booking,
        resource: objects.Resource,
        mark: ports.Mark,
    ) -> None:
        address, network_id = addresses.parse(resource.name)
        try:
            self.cloud.networks.create_floating_ip(
                network_id,
                address,
                booking.lease.project_id,
                mark,
                booking.check,
            )
        except exception.CloudRefused as error:
            # Neutron's refusal does not tell a full quota from a port.
            if self.cloud.networks.find_ports(network_id, [address]):
                raise self.taken(booking, resource) from error
            raise

    def tag(
        self, found: ports.FloatingIP, mark: ports.Mark, check: ports.Check
    ) -> None:
        self.cloud.networks.tag(found, mark, check)

    def delete(
        self, found: ports.FloatingIP, booking: base.Booking
    ) -> Sequence[objects.Reason]:
        self.cloud.networks.delete_floating_ip(found, booking.check)
        return ()

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
