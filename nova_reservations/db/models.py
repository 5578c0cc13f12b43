# SPDX-License-Identifier: Apache-2.0
"""The tables. Every index and constraint has a name, so that it can be
changed; every table begins with ``nr_``, to stand beside Nova's."""

import datetime
import enum
from typing import Annotated
from typing import Any
from typing import ClassVar

import sqlalchemy as sa
from sqlalchemy import orm
from sqlalchemy import types

from nova_reservations.objects import reasons
from nova_reservations.objects import states


class UTCDateTime(types.TypeDecorator[datetime.datetime]):
    """Aware UTC outside, naive UTC in the database, whole seconds.

    MySQL rounds fractions up, which would let an event be due in the
    future of the clock that wrote it: they are cut off here.
    """

    impl = sa.DateTime
    cache_ok = True

    def process_bind_param(
        self, value: datetime.datetime | None, dialect: sa.Dialect
    ) -> datetime.datetime | None:
        if value is None:
            return None
        return value.astimezone(datetime.UTC).replace(
            tzinfo=None, microsecond=0
        )

    def process_result_value(
        self, value: datetime.datetime | None, dialect: sa.Dialect
    ) -> datetime.datetime | None:
        return value.replace(tzinfo=datetime.UTC) if value else None


class Reason(types.TypeDecorator[str]):
    """A text for the owner of a lease, cut to a useful length."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(
        self, value: str | None, dialect: sa.Dialect
    ) -> str | None:
        return None if value is None else reasons.fit(value)


Uuid = Annotated[str, orm.mapped_column(sa.String(36))]

Name = Annotated[str, orm.mapped_column(sa.String(255))]
"""What another service calls something: a project, a host, a flavor."""

Digest = Annotated[str, orm.mapped_column(sa.String(64))]

Told = Annotated[str, orm.mapped_column(Reason)]

Flag = Annotated[bool, orm.mapped_column(server_default='0')]
"""It is not set unless a writer sets it."""

OfResource = Annotated[
    int, orm.mapped_column(sa.ForeignKey('nr_resources.id'))
]
OfHost = Annotated[
    int, orm.mapped_column(sa.ForeignKey('nr_hosts.resource_id'))
]
OfLease = Annotated[str, orm.mapped_column(sa.ForeignKey('nr_leases.id'))]
OfReservation = Annotated[
    str, orm.mapped_column(sa.ForeignKey('nr_reservations.id'))
]

_SORTED = sa.String(255).with_variant(
    sa.String(255, collation='C'), 'postgresql'
)
"""Text that lists are sorted by: in the same order on each database, which is
Python's, whatever the locale of PostgreSQL's."""

_EMPTY = sa.text("''")


def _one_of(column: str, values: type[enum.StrEnum]) -> sa.CheckConstraint:
    listed = ', '.join(f"'{value}'" for value in values)
    return sa.CheckConstraint(f'{column} IN ({listed})', name=column)


TABLE_OPTIONS = {
    'mysql_engine': 'InnoDB',
    'mysql_charset': 'utf8mb4',
    'mysql_collate': 'utf8mb4_bin',
}


class Base(orm.DeclarativeBase):
    metadata = sa.MetaData(
        naming_convention={
            'ix': 'ix_%(table_name)s_%(column_0_N_name)s',
            'uq': 'uq_%(table_name)s_%(column_0_N_name)s',
            'ck': 'ck_%(table_name)s_%(constraint_name)s',
            'fk': 'fk_%(table_name)s_%(column_0_name)s',
            'pk': 'pk_%(table_name)s',
        }
    )
    type_annotation_map: ClassVar[dict[Any, Any]] = {
        datetime.datetime: UTCDateTime,
        float: sa.Double,
        dict[str, Any]: sa.JSON,
        list[Any]: sa.JSON,
    }
    __table_args__: Any = TABLE_OPTIONS


def _table_args(*args: Any) -> tuple[Any, ...]:
    return (*args, TABLE_OPTIONS)


def configure() -> None:
    """Have SQLAlchemy look at the classes now, not at the first query."""
    orm.configure_mappers()


def table(model: type[Base]) -> sa.Table:
    """Return the table of a model, for statements without the ORM."""
    mapped = model.__table__
    assert isinstance(mapped, sa.Table)
    return mapped


class Timestamps:
    created_at: orm.Mapped[datetime.datetime]
    updated_at: orm.Mapped[datetime.datetime | None]


class Resource(Base, Timestamps):
    """Whatever can be leased; bookings compare and set its generation.

    fenced_for is the lease for which a host is, or was, emptied. Until the
    host is given back no other lease gets it, even if that lease is gone.

    down_since is set while the resource has failed. hold and held_since are
    set while it has not failed but no new lease may have it. cordoned_at is
    set while an operator keeps new leases off it, whether it works or not.
    emptied_at is when an operator last asked to move the servers of leases
    that have left it.

    forced_down: somebody who knows has declared that nothing runs on it.
    braked_at: it failed together with many others, so no lease is moved off
    it. brake_off: an administrator has said to move them anyway.
    lost: why Nova or placement can not use it, whatever its monitor sees. It
    counts as failed.
    """

    __tablename__ = 'nr_resources'
    __table_args__ = _table_args(
        sa.UniqueConstraint('resource_type', 'uuid'),
        # Nova, and monitors, know a resource by its name alone.
        sa.Index(
            'uq_nr_resources_resource_type_name',
            'resource_type',
            'name',
            unique=True,
        ),
        # Candidates are taken from a random place on, in this order.
        sa.Index(
            'ix_nr_resources_spread',
            'resource_type',
            'reservable',
            'spread',
            'id',
        ),
        # Drainable hosts, which are emptied for leases.
        sa.Index('ix_nr_resources_role', 'role', 'resource_type', 'id'),
        # Which are fenced, and what for? They are few.
        sa.Index('ix_nr_resources_fenced_for', 'fenced_for'),
        _one_of('role', states.Role),
    )

    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    resource_type: orm.Mapped[str] = orm.mapped_column(sa.String(64))
    name: orm.Mapped[Name] = orm.mapped_column(index=True)
    uuid: orm.Mapped[Uuid]
    reservable: orm.Mapped[bool]
    generation: orm.Mapped[int] = orm.mapped_column(default=0)
    spread: orm.Mapped[int]
    role: orm.Mapped[str] = orm.mapped_column(
        sa.String(16), server_default=states.Role.POOL
    )
    down_since: orm.Mapped[datetime.datetime | None]
    fenced_for: orm.Mapped[Uuid | None]
    fenced_at: orm.Mapped[datetime.datetime | None]
    hold: orm.Mapped[str | None] = orm.mapped_column(sa.String(16))
    held_since: orm.Mapped[datetime.datetime | None]
    forced_down: orm.Mapped[Flag]
    braked_at: orm.Mapped[datetime.datetime | None]
    brake_off: orm.Mapped[Flag]
    cordoned_at: orm.Mapped[datetime.datetime | None]
    emptied_at: orm.Mapped[datetime.datetime | None]
    lost: orm.Mapped[str | None] = orm.mapped_column(sa.Text)


class Host(Base):
    """The facts of a resource of type physical:host."""

    __tablename__ = 'nr_hosts'

    resource_id: orm.Mapped[OfResource] = orm.mapped_column(primary_key=True)
    hypervisor_hostname: orm.Mapped[Name] = orm.mapped_column(index=True)
    vcpus: orm.Mapped[int]
    memory_mb: orm.Mapped[int]
    local_gb: orm.Mapped[int]
    free_memory_mb: orm.Mapped[int]
    free_disk_gb: orm.Mapped[int]
    cpu_info: orm.Mapped[str] = orm.mapped_column(sa.Text)
    hypervisor_type: orm.Mapped[Name]
    hypervisor_version: orm.Mapped[int]
    availability_zone: orm.Mapped[Name]
    provider_generation: orm.Mapped[int]
    cell: orm.Mapped[Uuid] = orm.mapped_column(server_default=_EMPTY)
    tree: orm.Mapped[Digest] = orm.mapped_column(server_default=_EMPTY)
    aggregates: orm.Mapped[Digest] = orm.mapped_column(server_default=_EMPTY)


class HostTrait(Base):
    __tablename__ = 'nr_host_traits'

    resource_id: orm.Mapped[OfHost] = orm.mapped_column(primary_key=True)
    trait: orm.Mapped[Name] = orm.mapped_column(primary_key=True)


class Quantities:
    """The numbers of an inventory, as placement has them."""

    total: orm.Mapped[int]
    reserved: orm.Mapped[int]
    min_unit: orm.Mapped[int]
    max_unit: orm.Mapped[int]
    step_size: orm.Mapped[int]
    allocation_ratio: orm.Mapped[float]


class Inventory(Base, Quantities):
    """The inventory that a resource has of one resource class. That of a host
    is placement's; that of any other resource is what its operator has said.
    """

    __tablename__ = 'nr_inventories'

    resource_id: orm.Mapped[OfResource] = orm.mapped_column(primary_key=True)
    resource_class: orm.Mapped[Name] = orm.mapped_column(primary_key=True)


class NestedInventory(Base, Quantities):
    """The inventory of one resource class of a provider below a host's own.

    provider is its UUID. traits are those of the provider, sorted and
    separated by blanks.
    """

    __tablename__ = 'nr_nested_inventories'

    resource_id: orm.Mapped[OfHost] = orm.mapped_column(primary_key=True)
    resource_class: orm.Mapped[Name] = orm.mapped_column(primary_key=True)
    provider: orm.Mapped[Uuid] = orm.mapped_column(primary_key=True)
    traits: orm.Mapped[str] = orm.mapped_column(sa.Text)


class Fact(Base):
    """A value that a fact of hosts has, or had; hosts that are alike share it.

    digest is of the value, which is too long for an index.
    """

    __tablename__ = 'nr_facts'
    __table_args__ = _table_args(sa.UniqueConstraint('name', 'digest'))

    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    name: orm.Mapped[str] = orm.mapped_column(sa.String(300))
    digest: orm.Mapped[Digest]
    value: orm.Mapped[str] = orm.mapped_column(sa.Text)


class HostFact(Base):
    """It goes with its host."""

    __tablename__ = 'nr_host_facts'

    resource_id: orm.Mapped[int] = orm.mapped_column(
        sa.ForeignKey('nr_hosts.resource_id', ondelete='CASCADE'),
        primary_key=True,
    )
    fact_id: orm.Mapped[int] = orm.mapped_column(
        sa.ForeignKey('nr_facts.id'), primary_key=True, index=True
    )


class Property(Base, Timestamps):
    """The name of a property that operators give to resources."""

    __tablename__ = 'nr_properties'
    __table_args__ = _table_args(sa.UniqueConstraint('name'))

    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    name: orm.Mapped[str] = orm.mapped_column(sa.String(64))
    private: orm.Mapped[bool]


class ResourceProperty(Base):
    """A property that an operator has given to one resource.

    number is value as a number, where it is one: numbers compare as numbers.
    """

    __tablename__ = 'nr_resource_properties'

    resource_id: orm.Mapped[OfResource] = orm.mapped_column(primary_key=True)
    property_id: orm.Mapped[int] = orm.mapped_column(
        sa.ForeignKey('nr_properties.id'), primary_key=True, index=True
    )
    value: orm.Mapped[str] = orm.mapped_column(sa.Text)
    number: orm.Mapped[float | None]


class Lease(Base, Timestamps):
    """by_default is set for a lease that a server got without asking for one;
    it does not count against limits. used_at is when the first server was let
    in. unused_at is when no server had been let in for too long, and the lease
    was reported or ended for it. latest_end is the latest end that it has had
    since it began, if that was ever changed."""

    __tablename__ = 'nr_leases'
    __table_args__ = _table_args(
        _one_of('status', states.Lease),
        _one_of('lease_type', states.LeaseType),
        # Lists of one project, and of all. Markers need the columns up to the
        # id; the others tell which leases were over long ago.
        sa.Index(
            'ix_nr_leases_listed_project',
            'project_id',
            'created_at',
            'id',
            'end_date',
            'status',
            'in_nova',
        ),
        sa.Index(
            'ix_nr_leases_listed',
            'created_at',
            'id',
            'end_date',
            'status',
            'in_nova',
        ),
        sa.Index('ix_nr_leases_start', 'start_date', 'id'),
        sa.Index('ix_nr_leases_end', 'end_date', 'id'),
        # The same of one project, which may have had many before.
        sa.Index(
            'ix_nr_leases_project_status',
            'project_id',
            'status',
            'created_at',
            'id',
        ),
        sa.Index(
            'ix_nr_leases_project_start', 'project_id', 'start_date', 'id'
        ),
        sa.Index('ix_nr_leases_project_end', 'project_id', 'end_date', 'id'),
        # Many may have the same name: by their age, as in lists of all.
        sa.Index('ix_nr_leases_named', 'name', 'created_at', 'id'),
        sa.Index(
            'ix_nr_leases_project_named',
            'project_id',
            'name',
            'created_at',
            'id',
        ),
        # What has changed since? Told of all projects, or of one.
        sa.Index('ix_nr_leases_updated', 'updated_at', 'project_id', 'id'),
        # What is due next: asked twice a second by every worker.
        sa.Index('ix_nr_leases_due', 'due_at', 'id'),
        # Which leases wait? Each booking and each release asks this.
        sa.Index('ix_nr_leases_status', 'status', 'created_at', 'id'),
        # What does a project hold, and how many leases has it? by_default
        # skips the leases of servers, which may be many; in_nova finds the few
        # leases in ERROR of which something is left.
        sa.Index(
            'ix_nr_leases_holding',
            'project_id',
            'by_default',
            'status',
            'in_nova',
            'id',
        ),
        # Those that lack something, which are few.
        sa.Index('ix_nr_leases_degraded', 'degraded', 'id'),
        sa.Index('ix_nr_leases_series', 'series_id'),
    )

    id: orm.Mapped[Uuid] = orm.mapped_column(primary_key=True)
    name: orm.Mapped[str] = orm.mapped_column(_SORTED)
    project_id: orm.Mapped[Name]
    user_id: orm.Mapped[Name]
    start_date: orm.Mapped[datetime.datetime]
    end_date: orm.Mapped[datetime.datetime]
    lease_type: orm.Mapped[str] = orm.mapped_column(
        sa.String(16), server_default=states.LeaseType.SCHEDULED
    )
    max_retries: orm.Mapped[int | None]
    arrival: orm.Mapped[int | None]
    duration: orm.Mapped[int | None]
    status: orm.Mapped[str] = orm.mapped_column(sa.String(16))
    status_reason: orm.Mapped[Told | None]
    status_detail: orm.Mapped[Told | None]
    degraded: orm.Mapped[bool] = orm.mapped_column(default=False)
    in_nova: orm.Mapped[bool] = orm.mapped_column(default=False)
    by_default: orm.Mapped[Flag]
    prepared: orm.Mapped[bool] = orm.mapped_column(default=False)
    version: orm.Mapped[int] = orm.mapped_column(default=0)
    attempt: orm.Mapped[int] = orm.mapped_column(default=0)
    claimed_by: orm.Mapped[Name | None]
    due_at: orm.Mapped[datetime.datetime | None]
    series_id: orm.Mapped[Uuid | None]
    used_at: orm.Mapped[datetime.datetime | None]
    unused_at: orm.Mapped[datetime.datetime | None]
    latest_end: orm.Mapped[datetime.datetime | None]


class Refusal(Base):
    """A lease that was refused for lack of room. Equal requests of a project
    on one day have the same digest, and share one row.

    The dates are those of the first request; reservations are pairs of a
    resource type and its params.
    """

    __tablename__ = 'nr_refusals'
    __table_args__ = _table_args(
        sa.UniqueConstraint('project_id', 'day', 'digest'),
        # Lists, in their order; and which are to be forgotten?
        sa.Index('ix_nr_refusals_asked_at', 'asked_at', 'id'),
        sa.Index('ix_nr_refusals_project', 'project_id', 'asked_at', 'id'),
    )

    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    project_id: orm.Mapped[Name]
    day: orm.Mapped[datetime.date]
    digest: orm.Mapped[Digest]
    asked_at: orm.Mapped[datetime.datetime]
    start_date: orm.Mapped[datetime.datetime]
    end_date: orm.Mapped[datetime.datetime]
    kind: orm.Mapped[Name]
    reservations: orm.Mapped[list[Any]]


class IdempotencyKey(Base):
    """A request that has made a lease, in case a client repeats it.

    digest is of the key, with its project and its user; body is the digest of
    the request's body. There is no foreign key to the lease, because the row
    outlives a deleted lease.
    """

    __tablename__ = 'nr_idempotency_keys'
    __table_args__ = _table_args(
        # How many has a project?
        sa.Index('ix_nr_idempotency_keys_project_id', 'project_id'),
        # Which are to be forgotten?
        sa.Index('ix_nr_idempotency_keys_created_at', 'created_at'),
    )

    digest: orm.Mapped[Digest] = orm.mapped_column(primary_key=True)
    project_id: orm.Mapped[Name]
    body: orm.Mapped[Digest]
    lease_id: orm.Mapped[Uuid]
    created_at: orm.Mapped[datetime.datetime]


class Reservation(Base, Timestamps):
    """open_to is the project whose servers use it without naming it; not set
    if they have to name it.

    part_of is the reservation of the same lease that it was made for, and
    part_name its name there; both are not set if a user has asked for it.
    """

    __tablename__ = 'nr_reservations'
    __table_args__ = _table_args(
        _one_of('status', states.Reservation),
        # Has this project an open reservation? Asked by every request that
        # names none.
        sa.Index('ix_nr_reservations_open', 'open_to', 'status'),
    )

    id: orm.Mapped[Uuid] = orm.mapped_column(primary_key=True)
    lease_id: orm.Mapped[OfLease] = orm.mapped_column(index=True)
    position: orm.Mapped[int]
    resource_type: orm.Mapped[str] = orm.mapped_column(sa.String(64))
    status: orm.Mapped[str] = orm.mapped_column(sa.String(16))
    params: orm.Mapped[dict[str, Any]]
    missing_resources: orm.Mapped[bool] = orm.mapped_column(default=False)
    resources_changed: orm.Mapped[bool] = orm.mapped_column(default=False)
    open_to: orm.Mapped[Name | None]
    part_of: orm.Mapped[Uuid | None]
    part_name: orm.Mapped[str | None] = orm.mapped_column(sa.String(64))
    missing_reason: orm.Mapped[Told | None]
    untold_reason: orm.Mapped[Told | None]


class Event(Base, Timestamps):
    __tablename__ = 'nr_events'
    __table_args__ = _table_args(
        sa.UniqueConstraint('lease_id', 'event_type'),
        _one_of('status', states.Event),
        _one_of('event_type', states.EventType),
        # It covers all columns that lists of leases show of events. The rows
        # themselves need not be read, which lie in no useful order.
        sa.Index(
            'ix_nr_events_read',
            'lease_id',
            'event_type',
            'time',
            'status',
            'id',
            'created_at',
            'updated_at',
        ),
    )

    id: orm.Mapped[Uuid] = orm.mapped_column(primary_key=True)
    lease_id: orm.Mapped[OfLease]
    event_type: orm.Mapped[str] = orm.mapped_column(sa.String(32))
    time: orm.Mapped[datetime.datetime]
    status: orm.Mapped[str] = orm.mapped_column(sa.String(16))


class Allocation(Base):
    """One resource given to a reservation for a window.

    Exclusive, or with amounts per resource class of what is shared. Kept
    when released, as the history of the lease: it is not written again, and a
    reservation that gets the resource once more has another one.

    given_at is set if it was given in place of another one that had failed,
    until the owner has taken note. replaced_at is set when another one was
    given in its place: then end_date is when its use ended, and it is released
    as soon as nothing of the lease is on the resource any more. leaving_at is
    set when the lease, while it is active, gives the resource back: it is
    closed to new servers, and released if none has come. awaited: the servers
    that could still come when that had settled; not set before.
    stays_because: why servers could not be moved off a replaced resource.
    """

    __tablename__ = 'nr_allocations'
    __table_args__ = _table_args(
        sa.UniqueConstraint('reservation_id', 'resource_id', 'start_date'),
        # Is this resource free in a window?
        sa.Index(
            'ix_nr_allocations_resource',
            'resource_id',
            'released',
            'end_date',
            'start_date',
        ),
        # Which resources are left with the smallest gap before a window,
        # and after it?
        sa.Index(
            'ix_nr_allocations_end', 'released', 'end_date', 'resource_id'
        ),
        sa.Index(
            'ix_nr_allocations_start', 'released', 'start_date', 'resource_id'
        ),
        # What was replaced, and is not empty yet?
        sa.Index('ix_nr_allocations_replaced', 'released', 'replaced_at'),
    )

    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    reservation_id: orm.Mapped[OfReservation]
    resource_id: orm.Mapped[OfResource]
    start_date: orm.Mapped[datetime.datetime]
    end_date: orm.Mapped[datetime.datetime]
    exclusive: orm.Mapped[bool]
    released: orm.Mapped[bool] = orm.mapped_column(default=False)
    given_at: orm.Mapped[datetime.datetime | None]
    replaced_at: orm.Mapped[datetime.datetime | None]
    leaving_at: orm.Mapped[datetime.datetime | None]
    awaited: orm.Mapped[list[str] | None] = orm.mapped_column(
        sa.JSON(none_as_null=True)
    )
    stays_because: orm.Mapped[str | None] = orm.mapped_column(sa.Text)


class AllocationAmount(Base):
    """The amount that a shared allocation holds of one placement resource
    class."""

    __tablename__ = 'nr_allocation_amounts'

    allocation_id: orm.Mapped[int] = orm.mapped_column(
        sa.ForeignKey('nr_allocations.id'), primary_key=True
    )
    resource_class: orm.Mapped[Name] = orm.mapped_column(primary_key=True)
    amount: orm.Mapped[int]


class Server(Base, Timestamps):
    """A server that was created in a reservation of slots, and belongs to it
    whatever flavor it gets later; or one that was sent to an open reservation,
    of slots or of hosts.

    chosen is set if its request named no reservation: then its moves name
    none, either.
    """

    __tablename__ = 'nr_servers'

    server_uuid: orm.Mapped[Uuid] = orm.mapped_column(primary_key=True)
    reservation_id: orm.Mapped[OfReservation] = orm.mapped_column(index=True)
    chosen: orm.Mapped[Flag]


class ProjectAccess(Base, Timestamps):
    """A project that a reservation of another one is shared with.

    removed_at is since when it is no longer shared; servers of the project may
    still be there. lease_id is a copy of the reservation's, for lists.
    """

    __tablename__ = 'nr_project_access'
    __table_args__ = _table_args(
        # What others share with a project.
        sa.Index(
            'ix_nr_project_access_project',
            'project_id',
            'removed_at',
            'lease_id',
            'reservation_id',
        ),
    )

    reservation_id: orm.Mapped[OfReservation] = orm.mapped_column(
        primary_key=True
    )
    project_id: orm.Mapped[Name] = orm.mapped_column(primary_key=True)
    lease_id: orm.Mapped[Uuid]
    removed_at: orm.Mapped[datetime.datetime | None]


class LeasedServer(Base, Timestamps):
    """A server that carries the lease of its reservation.

    Kept when the lease is over, as its history. released_at is set as soon as
    the server no longer belongs to the lease. down_since is since when its
    host has been down or, with failed set, has failed. braked_at is when many
    hosts were last seen to fail with it.
    """

    __tablename__ = 'nr_leased_servers'
    __table_args__ = _table_args(
        sa.UniqueConstraint('reservation_id', 'position'),
        # Those that may be gone: page by page.
        sa.Index('ix_nr_leased_servers_watch', 'released_at', 'server_uuid'),
    )

    server_uuid: orm.Mapped[Uuid] = orm.mapped_column(primary_key=True)
    reservation_id: orm.Mapped[OfReservation]
    position: orm.Mapped[int]
    released_at: orm.Mapped[datetime.datetime | None]
    down_since: orm.Mapped[datetime.datetime | None] = orm.mapped_column(
        index=True
    )
    failed: orm.Mapped[Flag]
    braked_at: orm.Mapped[datetime.datetime | None]


class UnfitHost(Base):
    """A host that a lease does not get, for it could not be emptied."""

    __tablename__ = 'nr_unfit_hosts'

    lease_id: orm.Mapped[OfLease] = orm.mapped_column(primary_key=True)
    resource_id: orm.Mapped[OfResource] = orm.mapped_column(
        primary_key=True, index=True
    )
    reason: orm.Mapped[Told]


class Closing(Base):
    """A host that is being closed to servers without a reservation.

    attempt is who closes it. listed_at is when the servers that Nova was
    building or moving were listed; reason says what is waited for.
    """

    __tablename__ = 'nr_closings'

    resource_id: orm.Mapped[OfResource] = orm.mapped_column(primary_key=True)
    attempt: orm.Mapped[Uuid]
    listed_at: orm.Mapped[datetime.datetime | None]
    reason: orm.Mapped[str | None] = orm.mapped_column(sa.Text)


class AwaitedServer(Base):
    """A server that may land on a host which is being closed."""

    __tablename__ = 'nr_awaited_servers'

    resource_id: orm.Mapped[OfResource] = orm.mapped_column(primary_key=True)
    server_id: orm.Mapped[Uuid] = orm.mapped_column(primary_key=True)


class Task(Base):
    """Periodic work that one worker of the cloud does at a time.

    :ivar due_at: when it runs next; while a run is under way, already the one
        after it.
    :ivar attempt: counts the claims on it.
    :ivar claimed_until: when another worker takes it over unless its worker
        renews the claim. None: nobody does it now.
    """

    __tablename__ = 'nr_tasks'

    name: orm.Mapped[str] = orm.mapped_column(sa.String(64), primary_key=True)
    due_at: orm.Mapped[datetime.datetime]
    attempt: orm.Mapped[int] = orm.mapped_column(server_default='0')
    claimed_until: orm.Mapped[datetime.datetime | None]


class Message(Base):
    """A message that is to be sent; see objects.Message.

    :ivar due_at: when a worker may send it; while one does, when its claim
        expires.
    :ivar attempt: counts the claims on it.
    :ivar reason: why it could not be sent at the last attempt.
    """

    __tablename__ = 'nr_messages'
    __table_args__ = _table_args(
        # It covers the query for what is due, also where a destination that
        # does not answer has many.
        sa.Index(
            'ix_nr_messages_due', 'due_at', 'id', 'attempt', 'destination'
        ),
    )

    id: orm.Mapped[Uuid] = orm.mapped_column(primary_key=True)
    lease_id: orm.Mapped[Uuid]
    reservation_id: orm.Mapped[Uuid]
    action: orm.Mapped[str] = orm.mapped_column(sa.String(64))
    destination: orm.Mapped[Name]
    body: orm.Mapped[str] = orm.mapped_column(sa.Text)
    event_type: orm.Mapped[str] = orm.mapped_column(sa.String(32))
    event_time: orm.Mapped[datetime.datetime]
    end_date: orm.Mapped[datetime.datetime]
    chosen: orm.Mapped[str | None] = orm.mapped_column(sa.String(64))
    due_at: orm.Mapped[datetime.datetime]
    attempt: orm.Mapped[int]
    reason: orm.Mapped[Told | None]


class Counter(Base):
    """A number that writers change, for others to compare."""

    __tablename__ = 'nr_counters'

    name: orm.Mapped[str] = orm.mapped_column(sa.String(64), primary_key=True)
    value: orm.Mapped[int]


class Recorded:
    """A part of the record of what a lease had, from when to when.

    There is no foreign key to the lease, which the row outlives. ended_at is
    not set while it goes on.
    """

    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    lease_id: orm.Mapped[Uuid]
    reservation_id: orm.Mapped[Uuid]
    project_id: orm.Mapped[Name]
    user_id: orm.Mapped[Name]
    started_at: orm.Mapped[datetime.datetime]
    ended_at: orm.Mapped[datetime.datetime | None]


class Usage(Base, Recorded):
    """The amount of a resource class that a reservation held.

    degraded is set if the amount could not be used, because its resource had
    failed.
    """

    __tablename__ = 'nr_usage'
    __table_args__ = _table_args(
        # Reports of a window; rows that began after it are not read.
        sa.Index(
            'ix_nr_usage_window', 'project_id', 'ended_at', 'started_at', 'id'
        ),
        # Which are to be forgotten, too?
        sa.Index('ix_nr_usage_ended', 'ended_at', 'id'),
        # What does a reservation have now, by the record?
        sa.Index('ix_nr_usage_reservation', 'reservation_id', 'ended_at'),
    )

    lease_name: orm.Mapped[Name]
    lease_type: orm.Mapped[str] = orm.mapped_column(sa.String(16))
    resource_type: orm.Mapped[str] = orm.mapped_column(sa.String(64))
    resource_class: orm.Mapped[Name]
    amount: orm.Mapped[int] = orm.mapped_column(sa.BigInteger)
    degraded: orm.Mapped[bool]


class ServerUsage(Base, Recorded):
    """A server that was let into a reservation, by the flavor it had.

    goes_on is the server's UUID until ended_at is set. It is unique, so that a
    server is in one place at a time.
    """

    __tablename__ = 'nr_server_usage'
    __table_args__ = _table_args(
        sa.Index(
            'ix_nr_server_usage_window',
            'project_id',
            'ended_at',
            'started_at',
            'id',
        ),
        sa.Index('ix_nr_server_usage_ended', 'ended_at', 'id'),
        sa.Index(
            'ix_nr_server_usage_reservation', 'reservation_id', 'ended_at'
        ),
        # Is it recorded already, and where?
        sa.Index('ix_nr_server_usage_server', 'server_uuid', 'ended_at'),
        sa.Index('uq_nr_server_usage_goes_on', 'goes_on', unique=True),
    )

    server_uuid: orm.Mapped[Uuid]
    goes_on: orm.Mapped[Uuid | None]
    flavor: orm.Mapped[Name]
    vcpus: orm.Mapped[int]
    memory_mb: orm.Mapped[int]
    disk_gb: orm.Mapped[int]


class DeletedLease(Base):
    """A lease as it was when it was deleted, for administrators.

    It has a table of its own, so that no query for leases has to skip it.
    """

    __tablename__ = 'nr_deleted_leases'
    __table_args__ = _table_args(
        # Lists, in the order of those of leases.
        sa.Index('ix_nr_deleted_leases_listed', 'created_at', 'id'),
        sa.Index(
            'ix_nr_deleted_leases_project', 'project_id', 'created_at', 'id'
        ),
        # Which were deleted since; which are to be forgotten?
        sa.Index('ix_nr_deleted_leases_deleted', 'deleted_at', 'id'),
    )

    id: orm.Mapped[Uuid] = orm.mapped_column(primary_key=True)
    name: orm.Mapped[str] = orm.mapped_column(_SORTED)
    project_id: orm.Mapped[Name]
    status: orm.Mapped[str] = orm.mapped_column(sa.String(16))
    start_date: orm.Mapped[datetime.datetime]
    end_date: orm.Mapped[datetime.datetime]
    created_at: orm.Mapped[datetime.datetime]
    deleted_at: orm.Mapped[datetime.datetime]
    document: orm.Mapped[dict[str, Any]]


class DeletedReservation(Base):
    """A reservation of a deleted lease: its leftovers are recognised by its
    id.

    It refers to no row: of some leases no more is kept.

    :ivar deleted_at: of a lease that had not begun, and of which no more is
        kept; None: it is kept as long as the deleted lease.
    """

    __tablename__ = 'nr_deleted_reservations'
    __table_args__ = _table_args(
        # Which are to be forgotten?
        sa.Index('ix_nr_deleted_reservations_deleted', 'deleted_at', 'id')
    )

    id: orm.Mapped[Uuid] = orm.mapped_column(primary_key=True)
    lease_id: orm.Mapped[Uuid] = orm.mapped_column(index=True)
    deleted_at: orm.Mapped[datetime.datetime | None]


class LeaseExists(Base):
    """The progress of the hourly notifications of active leases; one row.

    hour is the end of the hour that is being notified of. created_at and
    lease_id are of the last lease that was notified of; not set when all were.
    """

    __tablename__ = 'nr_lease_exists'

    id: orm.Mapped[int] = orm.mapped_column(
        primary_key=True, autoincrement=False
    )
    hour: orm.Mapped[datetime.datetime]
    created_at: orm.Mapped[datetime.datetime | None]
    lease_id: orm.Mapped[Uuid | None]
    version: orm.Mapped[int]


class Project(Base):
    """A project whose leases are limited. A transaction that can raise what
    the project holds raises the generation first, and so waits for others that
    do.

    The first of these transactions inserts the row.
    """

    __tablename__ = 'nr_projects'

    project_id: orm.Mapped[Name] = orm.mapped_column(primary_key=True)
    generation: orm.Mapped[int]


class Identity(Base):
    """The name of this database; one row."""

    __tablename__ = 'nr_identity'

    id: orm.Mapped[int] = orm.mapped_column(
        primary_key=True, autoincrement=False
    )
    uuid: orm.Mapped[Uuid]


class Freed(Base):
    """A resource that came free and was not offered to all waiting leases yet.

    resource_id is what came free. It is not set if a lease has left the queue
    that may have kept others from more resources than can be named. Only
    leases that came after arrival may gain by it. There is no foreign key to
    the resource: it would lock the resource's row, which bookings write.
    """

    __tablename__ = 'nr_freed'

    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    resource_id: orm.Mapped[int | None]
    arrival: orm.Mapped[int]
