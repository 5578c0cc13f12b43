# SPDX-License-Identifier: Apache-2.0
"""Addresses that can be leased; operators add and remove them."""

import datetime

from oslo_log import log

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.db import api
from nova_reservations.db.resources import resources as rows
from nova_reservations.engine.pool import resources
from nova_reservations.objects import address as addresses

LOG = log.getLogger(__name__)


class Addresses:
    def __init__(
        self,
        database: api.Database,
        cloud: ports.Cloud,
        known: resources.Resources,
    ) -> None:
        self.database = database
        self.cloud = cloud
        self.resources = known

    def find(self, project_id: str | None = None) -> list[addresses.Address]:
        """Return the addresses that can be leased.

        :param project_id: only those in networks that this project sees;
            None: all
        :raises: InvalidInput if addresses are switched off
        :raises: CloudUnavailable
        """
        found = [
            addresses.Address.of(known)
            for known in self.resources.find(
                objects.ResourceQuery(addresses.FLOATING_IP)
            )
        ]
        if project_id is None:
            return found
        seen = {
            network_id
            for network_id in {each.network_id for each in found}
            if self.cloud.networks.find_network(network_id, project_id)
        }
        return [each for each in found if each.network_id in seen]

    def get(
        self, uuid: str, project_id: str | None = None
    ) -> addresses.Address:
        """:param project_id: the project that must see its network; None: any
        :raises: NotFound, CloudUnavailable
        """
        with self.database.reader() as session:
            found = rows.of_uuid(session, addresses.FLOATING_IP, uuid)
        for address in map(addresses.Address.of, found):
            if project_id is None or self.cloud.networks.find_network(
                address.network_id, project_id
            ):
                return address
        raise exception.NotFound(kind='Floating IP', id=uuid)

    def enrol(
        self, network_id: str, address: str, now: datetime.datetime
    ) -> addresses.Address:
        """Make an address leasable.

        It must be in a subnet of an external network, and outside of the
        allocation pools, from which Neutron gives addresses to anybody.
        Only administrators can ask Neutron for such an address.

        :raises: InvalidInput, NotFound, InvalidState, ResourceExists,
            Contended, CloudUnavailable
        """
        address = addresses.plain(address)
        name = addresses.name(address, network_id)
        subnet = self._subnet(network_id, address)
        if not self.resources.find(
            objects.ResourceQuery(addresses.FLOATING_IP, name)
        ):
            self._check_unused(network_id, address)
        enrolled = self.resources.enrol(
            addresses.FLOATING_IP,
            name,
            now,
            properties={
                addresses.NETWORK: network_id,
                addresses.SUBNET: subnet.id,
            },
        )
        LOG.info(
            'Address %(address)s of network %(network)s can be leased',
            {'address': address, 'network': network_id},
        )
        return addresses.Address.of(enrolled)

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

    def _check_unused(self, network_id: str, address: str) -> None:
        """:raises: InvalidState if somebody has it in Neutron"""
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

    def remove(self, uuid: str) -> None:
        """Take the address out of those that can be leased.

        :raises: NotFound, ResourceInUse if leases have it, or will have it
        """
        self.resources.remove(self.get(uuid).id)
