# SPDX-License-Identifier: Apache-2.0
"""The pool and the aggregates of a cloud in memory."""

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.testing import fake_state

POOL = 'c0ffee5e-6f9c-4c1e-9a35-9b6fe4a1f0de'


class FakeAggregates:
    def __init__(self, state: fake_state.State) -> None:
        self._state = state

    def ensure_pool(self) -> None:
        self._state.write('ensure_pool')
        self._state.has_pool = True

    def mark(self, host: objects.Resource) -> None:
        self._state.write('mark')
        self._state.marked.add(host.name)

    def unmark(self, host: objects.Resource) -> None:
        self._state.write('unmark')
        self._state.marked -= {
            name
            for name, known in self._state.known.items()
            if known.uuid == host.uuid
        }

    def join_pool(self, host: objects.Resource) -> None:
        self._state.write('join_pool')
        self._state.has_pool = True
        self._state.pool.add(host.name)

    def leave_pool(self, host: objects.Resource) -> None:
        self._state.write('leave_pool')
        self._state.pool.discard(host.name)

    def find_pool(self) -> ports.Pool | None:
        if not self._state.has_pool:
            return None
        return ports.Pool(
            POOL, frozenset(self._state.pool), self._state.pool_zone
        )

    def provider_aggregates(
        self, hosts: Collection[objects.Resource]
    ) -> dict[str, set[str]]:
        members = {POOL: self._state.pool, **self._state.aggregate_hosts}
        return {
            host.name: {
                aggregate
                for aggregate, names in members.items()
                if host.name in names
                and (host.name, aggregate) not in self._state.unmirrored
            }
            for host in hosts
        }

    def find_members(self, aggregate: str) -> ports.Members | None:
        if self._state.members is None:
            return None
        return ports.Members(
            frozenset(self._state.members),
            {
                known.uuid: known.provider_generation
                for name, known in self._state.known.items()
                if name in self._state.members
            },
        )

    def set_aggregate_hosts(
        self,
        reservation_id: str,
        project_id: str,
        hosts: Collection[objects.Resource],
        check: ports.Check,
        database: str,
    ) -> ports.GenerationChanges:
        check()
        self._state.write('create aggregate')
        members = self._state.aggregate_hosts.setdefault(reservation_id, set())
        self._state.owners[reservation_id] = project_id
        self._state.signed[reservation_id] = database
        changes: dict[str, ports.GenerationChange] = {}
        for host in hosts:
            check()
            known = self._state.known.get(host.name)
            if known is None or known.uuid != host.uuid:
                raise exception.HostRefused(
                    [host.name if known is None else host.uuid],
                    'Nova does not know it',
                )
            self._state.write('add host')
            if host.name not in members:
                changes.update(self._change(host.name))
            members.add(host.name)
            self._state.unmirrored.discard((host.name, reservation_id))
        for surplus in members - {host.name for host in hosts}:
            check()
            self._state.write('remove host')
            members.discard(surplus)
            changes.update(self._change(surplus))
        return changes

    def _change(self, name: str) -> ports.GenerationChanges:
        """Increment the generation of a host's provider, as placement does."""
        known = self._state.known.get(name)
        if known is None:
            return {}
        change = ports.GenerationChange(
            known.provider_generation, known.provider_generation + 1
        )
        self._state.known[name] = dataclasses.replace(
            known, provider_generation=change.after
        )
        return {known.uuid: change}

    def has_aggregate_hosts(
        self, reservation_id: str, hosts: Collection[objects.Resource]
    ) -> bool:
        return self._state.aggregate_hosts.get(reservation_id) == {
            host.name for host in hosts
        }

    def lacking(self, reservation_id: str, project_id: str) -> list[str]:
        if (
            reservation_id in self._state.aggregate_hosts
            and self._state.owners.get(reservation_id) != project_id
        ):
            return ['the metadata of its aggregate was changed']
        return []

    def remove_aggregate_hosts(
        self,
        reservation_id: str,
        hosts: Collection[objects.Resource],
        check: ports.Check,
    ) -> ports.GenerationChanges:
        members = self._state.aggregate_hosts.get(reservation_id, set())
        changes: dict[str, ports.GenerationChange] = {}
        for name in sorted(members & {host.name for host in hosts}):
            check()
            self._state.write('remove host')
            members.discard(name)
            changes.update(self._change(name))
        return changes

    def delete_aggregate(
        self, reservation_id: str, check: ports.Check
    ) -> ports.GenerationChanges | None:
        changes: dict[str, ports.GenerationChange] = {}
        for member in sorted(
            self._state.aggregate_hosts.get(reservation_id, set())
        ):
            check()
            self._state.write('remove host')
            self._state.aggregate_hosts[reservation_id].discard(member)
            changes.update(self._change(member))
        check()
        self._state.write('delete aggregate')
        gone = self._state.aggregate_hosts.pop(reservation_id, None) is None
        return None if gone else changes

    def lease_aggregates(self) -> Mapping[str, Collection[str]]:
        return {
            key: set(members)
            for key, members in self._state.aggregate_hosts.items()
        }

    def origins(self) -> Mapping[str, str | None]:
        return {
            key: self._state.signed.get(key)
            for key in self._state.aggregate_hosts
        }

    def sign(self, reservation_id: str, database: str) -> None:
        self._state.write('sign aggregate')
        self._state.signed[reservation_id] = database
