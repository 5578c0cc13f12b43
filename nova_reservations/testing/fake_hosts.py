# SPDX-License-Identifier: Apache-2.0
"""The compute hosts of a cloud in memory."""

from collections.abc import Collection
from collections.abc import Mapping
import datetime

from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.testing import fake_state


class FakeHosts:
    def __init__(self, state: fake_state.State) -> None:
        self._state = state

    def find_hosts(self, name: str) -> list[objects.Resource]:
        return [
            objects.Resource(0, objects.HOST, known.service_host, known.uuid)
            for known in self._state.known.values()
            if name
            in (known.service_host, known.hypervisor_hostname, known.uuid)
        ]

    def facts(
        self, hosts: Collection[objects.Resource]
    ) -> list[objects.HostFacts]:
        return [
            self._state.known[host.name]
            for host in hosts
            if host.name in self._state.known
        ]

    def pool_generations(self) -> dict[str, ports.HostVersion]:
        return {
            known.uuid: ports.HostVersion(
                known.provider_generation, known.availability_zone
            )
            for name, known in self._state.known.items()
            if name in self._state.marked
        }

    def compute_services(
        self, now: datetime.datetime | None, host: str | None = None
    ) -> dict[str, ports.ComputeService]:
        works = ports.ComputeService(True, False, False)
        return {
            name: self._state.services.get(name, works)
            for name in self._state.known
            if host in (None, name)
        }

    def cells_of(self, names: Collection[str]) -> Mapping[str, str]:
        return {
            name: self._state.cells.get(name, 'a cell')
            for name in names
            if name in self._state.known
        }
