# SPDX-License-Identifier: Apache-2.0
"""The compute hosts of a cloud in memory."""

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import datetime

from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.cloud.hosts import host_specs
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
        self,
        hosts: Collection[objects.Resource],
        as_if_empty: Collection[str] = (),
    ) -> list[objects.HostFacts]:
        self._state.check_cells(host.name for host in hosts)
        known = {
            name: dataclasses.replace(facts, cell=self._state.cell_of(name))
            for name, facts in self._state.known.items()
        }
        return [
            _empty(known[host.name])
            if host.uuid in as_if_empty
            else known[host.name]
            for host in hosts
            if host.name in known
        ]

    def without_provider(
        self, hosts: Collection[objects.Resource]
    ) -> set[str]:
        uuids = {
            *self._state.orphans,
            *(known.uuid for known in self._state.known.values()),
        }
        return {host.name for host in hosts if host.uuid not in uuids}

    def unusable(self, hosts: Collection[objects.Resource]) -> dict[str, str]:
        return {
            name: 'placement has no provider of it: if another machine has '
            'its name now, add the host again; else remove it'
            for name in self.without_provider(hosts)
        }

    def pool_generations(
        self, trees: bool = False
    ) -> dict[str, ports.HostVersion]:
        return {
            known.uuid: ports.HostVersion(
                known.provider_generation,
                None
                if self._state.cell_of(name) in self._state.silent
                else known.availability_zone,
                self._state.cell_of(name),
                known.tree if trees else None,
                known.aggregates,
            )
            for name, known in self._state.known.items()
            if name in self._state.marked
        }

    def passes(self, key: str, fact: str, spec: str) -> bool:
        return host_specs.passes(key, fact, spec)

    def compute_services(
        self, now: datetime.datetime, hosts: Collection[str]
    ) -> dict[str, ports.ComputeService]:
        works = ports.ComputeService(True, False, False)
        return {
            name: self._state.services.get(name, works)
            if name in self._state.known
            else ports.GONE
            for name in hosts
            if self._state.cell_of(name) not in self._state.silent
        }

    def services_by_cell(
        self, now: datetime.datetime
    ) -> dict[str, dict[str, ports.ComputeService]]:
        found: dict[str, dict[str, ports.ComputeService]] = {}
        for host, service in self.compute_services(
            now, self._state.known
        ).items():
            cell = self._state.cell_of(host)
            found.setdefault(cell, {})[host] = service
        return found

    def cells_of(self, names: Collection[str]) -> Mapping[str, str]:
        return {
            name: self._state.cell_of(name)
            for name in names
            if name in self._state.known
        }


def _empty(facts: objects.HostFacts) -> objects.HostFacts:
    capacity = {
        inventory.resource_class: inventory.capacity
        for inventory in facts.inventories
    }
    return dataclasses.replace(
        facts,
        free_memory_mb=capacity.get('MEMORY_MB', 0),
        free_disk_gb=capacity.get('DISK_GB', 0),
    )
