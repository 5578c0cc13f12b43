# SPDX-License-Identifier: Apache-2.0
"""The slots of a cloud in memory."""

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.testing import fake_moves
from nova_reservations.testing import fake_state


class FakeSlots:
    def __init__(self, state: fake_state.State) -> None:
        self._state = state

    def find_flavor(
        self, flavor_id: str, project_id: str
    ) -> ports.KnownFlavor:
        known = self._state.known_flavors.get(flavor_id) or next(
            (
                each
                for each in self._state.known_flavors.values()
                if each.name == flavor_id
            ),
            None,
        )
        flavor_id = known.id if known else flavor_id
        users = self._state.flavor_projects.get(flavor_id, ())
        if known is None or not (known.is_public or project_id in users):
            raise exception.CloudRefused(
                what=f'Flavor {flavor_id}', reason='it could not be found'
            )
        return known

    def ensure_class(self, slots: ports.ReservedSlots) -> None:
        self._state.write('create class')
        self._state.classes.setdefault(slots.reservation_id, {})

    def ensure_flavor(
        self, slots: ports.ReservedSlots, check: ports.Check
    ) -> None:
        check()
        self.ensure_class(slots)
        self._ensure_flavor(slots, check)

    def ensure_slots(
        self, slots: ports.ReservedSlots, check: ports.Check
    ) -> None:
        check()
        self.ensure_class(slots)
        offered = self._state.classes[slots.reservation_id]
        wanted = {host.name: count for host, count in slots.hosts}
        for name in sorted(offered.keys() | wanted):
            check()
            self._state.write('set slots')
            if name not in wanted and not self._state.held_on(
                slots.reservation_id, name
            ):
                offered.pop(name, None)
            if name in wanted:
                if name not in self._state.known:
                    raise exception.HostRefused([name], 'it is unknown')
                offered[name] = wanted[name]
        self._ensure_flavor(slots, check)

    def _ensure_flavor(
        self, slots: ports.ReservedSlots, check: ports.Check
    ) -> None:
        if slots.flavor is not None:
            check()
            self._state.write('create flavor')
            if self._state.flavors.get(slots.reservation_id) != slots.flavor:
                self._state.admitted.pop(slots.reservation_id, None)
            self._state.flavors[slots.reservation_id] = slots.flavor
        check()
        self._state.groups.pop(slots.reservation_id, None)
        if slots.affinity is not None:
            self._state.write('create group')
            self._state.groups[slots.reservation_id] = slots.affinity

    def has_slots(self, slots: ports.ReservedSlots) -> bool:
        if slots.flavor is None:
            offered = self._state.classes.get(slots.reservation_id, {})
            return offered == {host.name: n for host, n in slots.hosts}
        return self._state.flavors.get(slots.reservation_id) == slots.flavor

    def allow_flavor(
        self, slots: ports.ReservedSlots, check: ports.Check
    ) -> None:
        if slots.flavor is None:
            return
        if slots.reservation_id not in self._state.flavors:
            raise exception.CloudRefused(
                what=f'Flavor {slots.reservation_id}',
                reason='somebody has deleted it',
            )
        check()
        self._state.write('admit')
        self._state.admitted[slots.reservation_id] = slots.project_id
        self._state.flavor_sharers[slots.reservation_id] = (
            slots.sharers.present
        )

    def lacking(self, slots: ports.ReservedSlots) -> list[str]:
        key, state = slots.reservation_id, self._state
        found = []
        if slots.flavor is not None:
            if state.flavors.get(key) != slots.flavor:
                found.append('its flavor is gone, or was changed')
            elif (
                state.admitted.get(key) != slots.project_id
                or state.flavor_sharers.get(key) != slots.sharers.present
            ):
                found.append('a project has no access to its flavor')
        if state.groups.get(key) != slots.affinity:
            found.append('its server group is gone, or was changed')
        return found

    def delete_slots(
        self,
        reservation_id: str,
        hosts: Collection[objects.Resource],
        check: ports.Check,
    ) -> Collection[str]:
        check()
        self._state.write('delete flavor')
        for known in (
            self._state.flavors,
            self._state.admitted,
            self._state.flavor_sharers,
            self._state.groups,
        ):
            known.pop(reservation_id, None)
        stuck = self._state.stuck.get(reservation_id)
        if stuck:
            return stuck
        check()
        self._state.write('delete class')
        self._state.classes.pop(reservation_id, None)
        return ()

    def withdraw_slots(
        self,
        reservation_id: str,
        hosts: Collection[objects.Resource],
        check: ports.Check,
    ) -> Collection[str]:
        offered = self._state.classes.get(reservation_id, {})
        left = set()
        for host in hosts:
            check()
            self._state.write('set slots')
            if self._state.held_on(reservation_id, host.name):
                left.add(host.name)
            else:
                offered.pop(host.name, None)
        return left

    def servers_in_slots(
        self,
        reservation_id: str,
        hosts: Collection[objects.Resource],
        servers: Collection[str],
        chosen: Collection[str] = (),
    ) -> ports.Occupancy:
        self._state.check_cells(host.name for host in hosts)
        known = self._state.at_rest | self._state.instances
        found = {
            server.uuid: server
            for server in known.values()
            if server.uuid in servers
            and self._is_named(server, reservation_id, chosen)
            and not (hosts and server.host)
        }
        for server in known.values():
            for there in self._in_slot(server, reservation_id):
                found[server.uuid] = there
        return ports.Occupancy(
            servers=tuple(found.values()),
            leftovers=tuple(sorted(self._state.stuck.get(reservation_id, ()))),
        )

    def _is_named(
        self,
        server: ports.Server,
        reservation_id: str,
        chosen: Collection[str],
    ) -> bool:
        named = self._state.reservation_of.get(server.uuid)
        return named == reservation_id or (
            named is None and server.uuid in chosen
        )

    def _in_slot(
        self, server: ports.Server, reservation_id: str
    ) -> Iterator[ports.Server]:
        for place in fake_moves.places(self._state, server):
            if place.reservation_id == reservation_id and (
                reservation_id in self._state.flavors
                or place.host in self._state.classes.get(reservation_id, ())
            ):
                yield fake_moves.at(self._state, server, place)
                return

    def slots_taken(self, reservation_id: str, project_id: str) -> int:
        return sum(
            place.reservation_id == reservation_id and bool(place.host)
            for server in self._state.instances.values()
            if server.project_id == project_id
            for place in fake_moves.places(self._state, server)
        )

    def slots_held(
        self, reservation_id: str, hosts: Collection[objects.Resource]
    ) -> Mapping[str, int]:
        return {
            host.name: self._state.held_on(reservation_id, host.name)
            for host in hosts
        }

    def forget_slots(
        self,
        reservation_id: str,
        servers: Collection[ports.Server],
        check: ports.Check,
    ) -> None:
        for server in servers:
            check()
            self._state.write('forget slot')
            if server.uuid in self._state.instances:
                # It holds its slot until it leaves its host.
                self._state.forgotten.add(server.uuid)
            else:
                self._state.reservation_of.pop(server.uuid, None)

    def offered_slots(
        self, hosts: Collection[objects.Resource]
    ) -> Mapping[str, Mapping[str, int]]:
        names = {host.name for host in hosts}
        found = {
            key: {name: slots[name] for name in names & slots.keys()}
            for key, slots in self._state.classes.items()
        }
        return {key: slots for key, slots in found.items() if slots}

    def owns_slots(self, reservation_id: str) -> bool:
        return reservation_id not in self._state.foreign

    def slot_classes(self) -> Collection[str]:
        return set(self._state.classes)
