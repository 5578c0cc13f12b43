# SPDX-License-Identifier: Apache-2.0
"""Base class of types whose resources exist in Neutron, as objects of the
project, only while the lease is active.

A resource has a place in Neutron, such as an address, where only one object
can be. So the object at that place tells how far an earlier attempt, or an
earlier lease, has got.
"""

import abc
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from typing import ClassVar
from typing import Generic
from typing import TypeVar

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.db.upkeep import records
from nova_reservations.objects import states
from nova_reservations.types import audited
from nova_reservations.types import base
from nova_reservations.types import checked
from nova_reservations.types import enrols
from nova_reservations.types.audited import Finding

M = TypeVar('M', bound=ports.Made)


_USER = (
    '[neutron] of nova.conf, or in [service_user] if [neutron] has no '
    'auth_type'
)


class InNeutron(audited.Audited, checked.Checked, enrols.Enrols, Generic[M]):
    """:cvar noun: what users call the object that is created.

    :cvar place: what users call its place, which no other object can have.
    :cvar noun_at: what audits call an object, followed by its place.
    """

    resource_type: ClassVar[str]
    check_name = 'Neutron'
    noun: ClassVar[str]
    place: ClassVar[str]
    noun_at: ClassVar[str]

    @abc.abstractmethod
    def find(
        self, resources: base.Resources
    ) -> Iterator[tuple[objects.Resource, M | None]]:
        """Yield each resource with the object at its place, whoever owns it.

        :raises: CloudUnavailable
        """

    @abc.abstractmethod
    def label(self, name: str) -> str:
        """Return what users call the place of the resource of a name."""

    @abc.abstractmethod
    def name_at(self, found: M) -> str:
        """Return the name of the resource at whose place an object is."""

    @abc.abstractmethod
    def find_marked(self) -> Collection[M]:
        """Return all objects with the tag of reservations."""

    @abc.abstractmethod
    def misplaced(self, names: Collection[str]) -> Iterator[Finding]:
        """Yield findings of the places of these resources that not only leases
        can have any more."""

    @abc.abstractmethod
    def leftover(self, found: M, problem: str) -> Finding:
        """Return the finding that an object belongs to a lease that is
        over."""

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
            what=f'The {self.noun} {self.label(resource.name)}',
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

    def setup_failures(self) -> Iterator[str]:
        """Yield why objects can't be created for projects."""
        try:
            self.find_marked()
            acts_everywhere = self.cloud.networks.acts_everywhere()
        except exception.CloudUnavailable as error:
            yield (
                f'{error}. Look at the credentials and the endpoint in '
                f'{_USER}. Floating IPs also need the service plugin router '
                'of Neutron.'
            )
            return
        if not acts_everywhere:
            yield (
                f'To Neutron the user in {_USER}, is no administrator, '
                'who alone sees and makes what other projects have: openstack '
                'role add --project PROJECT --user USER admin, with the '
                'project that is named there'
            )

    def audit(self, known: records.Records) -> Iterator[Finding]:
        leasable = known.leasable(self.resource_type)
        if not leasable:
            return
        seen = {
            resource.name: found
            for resource, found in self.find(
                tuple(each.resource for each in leasable)
            )
            if found is not None
        }
        yield from self.misplaced([each.name for each in leasable])
        yield from self._lost(seen, known)
        holders = known.holders(self.resource_type)
        for name in sorted(strangers(seen, holders)):
            found = seen[name]
            yield Finding(
                f'{self.place[0].upper()}{self.place[1:]} {self.label(name)} '
                f'is for leases, and {self.noun} {found.id} of project '
                f'{found.project_id} has it, which is of none: delete it, or '
                f'remove the {self.place}'
            )
        yield from self._left(seen, known)

    def _lost(
        self, seen: Mapping[str, M], known: records.Records
    ) -> Iterator[Finding]:
        """Yield findings of what active leases should have and lack."""
        for each in known.leased(self.resource_type):
            found = seen.get(each.name)
            if found is not None and (
                found.project_id != each.project_id
                or (
                    found.is_tagged
                    and found.reservation_id == each.reservation_id
                )
            ):
                # What is another project's has a finding of its own.
                continue
            yield Finding(
                f'{self.noun_at} {self.label(each.name)} of reservation '
                f'{each.reservation_id} is not in Neutron, or without its '
                'tags',
                known.made_again(each.lease_id),
            )

    def _left(
        self, seen: Mapping[str, M], known: records.Records
    ) -> Iterator[Finding]:
        """Yield findings of what belongs to leases that are over.

        What belongs to another database, or to Blazar, is reported only if it
        is in the way, and has no repair: only its owner knows about it.
        """
        marked = {
            each.id: each
            for each in (*seen.values(), *self.find_marked())
            if each.reservation_id is not None
        }
        recorded = known.recorded(
            {each.reservation_id or '' for each in marked.values()}
        )
        in_the_way = {each.id for each in seen.values()}
        for made in marked.values():
            is_alive = recorded.get(made.reservation_id or '')
            if is_alive:
                continue
            problem = (
                f'{self.noun_at} {self.label(self.name_at(made))} of '
                f'reservation {made.reservation_id} is of no lease'
            )
            if made.database == known.ours or is_alive is not None:
                yield self.leftover(made, f'{problem} any more')
            elif made.id in in_the_way:
                yield Finding(
                    f'{problem} of this database: see which other one, or '
                    'which Blazar, is in use. If that is gone for ever, '
                    'delete it in Neutron'
                )

    def _stranger(
        self, resource: objects.Resource, found: M
    ) -> objects.Reason:
        where = f'the {self.place} {self.label(resource.name)}'
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


def strangers(
    found: Mapping[str, ports.Made], *holders: Mapping[str, Collection[str]]
) -> set[str]:
    """Return the names of the resources at whose places is an object that
    belongs to no lease.

    An object without a reservation's ID still belongs to a lease if the
    project of the lease has it: a project can remove the ID.

    :param found: name of a resource -> the object at its place
    :param holders: name of a resource -> the projects that held it; as of
        before the objects were read, and after
    """
    return {
        name
        for name, made in found.items()
        if made.reservation_id is None
        and not any(made.project_id in at.get(name, ()) for at in holders)
    }
