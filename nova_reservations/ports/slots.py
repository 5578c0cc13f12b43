# SPDX-License-Identifier: Apache-2.0
"""Slots: the flavors, classes and inventories of reservations of a part of a
host."""

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
from typing import Protocol

from nova_reservations import objects
from nova_reservations.ports.calls import Check
from nova_reservations.ports.servers import Flavor
from nova_reservations.ports.servers import Occupancy
from nova_reservations.ports.servers import Server


@dataclasses.dataclass(frozen=True, slots=True)
class KnownFlavor:
    """A flavor that Nova has, and its request to placement.

    :ivar amounts: name of a shape -> units: see ``objects/shapes.py``.
    :ivar required: traits of the host itself; forbidden likewise.
    """

    id: str
    name: str
    is_public: bool
    flavor: Flavor
    amounts: Mapping[str, int]
    required: frozenset[str]
    forbidden: frozenset[str]


@dataclasses.dataclass(frozen=True, slots=True)
class ReservedSlots:
    """The slots of a reservation, as Nova must have them.

    :ivar user_id: whose the server group is.
    :ivar flavor: None: none of its own, its servers have others.
    :ivar hosts: where, and how many.
    :ivar sharers: other projects that may use the flavor, or might before.
    """

    reservation_id: str
    project_id: str
    user_id: str
    flavor: Flavor | None
    affinity: bool | None
    hosts: tuple[tuple[objects.Resource, int], ...]
    sharers: objects.Sharers = objects.NOBODY


class Slots(Protocol):
    """The resource classes, flavors and server groups of reservations."""

    def find_flavor(self, flavor_id: str, project_id: str) -> KnownFlavor:
        """Return a flavor that the project may use, by its id or, where none
        has that, its name.

        :raises: CloudRefused if there is none, or if what it asks for can't
            be counted
        """

    def ensure_slots(self, slots: ReservedSlots, check: Check) -> None:
        """Make the reservation's resource class, its inventories, flavor
        and server group be exactly so; the flavor is nobody's yet.

        Slots that servers hold stay theirs, whatever is told; from then on
        nobody gets one on a host that has fewer than are held. A host that is
        to have none keeps all that it has as long as one is held.

        :raises: CloudRefused if placement does not know a host
        """

    def has_slots(self, slots: ReservedSlots) -> bool:
        """Return whether Nova has the flavor so, by one look at its database;
        if no flavor is asked for, whether placement has the inventories so."""

    def allow_flavor(self, slots: ReservedSlots, check: Check) -> None:
        """Let the project and its sharers use the flavor, and former ones
        not."""

    def delete_slots(
        self,
        reservation_id: str,
        hosts: Collection[objects.Resource],
        check: Check,
    ) -> Collection[str]:
        """Take away all that ensure_slots and allow_flavor have made.

        :returns: consumers of placement that hold slots still: then the
            inventories and the class of these are left.
        """

    def withdraw_slots(
        self,
        reservation_id: str,
        hosts: Collection[objects.Resource],
        check: Check,
    ) -> Collection[str]:
        """Take the slots on these hosts away, but for hosts where any is held:
        nobody gets one there any more.

        :returns: the names of the hosts where some are left
        """

    def servers_in_slots(
        self,
        reservation_id: str,
        hosts: Collection[objects.Resource],
        servers: Collection[str],
    ) -> Occupancy:
        """Return the servers that have the reservation's flavor, or hold a
        slot of it, and those of servers that still exist.

        :param servers: UUIDs
        """

    def slots_taken(self, reservation_id: str, project_id: str) -> int:
        """Return how many slots of its reservation the project's servers hold:
        a server that is moved holds two."""

    def slots_held(
        self, reservation_id: str, hosts: Collection[objects.Resource]
    ) -> Mapping[str, int]:
        """Return service host -> how many slots of the reservation are held
        there, by whatever; all that were claimed before ensure_slots made
        them fewer are seen after it."""

    def forget_slots(
        self,
        reservation_id: str,
        servers: Collection[Server],
        check: Check,
    ) -> None:
        """Remove the slots from what Nova stores of servers that outlive the
        reservation, so that no move of them asks for one."""

    def offered_slots(
        self, hosts: Collection[objects.Resource]
    ) -> Mapping[str, Mapping[str, int]]:
        """Return reservation id -> service host -> slots, as placement has
        them on these hosts."""

    def owns_slots(self, reservation_id: str) -> bool:
        """Return whether the resource class is ours: Blazar gives its own the
        same names, and may still be there."""

    def slot_classes(self) -> Collection[str]:
        """Return the reservations of which placement has a class."""
