# SPDX-License-Identifier: Apache-2.0
"""Requests for leases, and the leases that they describe.

Defaults, dates, events and params are settled here. Nothing is written; a
resource type may ask Nova about a flavor.
"""

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
from typing import Any

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.engine import resource_types
from nova_reservations.engine import settings
from nova_reservations.engine import steps
from nova_reservations.engine.booking import lease_terms
from nova_reservations.engine.booking import parts
from nova_reservations.objects import ids
from nova_reservations.objects import interval
from nova_reservations.objects import states

MOST_OFFERS = 10_000
"""The most resources that a lease may want in all, times the number of its
reservations. Each reservation is offered as many resources as the lease wants
in all; at this limit a request takes some seconds."""

CHANGEABLE = frozenset(
    {*states.WAITING, states.Lease.PENDING, states.Lease.ACTIVE}
)

LONGEST = datetime.timedelta(days=24_855)
"""The longest duration that can be stored: its seconds are 31 bits in the
database."""


@dataclasses.dataclass(frozen=True, slots=True)
class NewReservation:
    """:ivar asked: what has passed the schema of the resource type."""

    resource_type: str
    asked: Mapping[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class NewLease:
    """:ivar before_end: when the owner is warned; None: as configured.

    :ivar lease_type: None: the start decides.
    :ivar max_retries: a lease that may wait waits for this many times
        ``create_retry_interval``; None: as long as is allowed.
    :ivar duration: given in place of end; ``end`` is then the end of a lease
        that starts at ``start``.
    :ivar key: the key by which the request may be repeated.
    :ivar by_default: nobody has asked for the lease: it comes with a server.
    :ivar series_id: id of the series that it is created with.
    :ivar review: refuses parts of its reservations that its user may not ask
        for.
    """

    name: str
    project_id: str
    user_id: str
    start: datetime.datetime
    end: datetime.datetime
    before_end: datetime.datetime | None
    reservations: tuple[NewReservation, ...]
    lease_type: states.LeaseType | None = None
    max_retries: int | None = None
    duration: datetime.timedelta | None = None
    key: objects.IdempotencyKey | None = None
    by_default: bool = False
    series_id: str | None = None
    review: parts.Review = parts.allow


@dataclasses.dataclass(frozen=True, slots=True)
class LeaseChanges:
    """Changes of a lease; None leaves a value as it is.

    :ivar reservations: reservation id -> the changed parts of its request.
    :ivar acknowledged: ids of reservations whose owner knows that their
        resources were changed.
    :ivar used: reservation id -> resource id -> how many of its slots, or of
        it as a whole, were used when Nova was asked; of reservations that are
        to give some back. None: nobody can tell.
    :ivar part_changes: parts that are added or removed as the reservation that
        they are part of changes; changed parts are in ``reservations``.
    :ivar review: refuses parts that its user may not ask for.
    """

    name: str | None = None
    start: datetime.datetime | None = None
    end: datetime.datetime | None = None
    before_end: datetime.datetime | None = None
    reservations: Mapping[str, Mapping[str, Any]] = dataclasses.field(
        default_factory=dict
    )
    acknowledged: Collection[str] = ()
    used: Mapping[str, Mapping[int, int] | None] = dataclasses.field(
        default_factory=dict
    )
    part_changes: parts.Changes = parts.NO_CHANGES
    review: parts.Review = parts.allow

    @property
    def nothing(self) -> bool:
        return self.only_rename and self.name is None and not self.acknowledged

    @property
    def only_rename(self) -> bool:
        return not (
            self.start or self.end or self.before_end or self.reservations
        )


@dataclasses.dataclass(eq=False)
class LeaseRequests:
    types: resource_types.Types
    options: settings.Settings

    def draft(self, asked: NewLease, now: datetime.datetime) -> objects.Lease:
        """Return the new lease; nothing of it is written.

        :raises: InvalidInput, OverLimit
        """
        [lease] = self.drafts([asked], now)
        return lease

    def drafts(
        self, asked: Sequence[NewLease], now: datetime.datetime
    ) -> list[objects.Lease]:
        """Return new leases whose reservations all ask for the same, so that
        the cloud is asked only once.

        :raises: InvalidInput, OverLimit
        """
        for each in asked:
            _check_dates(each, now)
        found = parts.find(
            self.types,
            [
                (item.resource_type, item.asked)
                for item in asked[0].reservations
            ],
            asked[0].project_id,
            asked[0].review,
        )
        return [self._draft(each, found, now) for each in asked]

    def _draft(
        self,
        asked: NewLease,
        found: Iterable[parts.New],
        now: datetime.datetime,
    ) -> objects.Lease:
        """:raises: InvalidInput, OverLimit"""
        lease_id = ids.new()
        kind = lease_type(asked, now)
        lease = objects.Lease(
            id=lease_id,
            name=asked.name,
            project_id=asked.project_id,
            user_id=asked.user_id,
            start_date=asked.start,
            end_date=asked.end,
            lease_type=kind,
            max_retries=self._max_retries(asked, kind),
            arrival=None,
            duration=_duration(asked, kind),
            status=states.Lease.PENDING,
            status_reason=None,
            degraded=False,
            in_nova=False,
            prepared=False,
            version=0,
            attempt=0,
            claimed_by=None,
            due_at=None,
            created_at=now,
            updated_at=None,
            reservations=parts.reservations(lease_id, found, now),
            events=self._new_events(lease_id, asked, now),
            by_default=asked.by_default,
            series_id=asked.series_id,
        )
        self.check_size(lease)
        if not lease.by_default:
            lease_terms.check_new(lease, self.options, now)
        if kind == states.LeaseType.BEST_EFFORT:
            for item in lease.reservations:
                self._check_whole_hosts(item)
        return dataclasses.replace(
            lease, due_at=steps.due_at(lease, now, self.options)
        )

    def check_size(self, lease: objects.Lease) -> None:
        """:raises: InvalidInput if the lease asks for too much at once"""
        demanded = self.types.planned(lease).values()
        total = sum(
            demand.maximum if demand.exclusive else demand.slots
            for demand in demanded
        )
        most = MOST_OFFERS // max(len(demanded), 1)
        if len(demanded) > 1 and total > most:
            raise exception.InvalidInput(
                f'A lease with {len(demanded)} reservations can ask for '
                f'{most} hosts and slots in all, and this one asks for '
                f'{total}: ask for less, or for several leases'
            )

    def _check_whole_hosts(self, reservation: objects.Reservation) -> None:
        """:raises: InvalidInput unless it is of whole hosts, the only
        resources that can be emptied
        """
        demand = self.types.demand(reservation)
        if (
            demand is None
            or not demand.exclusive
            or demand.resource_type != objects.HOST
        ):
            raise exception.InvalidInput(
                f'lease_type {states.LeaseType.BEST_EFFORT} is for whole '
                f'hosts, not for {reservation.resource_type}'
            )

    def _max_retries(
        self, asked: NewLease, kind: states.LeaseType
    ) -> int | None:
        if kind == states.LeaseType.RETRY:
            # Owners see how long the lease waits at the most.
            wait, interval = (
                self.options.max_create_wait,
                self.options.create_retry_interval,
            )
            limits = (
                -(-wait // interval),
                self.options.max_create_retries,
                asked.max_retries,
            )
            return min(limit for limit in limits if limit is not None)
        if asked.max_retries is not None:
            raise exception.InvalidInput(
                f'max_retries is for leases of type {states.LeaseType.RETRY}'
            )
        return None

    def _new_events(
        self, lease_id: str, asked: NewLease, now: datetime.datetime
    ) -> tuple[objects.Event, ...]:
        times = {
            states.EventType.START: asked.start,
            states.EventType.END: asked.end,
        }
        warning = self._warning(asked.before_end, asked.start, asked.end)
        if warning is not None:
            times[states.EventType.BEFORE_END] = warning
        return tuple(
            _new_event(lease_id, kind, time, now)
            for kind, time in sorted(times.items(), key=lambda item: item[1])
        )

    def _warning(
        self,
        asked: datetime.datetime | None,
        start: datetime.datetime,
        end: datetime.datetime,
    ) -> datetime.datetime | None:
        if asked is not None:
            if not start < asked < end:
                raise exception.InvalidInput(
                    'Datetime is out of lease limits: before_end_date must '
                    'be between start_date and end_date'
                )
            return asked
        if self.options.before_end:
            return max(start, end - self.options.before_end)
        return None

    def look_up(
        self,
        seen: objects.Lease,
        changes: LeaseChanges,
        now: datetime.datetime,
    ) -> LeaseChanges:
        """Ask the cloud for all that is needed, before the transaction.

        :raises: InvalidInput
        """
        parts.check_not_alone(seen, changes.reservations)
        types = {item.id: item.resource_type for item in seen.reservations}
        known = {
            key: its
            for key, its in changes.reservations.items()
            if key in types
        }
        looked_up = parts.look_up(
            self.types,
            [(types[key], its) for key, its in known.items()],
            seen.project_id,
        )
        asked = {
            **changes.reservations,
            **dict(zip(known, looked_up, strict=True)),
        }
        more, part_changes = parts.changed(
            self.types, seen, asked, now, changes.review
        )
        return dataclasses.replace(
            changes, reservations={**asked, **more}, part_changes=part_changes
        )

    def new_params(
        self, seen: objects.Lease, changes: LeaseChanges
    ) -> dict[str, dict[str, Any]]:
        """Return the params of each reservation that is asked to change."""
        known = {item.id: item for item in seen.reservations}
        unknown = sorted(set(changes.reservations) - set(known))
        if unknown:
            raise exception.InvalidInput(
                'Please enter valid reservation IDs. Invalid reservation '
                f'IDs are: {",".join(unknown)}'
            )
        params = {}
        for key, asked in changes.reservations.items():
            kind = self.types.named(known[key].resource_type)
            # A part is always asked for with all its params.
            before = known[key].params if known[key].part_of is None else {}
            params[key] = kind.validate({**before, **asked})
            if seen.status == states.Lease.ACTIVE:
                kind.check_active_change(known[key], params[key])
        return params

    def moved_events(
        self,
        seen: objects.Lease,
        changes: LeaseChanges,
        window: interval.Interval,
        now: datetime.datetime,
    ) -> tuple[objects.Event, ...]:
        """Return the events for the new window. The warning keeps its distance
        to the end, and is due again if its new time is still to come."""
        times = {
            states.EventType.START: window.start,
            states.EventType.END: window.end,
        }
        warning = seen.event(states.EventType.BEFORE_END)
        if changes.before_end is not None:
            times[states.EventType.BEFORE_END] = (
                self._warning(changes.before_end, window.start, window.end)
                or window.end
            )
        elif warning is not None:
            times[states.EventType.BEFORE_END] = max(
                window.start, warning.time + (window.end - seen.end_date)
            )
        events = []
        for kind, time in times.items():
            event = seen.event(kind)
            if event is None:
                event = _new_event(seen.id, kind, time, now)
            elif time != event.time:
                status = states.Event.UNDONE if time > now else event.status
                event = dataclasses.replace(event, time=time, status=status)
            events.append(event)
        return tuple(events)


def new_dates(
    seen: objects.Lease, changes: LeaseChanges, now: datetime.datetime
) -> interval.Interval:
    """Return the lease's new window.

    :raises: InvalidInput, InvalidState
    """
    start = changes.start or seen.start_date
    end = changes.end or seen.end_date
    if seen.duration is not None and not changes.end:
        duration = datetime.timedelta(seconds=seen.duration)
        if duration > interval.LAST - start:
            raise exception.InvalidInput(
                'The duration of the lease ends after the year '
                f'{interval.LAST.year}: give end_date, too'
            )
        end = start + duration
    if seen.status in (states.Lease.TERMINATED, states.Lease.TERMINATING):
        raise exception.InvalidInput('Terminated leases can only be renamed')
    if seen.status not in CHANGEABLE:
        raise exception.InvalidState(
            kind='Lease',
            id=seen.id,
            status=seen.status,
            reason='only a lease that is CREATING, IN_PROGRESS, PENDING or '
            'ACTIVE can be changed',
        )
    if seen.is_used:
        if start != seen.start_date:
            raise exception.InvalidInput(
                'Cannot modify the start date of already started leases'
            )
    elif seen.status == states.Lease.IN_PROGRESS and changes.start:
        raise exception.InvalidInput(
            'Hosts are being emptied for a start as soon as possible, which '
            'can not be moved'
        )
    elif changes.start and start < now.replace(second=0):
        raise exception.InvalidInput(
            'Start date must be later than current date'
        )
    if end < now.replace(second=0) or (end <= start and not seen.is_used):
        raise exception.InvalidInput(
            'End date must be later than current and start date'
        )
    if end <= start:
        # A lease that is ended in the second, or the minute, of its start
        # lasts one second.
        end = start + datetime.timedelta(seconds=1)
    return interval.Interval(start, end)


def lease_type(asked: NewLease, now: datetime.datetime) -> states.LeaseType:
    """Return the lease type that is asked for, or that follows from the start.

    :raises: InvalidInput
    """
    if asked.lease_type is None:
        if asked.start <= now:
            return states.LeaseType.IMMEDIATE
        return states.LeaseType.SCHEDULED
    if (
        asked.lease_type
        in (states.LeaseType.IMMEDIATE, states.LeaseType.BEST_EFFORT)
        and asked.start > now
    ):
        raise exception.InvalidInput(
            f'A lease of type {asked.lease_type} starts now: ask for a '
            'scheduled one, or for no type, with a later start_date'
        )
    return asked.lease_type


def _duration(asked: NewLease, kind: states.LeaseType) -> int | None:
    """Return the seconds that a lease lasts if it may start later than asked;
    None for all others, whose end is fixed.

    :raises: InvalidInput
    """
    if asked.duration is None or kind not in (
        states.LeaseType.RETRY,
        states.LeaseType.BEST_EFFORT,
    ):
        return None
    if asked.duration > LONGEST:
        raise exception.InvalidInput(
            f'The duration of a lease of type {kind} can be {LONGEST.days} '
            'days at most'
        )
    return int(asked.duration.total_seconds())


def _check_dates(asked: NewLease, now: datetime.datetime) -> None:
    """:raises: InvalidInput"""
    if asked.start < now.replace(second=0):
        raise exception.InvalidInput(
            'Start date must be later than current date'
        )
    if asked.end <= asked.start or asked.end <= now:
        raise exception.InvalidInput('End date must be later than start date.')


def _new_event(
    lease_id: str,
    kind: states.EventType,
    time: datetime.datetime,
    now: datetime.datetime,
) -> objects.Event:
    return objects.Event(
        id=ids.new(),
        lease_id=lease_id,
        event_type=kind,
        time=time,
        status=states.Event.UNDONE,
        created_at=now,
        updated_at=None,
    )
