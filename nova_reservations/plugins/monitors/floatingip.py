# SPDX-License-Identifier: Apache-2.0
"""Monitor of addresses, by what Neutron has at them."""

from collections import defaultdict
from collections.abc import Collection
import datetime
from typing import ClassVar

from nova_reservations.objects import address as addresses
from nova_reservations.plugins.monitors import base


class FloatingIPMonitor(base.Monitor):
    """An address has failed if its network is gone, or is not external any
    more; or if somebody has it whom no lease has given it: an administrator
    can create a floating IP, or a port, with any address."""

    resource_type: ClassVar[str] = addresses.FLOATING_IP

    def check_states(
        self, known: Collection[str], now: datetime.datetime
    ) -> base.Changes:
        of_network = defaultdict(list)
        for name in known:
            address, network_id = addresses.parse(name)
            of_network[network_id].append(address)
        failed = {
            addresses.name(address, network_id)
            for network_id, theirs in of_network.items()
            for address in self._failed(network_id, theirs)
        }
        return base.Changes(failed, recovered=set(known) - failed)

    def _failed(
        self, network_id: str, theirs: Collection[str]
    ) -> Collection[str]:
        network = self.cloud.networks.find_network(network_id)
        if network is None or not network.external:
            return theirs
        taken = self.cloud.networks.find_floating_ips(network_id, theirs)
        return {
            *self.cloud.networks.find_ports(network_id, theirs),
            *(
                address
                for address, found in taken.items()
                if found.reservation_id is None
            ),
        }
