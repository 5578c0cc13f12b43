# SPDX-License-Identifier: Apache-2.0
"""Base class of resource types; entry points nova_reservations.resources.

A resource type translates between the API, the planner and the cloud. It
never schedules. It keeps no state, because the engine calls it in any
process, in any order, and again after a crash.
"""

import abc
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
from typing import Any
from typing import ClassVar
from typing import Self

from oslo_config import cfg
from oslo_log import log

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.objects import demand

LOG = log.getLogger(__name__)

EXPRESSION: Mapping[str, Any] = {
    'type': ['string', 'array', 'object', 'null'],
    'maxLength': 16384,
}
"""Schema of the requirements that ``objects/requirements.py`` parses."""


def refused_change(
    reservation: objects.Reservation, reason: str
) -> exception.InvalidState:
    """Return the exception for a change that is no longer possible."""
    return exception.InvalidState(
        kind='Reservation',
        id=reservation.id,
        status=reservation.status,
        reason=reason,
    )


@dataclasses.dataclass(frozen=True, slots=True)
class Booking:
    """A reservation with its lease and its resources.

    :ivar slots: resource id -> the number of slots that the reservation has
        there; empty for reservations of whole resources.
    :ivar servers: UUIDs of servers that were created in it; some may be gone.
    :ivar chosen: those of them that came without naming it.
    :ivar now: the time.
    :ivar prepared: prepare() has finished for exactly these resources.
    :ivar settled: the end began so long ago that all servers that were let in
        before it can be seen by now. Until then a resource that looks empty
        may still get a server.
    :ivar check: call it before each write to Nova.
    :ivar ending: how long ago the end of the lease began.
    :ivar left: resources that have failed, or were replaced, and may still
        have something of the reservation on them. At an end they are among
        ``resources`` instead.
    :ivar warned_at: when the lease's event before its end is, or was, due.
    :ivar database: the name of the database that the lease is in.
    :ivar lease_servers: UUIDs of the servers that any reservation of the lease
        has let in, for types that want them; some may be gone.
    :ivar sharers: other projects whose servers may use the reservation.
    :ivar provider_changes: add to it the changes of hosts' providers that the
        cloud reports, so that those hosts are not inspected again because of
        them. A change that is left out, or lost, costs one such inspection.
    :ivar vacated: at an end that has to wait, add to it the resources that
        have nothing of the reservation on them, and can get nothing any more.
        Others have them from then on, and the end goes on without them.
    :ivar emptied: resource id -> when an operator asked that the servers of
        the reservation be moved off it; only of resources that were left.
    :ivar parts: name -> part, of a reservation that expands into others. The
        parts have started before this reservation, and end after it.
    """

    lease: objects.Lease
    reservation: objects.Reservation
    resources: tuple[objects.Resource, ...]
    slots: Mapping[int, int]
    servers: frozenset[str]
    now: datetime.datetime
    prepared: bool
    settled: bool
    check: ports.Check
    chosen: frozenset[str] = frozenset()
    ending: datetime.timedelta = datetime.timedelta(0)
    left: tuple[objects.Resource, ...] = ()
    warned_at: datetime.datetime | None = None
    database: str = ''
    lease_servers: frozenset[str] = frozenset()
    sharers: objects.Sharers = objects.NOBODY
    provider_changes: list[ports.GenerationChanges] = dataclasses.field(
        default_factory=list
    )
    vacated: list[objects.Resource] = dataclasses.field(default_factory=list)
    emptied: Mapping[int, datetime.datetime] = dataclasses.field(
        default_factory=dict
    )
    parts: Mapping[str, 'Booking'] = dataclasses.field(default_factory=dict)

    @property
    def projects(self) -> frozenset[str]:
        """The projects whose servers may use the reservation."""
        return self.sharers.all | {self.lease.project_id}

    def order(self, attempt: int = 0) -> ports.Order:
        """Return the order to change servers of the reservation."""
        key = ports.RequestKey(self.reservation.id, attempt)
        return ports.Order(key, self.check, self.now)

    @classmethod
    def looked_at(
        cls,
        lease: objects.Lease,
        reservation: objects.Reservation,
        resources: tuple[objects.Resource, ...],
        now: datetime.datetime,
    ) -> Self:
        """Return a booking of whole resources for read-only calls."""
        return cls(
            lease=lease,
            reservation=reservation,
            resources=resources,
            slots={},
            servers=frozenset(),
            now=now,
            prepared=lease.prepared,
            settled=True,
            check=lambda: None,
        )


Resources = tuple[objects.Resource, ...]


def parts(
    holdings: Iterable[objects.Holding],
) -> tuple[Resources, Resources]:
    """Return the usable resources of a reservation, and the others that may
    still have something of it.

    A resource that another reservation has not left yet is in neither: this
    reservation never had anything on it.
    """
    usable, left = [], []
    for holding in holdings:
        if holding.usable:
            usable.append(holding.resource)
        elif not holding.occupied:
            left.append(holding.resource)
    return tuple(usable), tuple(left)


MAX_TOLD = 20
"""A text names so many of the items that a step waits for."""


@dataclasses.dataclass(frozen=True, slots=True)
class Waiting:
    """The reason why a step is not over, in words for the owner.

    :ivar count: how many servers it waits for; many are polled less often.
    :ivar detail: the reason for the log and for administrators, where it
        names things that the owner must not see.
    """

    reason: str
    count: int = 1
    detail: str | None = None

    @classmethod
    def on(cls, reasons: Sequence[objects.Reason]) -> Self:
        """Return one object that waits for all of the reasons; its text has
        only the first of them."""
        why = objects.Reason.join(reasons, MAX_TOLD)
        return cls(why.told, len(reasons), why.detail)

    @property
    def why(self) -> objects.Reason:
        return objects.Reason(self.reason, self.detail or self.reason)


@dataclasses.dataclass(frozen=True, slots=True)
class Remains:
    """The state of the resources that a reservation had to leave.

    :ivar vacated: those that have nothing of the reservation on them.
    :ivar movable: heal() can take something off the others now.
    """

    vacated: tuple[objects.Resource, ...]
    movable: bool = False


def stored_demand(
    kind: 'ResourceType', params: Mapping[str, Any], whose: str
) -> demand.Ask | None:
    """Return the demand of a stored reservation. None: it has none, or its
    params are no longer valid, because the configuration has changed.

    For callers that look at many reservations: an invalid one is logged, and
    must not hold up the others.

    :param whose: what the log is to call the reservation
    """
    try:
        return kind.demand(params)
    except exception.InvalidInput as error:
        LOG.warning(
            'The demand of %(whose)s is ignored, for it is not valid any '
            'more: %(reason)s',
            {'whose': whose, 'reason': error},
        )
        return None


class ResourceType(abc.ABC):
    """One type of resource.

    :cvar schema: JSON Schema of one item of a lease's ``reservations`` at
        create, without ``resource_type``.
    :cvar update_schema: the same at update, without ``id``.
    :cvar comes_alone: no request for a lease can ask for this type: such a
        reservation is made along with something else that is asked for.
    :cvar resource_type: the type of the resources that the demands name, as
        which operators add them; None: the name of this type itself.
    :cvar nouns: what refusals call one of these resources, and several.
    :cvar shareable: whether the owner of a reservation can share it, so that
        servers of other projects may use it.
    :cvar wants_lease_servers: whether bookings have ``lease_servers`` when a
        reservation begins or ends.
    :cvar given_properties: properties that follow from the name or the place
        of a resource; nobody can set them to anything else.
    :cvar hidden_properties: properties that no request can name, because
        their values tell of things that a project may not see. Lists of
        properties show them to administrators only.
    """

    schema: ClassVar[Mapping[str, Any]]
    update_schema: ClassVar[Mapping[str, Any]]
    comes_alone: ClassVar[bool] = False
    resource_type: ClassVar[str | None] = None
    nouns: ClassVar[tuple[str, str]] = 'resource', 'resources'
    shareable: ClassVar[bool] = False
    wants_lease_servers: ClassVar[bool] = False
    given_properties: ClassVar[Collection[str]] = ()
    hidden_properties: ClassVar[Collection[str]] = ()

    def __init__(self, cloud: ports.Cloud, conf: cfg.ConfigOpts) -> None:
        self.cloud = cloud
        self.conf = conf

    def look_up(
        self, asked: Mapping[str, Any], project_id: str
    ) -> Mapping[str, Any]:
        """Return the params with the facts that only the cloud knows.

        Called before validate(), and outside of any transaction. asked has
        passed the schema; at update it has the changes alone.

        :raises: InvalidInput
        """
        return asked

    def look_up_all(
        self, asked: Sequence[Mapping[str, Any]], project_id: str
    ) -> Sequence[Mapping[str, Any]]:
        """Do what look_up() does for all reservations of this type in one
        request, in the same order.

        Override it where the cloud may take long to answer: a thread of
        nova-api waits for it.

        :raises: InvalidInput
        """
        return [self.look_up(each, project_id) for each in asked]

    @abc.abstractmethod
    def validate(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Return the params to store; asked has passed the schema.

        At update, asked is the stored params with the changes over them.

        :raises: InvalidInput
        """

    def check_active_change(  # noqa: B027
        self, reservation: objects.Reservation, params: Mapping[str, Any]
    ) -> None:
        """Refuse changes that are not possible once servers may be there.

        :param params: the new ones, as they were validated
        :raises: InvalidState
        """

    @abc.abstractmethod
    def demand(self, params: Mapping[str, Any]) -> demand.Ask | None:
        """Return the demand of these params; None: there is none."""

    def inspect(
        self, name: str, inventories: Mapping[str, int]
    ) -> Mapping[str, int]:
        """Return the inventories of a resource that an operator adds,
        completed and checked by what the cloud says.

        The resource is of the type that the demands name.

        :raises: InvalidInput for one that can not be leased
        :raises: CloudUnavailable
        """
        return inventories

    def check_larger(  # noqa: B027
        self, name: str, inventories: Mapping[str, int]
    ) -> None:
        """Refuse larger inventories of a known resource, if the cloud says
        that it has less.

        :param inventories: only those that become larger
        :raises: InvalidInput, CloudUnavailable
        """

    def aftermath(self, params: Mapping[str, Any]) -> datetime.timedelta:
        """Return for how long after the end of its lease a reservation keeps
        its resources; nobody else is promised them meanwhile."""
        return datetime.timedelta(0)

    def receive(self, booking: Booking) -> None:  # noqa: B027
        """Prepare what Nova needs for the request that creates the servers of
        a lease that starts now.

        Called just before the request is passed on to Nova.

        :raises: CloudRefused, CloudUnavailable: then Nova does not get it
        """

    def exists(self, booking: Booking) -> bool:
        """Return whether Nova has made anything of the request that came with
        the lease.

        Called where nobody has received Nova's answer to that request."""
        return False

    def prepare(self, booking: Booking) -> Waiting | None:
        """Do the part of the start that gives nobody access, ahead of it.

        Called again, later, as long as it or another reservation of the
        lease returns Waiting.

        :raises: Hopeless, and the lease goes to ERROR
        :raises: CloudRefused, and the start tries again
        """
        return None

    def is_ready(self, booking: Booking) -> bool:
        """Return whether start() would have nothing to do for a reservation
        that is prepared.

        Leases that are due in the same second, and for which this is true,
        are started together in one transaction.

        :raises: CloudUnavailable
        """
        return False

    @abc.abstractmethod
    def start(self, booking: Booking) -> Waiting | None:
        """Give the resources to the project.

        Called again, later, as long as it or another reservation of the
        lease returns Waiting.

        :raises: CloudRefused, and the lease goes to ERROR
        """

    def before_end(self, booking: Booking) -> Waiting | None:
        """Begin the event action shortly before the end.

        Called again, later, as long as it or another reservation of the
        lease returns Waiting.

        :raises: CloudRefused; it is reported, and the lease goes on
        """
        return None

    @abc.abstractmethod
    def end(self, booking: Booking) -> Waiting | None:
        """Take the resources back.

        Also undoes prepare(), or a start that failed. Then the reservation is
        not active, and an earlier lease may still have its resources.

        Called again, later, as long as it or another reservation of the lease
        returns Waiting; then without the resources that were vacated.
        """

    def lacking(self, booking: Booking) -> Sequence[str]:
        """Return, in words, what somebody has deleted of what start() made."""
        return ()

    def update(self, booking: Booking) -> None:
        """Make the cloud match the resources that an active reservation has
        now."""
        self.start(booking)

    def heal(self, booking: Booking) -> None:
        """Do the same when resources were given in place of those in
        ``booking.left``, and move off the latter what can be moved."""
        self.update(booking)

    def unused(self, booking: Booking) -> Resources:
        """Return the resources of an active reservation that surely have
        nothing on them; they may be taken away."""
        return ()

    def remains(self, booking: Booking) -> Remains:
        """Inspect the resources that an active reservation had to leave,
        ``booking.left``; nobody else has them before they are vacated. By
        default they count as vacated when heal() is over."""
        return Remains(booking.left if booking.prepared else ())

    def usage(
        self,
        lease: objects.Lease,
        reservation: objects.Reservation,
        resources: Collection[objects.Resource],
        servers: Collection[str],
    ) -> Mapping[str, Any]:
        """Return what the API shows of one active reservation in addition,
        after asking the cloud.

        :param resources: those that it has, or has not left yet
        :param servers: UUIDs of servers that use it without having asked
        :raises: CloudRefused, CloudUnavailable; nothing is shown then
        """
        return {}

    def show(self, reservation: objects.Reservation) -> Mapping[str, Any]:
        """Return what the API shows of a reservation, beside or in place of
        the fields that all types have."""
        return reservation.params
