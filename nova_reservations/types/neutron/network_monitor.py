# SPDX-License-Identifier: Apache-2.0
"""Monitor of network segments, by what Neutron has on them."""

from collections.abc import Collection
from collections.abc import Mapping
import datetime
from typing import ClassVar

from nova_reservations import ports
from nova_reservations.objects import segment as segments
from nova_reservations.plugins.monitors import base
from nova_reservations.types.neutron import neutron


class NetworkMonitor(base.Monitor):
    """A segment has failed if a network uses it that belongs to no lease. It
    is down while no agent of its physical network is alive, provided that
    Neutron has agents for that physical network."""

    resource_type: ClassVar[str] = segments.NETWORK

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
