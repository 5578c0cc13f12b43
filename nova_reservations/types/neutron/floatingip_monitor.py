# SPDX-License-Identifier: Apache-2.0
"""Monitor of floating IP addresses, by what Neutron has at them."""

from collections.abc import Collection
import datetime
from typing import ClassVar

from nova_reservations import ports
from nova_reservations.objects import address as addresses
from nova_reservations.plugins.monitors import base
from nova_reservations.types.neutron import neutron


class FloatingIPMonitor(base.Monitor):
    """An address has failed if its network is gone, or is no longer external.
    It has also failed if somebody uses it without a lease: an administrator
    can create a floating IP, or a port, with any address."""

    resource_type: ClassVar[str] = addresses.FLOATING_IP

    def check_held(
        self,
        known: Collection[str],
        holders: base.Holders,
        now: datetime.datetime,
    ) -> base.Changes:
        before = holders()
        failed: set[str] = set()
        found: dict[str, ports.Made] = {}
        for network_id, theirs in addresses.of_networks(known).items():
            network = self.cloud.networks.find_network(network_id)
            if network is None or not network.external:
                failed |= _names(network_id, theirs)
                continue
            taken = self.cloud.networks.find_floating_ips(network_id, theirs)
            found |= {
                addresses.name(address, network_id): made
                for address, made in taken.items()
            }
            failed |= _names(
                network_id, self.cloud.networks.find_ports(network_id, theirs)
            )
        failed |= neutron.strangers(found, before, holders())
        return base.Changes(failed, recovered=set(known) - failed)


def _names(network_id: str, theirs: Collection[str]) -> set[str]:
    return {addresses.name(address, network_id) for address in theirs}
