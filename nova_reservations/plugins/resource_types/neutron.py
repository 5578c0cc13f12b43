# SPDX-License-Identifier: Apache-2.0
"""Base class of types whose resources become something of the project's in
Neutron at the start, and are nothing before and after it.

A resource has a place in Neutron where only one thing can be, such as an
address: so what is there tells how far whoever came before has got.
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
from nova_reservations.plugins.resource_types import base

M = TypeVar('M', bound=ports.Made)


class InNeutron(base.ResourceType, Generic[M]):
    """:cvar noun: the name of what is made.

    :cvar place: the name of what it has, and nobody else can have.
    """

    noun: ClassVar[str]
    place: ClassVar[str]

    @abc.abstractmethod
    def find(
        self, resources: base.Resources
    ) -> Iterator[tuple[objects.Resource, M | None]]:
        """Yield each resource with what is at its place, whoever's it is.

        :raises: CloudUnavailable
        """

    @abc.abstractmethod
    def label(self, resource: objects.Resource) -> str:
        """Return what users call its place."""

    @abc.abstractmethod
    def create(
        self,
        booking: base.Booking,
        resource: objects.Resource,
        mark: ports.Mark,
    ) -> None:
        """Make what the project gets.

        :raises: CloudRefused, CloudUnavailable
        """

    @abc.abstractmethod
    def tag(self, found: M, mark: ports.Mark, check: ports.Check) -> None:
        """Give it the tags of the reservation.

        :raises: CloudUnavailable
        """

    @abc.abstractmethod
    def delete(
        self, found: M, booking: base.Booking
    ) -> Sequence[objects.Reason]:
        """Delete it at the end; return why it is there still, if it is.

        :raises: CloudUnavailable
        """

    def leave(
        self, found: M, booking: base.Booking
    ) -> Sequence[objects.Reason]:
        """The same when the reservation has another one instead."""
        return self.delete(found, booking)

    def start(self, booking: base.Booking) -> None:
        """Create what is not there yet.

        What is there and of the project is what it was promised, whoever
        has made it: most often a worker that was killed before it gave it
        its tags.
        """
        mark = ports.Mark(booking.reservation.id, booking.database)
        for resource, found in self.find(booking.resources):
            if found is None:
                self.create(booking, resource, mark)
            elif found.project_id != booking.lease.project_id:
                raise exception.CloudRefused(
                    what=f'The {self.noun} {self.label(resource)}',
                    reason=f'somebody else has this {self.place}: an '
                    'administrator has to look at it',
                )
            elif not (
                found.is_tagged and found.reservation_id == mark.reservation_id
            ):
                self.tag(found, mark, booking.check)

    def end(self, booking: base.Booking) -> base.Waiting | None:
        """Delete what is its own; before its time only what bears its name:
        what else is at these places may be an earlier lease's of the same
        project.

        A place that is somebody else's is told of, and held.
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
        """Delete what the reservation has at a place; return what keeps the
        place from being free."""
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
        """Return those at which the project has nothing any more."""
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
    """Return whether something is the reservation's: it bears its name, or,
    from its start on, is at least the project's, which may have changed that:
    also while the start is not done, or has failed."""
    return found.reservation_id == booking.reservation.id or (
        booking.now >= booking.lease.start_date
        and found.project_id == booking.lease.project_id
    )
