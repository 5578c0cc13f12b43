# SPDX-License-Identifier: Apache-2.0
"""Base class of resource types; entry points nova_reservations.resources.

A resource type converts and names. It never schedules, and it keeps no
state: the engine calls it in any process, in any order, and again after a
crash.
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
"""Schema of requirements, as ``objects/requirements.py`` reads them."""


def refused_change(
    reservation: objects.Reservation, reason: str
) -> exception.InvalidState:
    """Return what is raised for a change that is not possible any more."""
    return exception.InvalidState(
        kind='Reservation',
        id=reservation.id,
        status=reservation.status,
        reason=reason,
    )


@dataclasses.dataclass(frozen=True, slots=True)
class Booking:
    """A reservation with its lease and its resources.

    :ivar slots: of what is shared, resource id -> how many slots it has
        there; empty where whole resources were given.
    :ivar servers: UUIDs of the servers that were created in it; some may
        be gone.
    :ivar now: the time.
    :ivar prepared: prepare() has finished for exactly these resources.
    :ivar settled: servers that were let in before the end began had the time
        to be seen by now; at an end, what is empty before that may not stay
        so.
    :ivar check: call it before each write to Nova.
    :ivar ending: how long ago the end of the lease began.
    :ivar left: what has failed, or was replaced, and may have something of
        the reservation on it still; at an end this is among the resources.
    :ivar warned_at: when the lease's event before its end is, or was, due.
    :ivar database: the name of the database that the lease is in.
    :ivar lease_servers: UUIDs of the servers that any reservation of the lease
        has let in, some of which may be gone, for types that want them.
    :ivar sharers: other projects whose servers may be there.
    :ivar provider_changes: add to it what the cloud says that it has changed
        of hosts' providers: they are not looked at again for that. What is
        left out, or lost in a crash, costs such a look.
    :ivar vacated: at an end that has to wait, add to it what nothing of the
        reservation is on, and nothing can come to: others have it from then
        on, and the end goes on without it.
    :ivar emptied: ids of those that were left off which its servers are to be
        moved, and when an operator asked for it.
    :ivar parts: name -> part of a reservation that expands into others; they
        have started before it, and end after it.
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
        """The projects whose servers may be there."""
        return self.sharers.all | {self.lease.project_id}

    @classmethod
    def looked_at(
        cls,
        lease: objects.Lease,
        reservation: objects.Reservation,
        resources: tuple[objects.Resource, ...],
        now: datetime.datetime,
    ) -> Self:
        """Return a booking of whole resources that is only looked at."""
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
    """Return what of a reservation's resources can be used, and what it may
    have left something on.

    On what another one has not left yet it never had anything.
    """
    usable, left = [], []
    for holding in holdings:
        if holding.usable:
            usable.append(holding.resource)
        elif not holding.occupied:
            left.append(holding.resource)
    return tuple(usable), tuple(left)


MAX_TOLD = 20
"""The number of items that a text names of those that are waited for."""


@dataclasses.dataclass(frozen=True, slots=True)
class Waiting:
    """A step that is not over: what it waits for, in words for the owner.

    :ivar count: of how many servers; many are looked at less often.
    :ivar detail: the same for the log and for administrators, where it names
        what is not the owner's.
    """

    reason: str
    count: int = 1
    detail: str | None = None

    @classmethod
    def on(cls, reasons: Sequence[objects.Reason]) -> Self:
        """Return what waits for all of these, and tells of the first."""
        why = objects.Reason.join(reasons, MAX_TOLD)
        return cls(why.told, len(reasons), why.detail)

    @property
    def why(self) -> objects.Reason:
        return objects.Reason(self.reason, self.detail or self.reason)


@dataclasses.dataclass(frozen=True, slots=True)
class Remains:
    """Servers on resources that a reservation had to leave.

    :ivar vacated: nothing of the reservation is on these.
    :ivar movable: heal() can take something off the others now.
    """

    vacated: tuple[objects.Resource, ...]
    movable: bool = False


def stored_demand(
    kind: 'ResourceType', params: Mapping[str, Any], whose: str
) -> demand.Ask | None:
    """Return what a reservation that is there asks for; None: nothing, or
    nothing that can be read: what was valid when it was asked may not be any
    more, where the configuration has changed since.

    For callers that look at many, of which one must not hold up the others.

    :param whose: what the log is to call it
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
    :cvar comes_alone: no request for a lease can ask for it: it comes with
        something else that is asked for.
    :cvar resource_type: of the resources that its demands name, which is what
        operators add them as; None: the name of the type itself.
    :cvar nouns: what refusals call one of these resources, and several.
    :cvar shareable: whether servers of other projects may be in it, if its
        owner shares it.
    :cvar wants_lease_servers: whether bookings that begin or end it have
        ``lease_servers``.
    :cvar enrolled_by: the part of the API by which operators add its
        resources; None: that of resources.
    :cvar given_properties: those that its resources have by their names, or
        from where they are: nobody sets them to something else.
    :cvar hidden_properties: those that no request can name, and that tell of
        what a project may not see: lists of properties have them for
        administrators alone.
    """

    schema: ClassVar[Mapping[str, Any]]
    update_schema: ClassVar[Mapping[str, Any]]
    comes_alone: ClassVar[bool] = False
    resource_type: ClassVar[str | None] = None
    nouns: ClassVar[tuple[str, str]] = 'resource', 'resources'
    shareable: ClassVar[bool] = False
    wants_lease_servers: ClassVar[bool] = False
    enrolled_by: ClassVar[str | None] = None
    given_properties: ClassVar[Collection[str]] = ()
    hidden_properties: ClassVar[Collection[str]] = ()

    def __init__(self, cloud: ports.Cloud, conf: cfg.ConfigOpts) -> None:
        self.cloud = cloud
        self.conf = conf

    def look_up(
        self, asked: Mapping[str, Any], project_id: str
    ) -> Mapping[str, Any]:
        """Return the params with facts that the cloud has to give.

        Called before validate, and outside of any transaction; asked has
        passed the schema, at update it is the changes alone.

        :raises: InvalidInput
        """
        return asked

    def look_up_all(
        self, asked: Sequence[Mapping[str, Any]], project_id: str
    ) -> Sequence[Mapping[str, Any]]:
        """Return the params, in the same order, of all that one request asks
        for of this type, with facts that the cloud has to give.

        For types whose facts may take long: a thread of nova-api waits.

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
        """Return the demand of these params; None: nothing."""

    def released(self, asked: Mapping[str, Any]) -> Collection[str]:
        """Return the ids, UUIDs or names of whole resources that a change of
        an active reservation gives back.

        :param asked: the change alone
        """
        return ()

    def inspect(
        self, name: str, inventories: Mapping[str, int]
    ) -> Mapping[str, int]:
        """Return the inventories of a resource that an operator adds, of the
        type that the demands name, with what the cloud says of it.

        :raises: InvalidInput for one that can not be leased
        :raises: CloudUnavailable
        """
        return inventories

    def check_larger(  # noqa: B027
        self, name: str, inventories: Mapping[str, int]
    ) -> None:
        """Refuse inventories of a resource that is there, if the cloud says
        that it has less.

        :param inventories: those alone that become larger
        :raises: InvalidInput, CloudUnavailable
        """

    def ranged(
        self, params: Mapping[str, Any], minimum: int, maximum: int
    ) -> dict[str, Any]:
        """Return params that ask for so many whole resources, or slots;
        called of these alone."""
        raise NotImplementedError

    def aftermath(self, params: Mapping[str, Any]) -> datetime.timedelta:
        """Say for how long after the end of its lease a reservation keeps
        its resources: nobody else is promised them meanwhile."""
        return datetime.timedelta(0)

    def receive(self, booking: Booking) -> None:  # noqa: B027
        """Make ready what Nova must find when it is asked, next, for what
        comes with a lease that starts now.

        :raises: CloudRefused, CloudUnavailable, and Nova is not asked
        """

    def exists(self, booking: Booking) -> bool:
        """Say whether Nova has anything of what was asked of it with the
        lease, where nobody has heard its answer."""
        return False

    def prepare(self, booking: Booking) -> Waiting | None:
        """Do ahead of the start what gives nobody access yet.

        Called again, later, as long as it or another reservation of the
        lease returns Waiting.

        :raises: Hopeless, and the lease goes to ERROR
        :raises: CloudRefused, and the start tries again
        """
        return None

    def is_ready(self, booking: Booking) -> bool:
        """Return whether start() would have nothing to do, of a reservation
        that is prepared.

        Where it has not, leases that are due in the same second start
        together.

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

    def announce_end(self, booking: Booking) -> None:  # noqa: B027
        """Tell whom it was asked to tell, when before_end is over: once,
        unless the worker is killed meanwhile.

        :raises: CloudRefused, CloudUnavailable; reported, not tried again
        """

    @abc.abstractmethod
    def end(self, booking: Booking) -> Waiting | None:
        """Take the resources back; also undoes what was only prepared, or
        a start that failed: then the reservation is not active, and its
        resources may well be in the hands of an earlier lease.

        Called again, later, as long as it returns Waiting, and while anything
        else of the lease does: then without the resources that it has left.
        """

    def update(self, booking: Booking) -> None:
        """Bring an active reservation to the resources it has now."""
        self.start(booking)

    def heal(self, booking: Booking) -> None:
        """Bring an active reservation to the resources that it has instead
        of those in ``booking.left``, with what can be moved of these."""
        self.update(booking)

    def unused(self, booking: Booking) -> Resources:
        """Return those of the resources of an active reservation that surely
        nothing was put on: they may be taken for what it had before."""
        return ()

    def coming(self, booking: Booking) -> frozenset[str]:
        """Return the servers of an active reservation that may still come to
        what it gives back, ``booking.left``, whoever is let in by now; it is
        not looked at before, and nobody else has it."""
        return frozenset()

    def slots_held(self, booking: Booking) -> Mapping[int, int] | None:
        """Return resource id -> how many slots of an active reservation are
        held there; None: nobody can tell, and none is given back."""
        return None

    def slots_offered(self, booking: Booking) -> Collection[int]:
        """Return the ids of the resources where Nova has slots of an active
        reservation, of a type that can tell how many are held."""
        return ()

    def remains(self, booking: Booking) -> Remains:
        """Look at what an active reservation had to leave,
        ``booking.left``; nobody else has it before it is vacated. Unless a
        type knows better, it is when heal() is over."""
        return Remains(booking.left if booking.prepared else ())

    def move_servers(self, booking: Booking) -> Mapping[int, str]:
        """Have servers of an active reservation leave ``booking.emptied`` for
        the resources that it has; called again as long as any is there.

        :returns: resource id -> why servers there can not be moved; they are
            not tried again before an operator asks again
        """
        return {}

    def usage(
        self,
        lease: objects.Lease,
        reservation: objects.Reservation,
        resources: Collection[objects.Resource],
        servers: Collection[str],
    ) -> Mapping[str, Any]:
        """Return what the API shows of one active reservation beside that,
        which the cloud is asked for.

        :param resources: what it has, or has not left yet
        :param servers: UUIDs of those that use it without having asked
        :raises: CloudRefused, CloudUnavailable; nothing is shown then
        """
        return {}

    def show(self, reservation: objects.Reservation) -> Mapping[str, Any]:
        """Return what the API shows beside, or in place of, what all types
        have."""
        return reservation.params
