# SPDX-License-Identifier: Apache-2.0
"""Slots: the flavors, classes and inventories of reservations of a part of a
host."""

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
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

    :ivar user_id: the owner of the server group.
    :ivar flavor: None: the reservation has no flavor of its own; its servers
        have others.
    :ivar hosts: hosts, and the number of slots on each.
    :ivar sharers: other projects that may use the flavor, or could before.
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
        """Return a flavor that the project may use, by its id or, if no flavor
        has that id, by its name.

        :raises: CloudRefused if there is none, or if what it asks for can't
            be counted
        """

    def ensure_class(self, slots: ReservedSlots) -> None:
        """Make the resource class by which leftovers of the reservation are
        found."""

    def ensure_flavor(self, slots: ReservedSlots, check: Check) -> None:
        """Make all that ensure_slots makes beside inventories: no host offers
        slots yet. Workers may make the same at the same time.

        The resource class comes first: leftovers are found by it.
        """

    def ensure_slots(self, slots: ReservedSlots, check: Check) -> None:
        """Make the reservation's resource class, its inventories, flavor and
        server group be exactly so; no project may use the flavor by it.

        Servers keep the slots that they hold. A host that is to have fewer
        slots than are held gives out no more; one that is to have none keeps
        all its slots as long as one is held.

        :raises: HostRefused if placement does not know a host
        """

    def has_slots(self, slots: ReservedSlots) -> bool:
        """Return whether Nova has exactly this flavor, by one look at its
        database. If the slots have no flavor, return whether placement has
        exactly these inventories."""

    def allow_flavor(self, slots: ReservedSlots, check: Check) -> None:
        """Let the project and its sharers use the flavor, and former sharers
        no longer."""

    def lacking(self, slots: ReservedSlots) -> Sequence[str]:
        """Return, in words, what is not as ensure_slots and allow_flavor make
        it, apart from the inventories. What others have added is fine."""

    def delete_slots(
        self,
        reservation_id: str,
        hosts: Collection[objects.Resource],
        check: Check,
    ) -> Collection[str]:
        """Take away all that ensure_slots and allow_flavor have made.

        :returns: consumers of placement that still hold slots: the inventories
            and the resource class of these are left.
        """

    def withdraw_slots(
        self,
        reservation_id: str,
        hosts: Collection[objects.Resource],
        check: Check,
    ) -> Collection[str]:
        """Take away the slots on those of these hosts where none is held, so
        that nobody gets one there any more.

        :returns: the names of the hosts that still have slots
        """

    def servers_in_slots(
        self,
        reservation_id: str,
        hosts: Collection[objects.Resource],
        servers: Collection[str],
        chosen: Collection[str] = (),
    ) -> Occupancy:
        """Return the servers that belong to the reservation, and those that
        have been moved out of it, and of which a migration still holds a slot.

        A server belongs to the reservation whose slot it holds; while it has
        no allocation of its own, to the one whose slot its migration holds. A
        server that is on no host and holds nothing belongs to the one that its
        flavor names. If that names none, it belongs to the one that it has
        come to without naming it.

        :param hosts: those on which slots are looked for; if there are none,
            servers on hosts belong to the reservation by their flavors.
        :param servers: UUIDs of the servers that have come to it, now or ever
        :param chosen: those of them that have come without naming it

        Decision 0063: doc/source/decisions/0063-who-counts-it-has-it
        """

    def slots_taken(self, reservation_id: str, project_id: str) -> int:
        """Return how many slots of its reservation the project's servers hold:
        a server that is moved holds two."""

    def slots_held(
        self, reservation_id: str, hosts: Collection[objects.Resource]
    ) -> Mapping[str, int]:
        """Return service host -> how many slots of the reservation are held
        there, by any consumer. After ensure_slots has lowered their number,
        all slots that were claimed before are seen."""

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
