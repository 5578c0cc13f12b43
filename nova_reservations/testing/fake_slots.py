# SPDX-License-Identifier: Apache-2.0
"""The slots of a cloud in memory."""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports


class FakeSlots:
    """:ivar classes: reservation id -> host -> slots.

    :ivar tenancy: server -> the reservation whose flavor it has, or in
        which it was guaranteed a place.
    :ivar foreign: classes that others have made.
    :ivar stuck: reservation id -> consumers that never give their slots up.
    """

    servers: dict[str, ports.Server]
    aggregates: dict[str, set[str]]
    _write: Callable[[str], None]

    def __init__(self) -> None:
        self.known_flavors: dict[str, ports.KnownFlavor] = {}
        self.classes: dict[str, dict[str, int]] = {}
        self.flavors: dict[str, ports.Flavor] = {}
        self.admitted: dict[str, str] = {}
        self.groups: dict[str, bool] = {}
        self.tenancy: dict[str, str] = {}
        self.stuck: dict[str, set[str]] = {}
        self.foreign: set[str] = set()

    def find_flavor(
        self, flavor_id: str, project_id: str
    ) -> ports.KnownFlavor:
        try:
            return self.known_flavors[flavor_id]
        except KeyError:
            raise exception.CloudRefused(
                what=f'Flavor {flavor_id}', reason='it could not be found'
            ) from None

    def ensure_slots(self, slots: ports.Slots, check: ports.Check) -> None:
        check()
        self._write('create class')
        offered = self.classes.setdefault(slots.reservation_id, {})
        wanted = {host.name: count for host, count in slots.hosts}
        for name in sorted(offered.keys() | wanted):
            check()
            self._write('set slots')
            offered.pop(name, None)
            if name in wanted:
                offered[name] = wanted[name]
        if slots.flavor is not None:
            check()
            self._write('create flavor')
            if self.flavors.get(slots.reservation_id) != slots.flavor:
                self.admitted.pop(slots.reservation_id, None)
            self.flavors[slots.reservation_id] = slots.flavor
        self.groups.pop(slots.reservation_id, None)
        if slots.affinity is not None:
            self.groups[slots.reservation_id] = slots.affinity

    def has_slots(self, slots: ports.Slots) -> bool:
        if slots.flavor is None:
            offered = self.classes.get(slots.reservation_id, {})
            return offered == {host.name: n for host, n in slots.hosts}
        return self.flavors.get(slots.reservation_id) == slots.flavor

    def allow_flavor(self, slots: ports.Slots, check: ports.Check) -> None:
        if slots.flavor is None:
            return
        check()
        self._write('admit')
        self.admitted[slots.reservation_id] = slots.project_id

    def delete_slots(
        self,
        reservation_id: str,
        hosts: Collection[objects.Resource],
        check: ports.Check,
    ) -> Collection[str]:
        check()
        self._write('delete flavor')
        for things in (self.flavors, self.admitted, self.groups):
            things.pop(reservation_id, None)
        stuck = self.stuck.get(reservation_id)
        if stuck:
            return stuck
        check()
        self._write('delete class')
        self.classes.pop(reservation_id, None)
        return ()

    def tenants(
        self,
        reservation_id: str,
        hosts: Collection[objects.Resource],
        servers: Collection[str],
    ) -> ports.Occupancy:
        return ports.Occupancy(
            servers=tuple(
                server
                for server in self.servers.values()
                if self._holds(server, reservation_id)
                or server.uuid in servers
            ),
            leftovers=tuple(sorted(self.stuck.get(reservation_id, ()))),
        )

    def _holds(self, server: ports.Server, reservation_id: str) -> bool:
        return self.tenancy.get(server.uuid) == reservation_id and (
            reservation_id in self.flavors
            or server.host in self.classes.get(reservation_id, ())
        )

    def free_slots(self, reservation_id: str) -> list[str]:
        """Return the hosts on which a server of it would land."""
        return [
            host
            for host, slots in sorted(self.classes[reservation_id].items())
            if host in self.aggregates.get(reservation_id, ())
            and slots
            > sum(
                1
                for server in self.servers.values()
                if server.host == host
                and self.tenancy.get(server.uuid) == reservation_id
            )
        ]

    def slots_taken(self, reservation_id: str, project_id: str) -> int:
        tenants = self.tenants(reservation_id, (), ())
        return sum(1 for server in tenants.servers if server.host)

    def forget_slots(
        self,
        reservation_id: str,
        servers: Collection[ports.Server],
        check: ports.Check,
    ) -> None:
        for server in servers:
            check()
            self._write('forget slot')
            self.tenancy.pop(server.uuid, None)

    def offered_slots(
        self, hosts: Collection[objects.Resource]
    ) -> Mapping[str, Mapping[str, int]]:
        return {key: dict(slots) for key, slots in self.classes.items()}

    def owns_slots(self, reservation_id: str) -> bool:
        return reservation_id not in self.foreign

    def slot_classes(self) -> Collection[str]:
        return set(self.classes)
