# SPDX-License-Identifier: Apache-2.0
"""Base class of types whose resources exist in Neutron, as objects of the
project, only while the lease is active.

A resource has a place in Neutron, such as an address, where only one object
can be. So the object at that place tells how far an earlier attempt, or an
earlier lease, has got.
"""

import abc
from collections.abc import Iterator
from collections.abc import Sequence
from typing import ClassVar
from typing import Generic
from typing import TypeVar

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.objects import states
from nova_reservations.types import base

M = TypeVar('M', bound=ports.Made)


class InNeutron(base.ResourceType, Generic[M]):
    """:cvar noun: what users call the object that is created.

    :cvar place: what users call its place, which no other object can have.
    """

    noun: ClassVar[str]
    place: ClassVar[str]

    @abc.abstractmethod
    def find(
        self, resources: base.Resources
    ) -> Iterator[tuple[objects.Resource, M | None]]:
        """Yield each resource with the object at its place, whoever owns it.

        :raises: CloudUnavailable
        """

    @abc.abstractmethod
    def label(self, resource: objects.Resource) -> str:
        """Return the name that users have for the resource's place."""

    @abc.abstractmethod
    def create(
        self,
        booking: base.Booking,
        resource: objects.Resource,
        mark: ports.Mark,
    ) -> None:
        """Create the object for the project.

        :raises: CloudRefused, CloudUnavailable
        """

    @abc.abstractmethod
    def tag(self, found: M, mark: ports.Mark, check: ports.Check) -> None:
        """Give the object the tags of the reservation.

        :raises: CloudUnavailable
        """

    @abc.abstractmethod
    def delete(
        self, found: M, booking: base.Booking
    ) -> Sequence[objects.Reason]:
        """Delete the object at the end; return why it still exists, if it
        does.

        :raises: CloudUnavailable
        """

    def leave(
        self, found: M, booking: base.Booking
    ) -> Sequence[objects.Reason]:
        """Delete the object of a resource that was replaced by another one."""
        return self.delete(found, booking)

    def start(self, booking: base.Booking) -> None:
        """Create the objects that do not exist yet.

        An object of the project at one of the places is taken as the promised
        one, whoever has created it. Most often that was a worker that was
        killed before it could tag the object.
        """
        mark = ports.Mark(booking.reservation.id, booking.database)
        for resource, found in self.find(booking.resources):
            if found is None:
                self.create(booking, resource, mark)
            elif found.project_id != booking.lease.project_id:
                raise self.taken(booking, resource)
            elif not (
                found.is_tagged and found.reservation_id == mark.reservation_id
            ):
                self.tag(found, mark, booking.check)

    def taken(
        self, booking: base.Booking, resource: objects.Resource
    ) -> exception.CloudRefused:
        """Return the exception for a place that somebody else has."""
        demand = self.demand(booking.reservation.params)
        is_named = demand is not None and resource.name in demand.named
        kind = (
            exception.NamedResourceTaken
            if is_named
            else exception.CloudRefused
        )
        return kind(
            what=f'The {self.noun} {self.label(resource)}',
            reason=f'somebody else has this {self.place}: an administrator '
            'has to look at it',
            resource=resource,
        )

    def end(self, booking: base.Booking) -> base.Waiting | None:
        """Delete the objects of the reservation.

        Before the start of the lease these are only the objects that bear the
        reservation's ID: others may be of an earlier lease of the project. A
        place that has an object of somebody else is reported, and kept.
        """
        reasons: list[objects.Reason] = []
        for resource, found in self.find(booking.resources):
            here = self._give_up(resource, found, booking)
            if not here:
                booking.vacated.append(resource)
            reasons += here
        return base.Waiting.on(reasons) if reasons else None

    def _give_up(
        self,
        resource: objects.Resource,
        found: M | None,
        booking: base.Booking,
    ) -> Sequence[objects.Reason]:
        """Delete the reservation's object at a place; return the reasons why
        the place is not free."""
        if found is None:
            return ()
        if is_of(found, booking):
            return self.delete(found, booking)
        if booking.reservation.status == states.Reservation.ACTIVE:
            return (self._stranger(resource, found),)
        return ()

    def heal(self, booking: base.Booking) -> None:
        self.update(booking)
        for _, found in self.find(booking.left):
            if found is not None and is_of(found, booking):
                self.leave(found, booking)

    def remains(self, booking: base.Booking) -> base.Remains:
        """Return as vacated the resources where the reservation has no object
        any more."""
        return base.Remains(
            tuple(
                resource
                for resource, found in self.find(booking.left)
                if found is None or not is_of(found, booking)
            )
        )

    def _stranger(
        self, resource: objects.Resource, found: M
    ) -> objects.Reason:
        where = f'the {self.place} {self.label(resource)}'
        return objects.Reason(
            f'somebody else has {where}: an administrator has to look at it',
            f'{self.noun} {found.id} of project {found.project_id} has '
            f'{where}: delete it, or give it another one',
        )


def is_of(found: ports.Made, booking: base.Booking) -> bool:
    """Return whether an object belongs to the reservation.

    It does if its tags or its description have the reservation's ID. From the
    start of the lease on, it is enough that the project has it, because the
    project may have changed these. This also holds while the start is not
    done, or has failed."""
    return found.reservation_id == booking.reservation.id or (
        booking.now >= booking.lease.start_date
        and found.project_id == booking.lease.project_id
    )
