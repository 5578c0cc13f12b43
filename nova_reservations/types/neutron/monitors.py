# SPDX-License-Identifier: Apache-2.0
"""Monitors of addresses and network segments, by what Neutron has there."""

from collections.abc import Collection
from collections.abc import Mapping
import datetime

from nova_reservations import ports
from nova_reservations.objects import address as addresses
from nova_reservations.objects import segment as segments
from nova_reservations.plugins.monitors import base
from nova_reservations.types.neutron import neutron


class FloatingIPMonitor(base.Monitor):
    """An address has failed if its network is gone, or is no longer external.
    It has also failed if somebody uses it without a lease: an administrator
    can create a floating IP, or a port, with any address."""

    resource_type = addresses.FLOATING_IP

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


class NetworkMonitor(base.Monitor):
    """A segment has failed if a network uses it that belongs to no lease. It
    is down while no agent of its physical network is alive, provided that
    Neutron has agents for that physical network."""

    resource_type = segments.NETWORK

    def check_held(
        self,
        known: Collection[str],
        holders: base.Holders,
        now: datetime.datetime,
    ) -> base.Changes:
        before = holders()
        unreached = self.cloud.segments.find_unreached()
        found: dict[str, ports.Made] = {}
        down = set()
        for physical_network, vlans in segments.of_networks(known).items():
            there = self.cloud.segments.find_networks(physical_network, vlans)
            found |= {each.segment.name: each for each in there.values()}
            if physical_network in unreached:
                down |= {
                    segments.Segment(physical_network, vlan).name
                    for vlan in vlans
                }
        failed = neutron.strangers(found, before, holders())
        down -= failed
        return base.Changes(failed, set(known) - failed - down, down)

    def domains(self, names: Collection[str]) -> Mapping[str, str]:
        return {
            name: segments.Segment.named(name).physical_network
            for name in names
        }


def _names(network_id: str, theirs: Collection[str]) -> set[str]:
    return {addresses.name(address, network_id) for address in theirs}
