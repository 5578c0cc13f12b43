# SPDX-License-Identifier: Apache-2.0
"""What users do with leases: create, show, list, update, delete.

Each is one transaction, begun anew when another writer was first; none
calls Nova. What the change means for Nova is left to the workers, who find
it due.
"""

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
from typing import Any
import uuid
import zlib

from oslo_log import log

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.db import allocations
from nova_reservations.db import api
from nova_reservations.db import candidates
from nova_reservations.db import capacity
from nova_reservations.db import counters
from nova_reservations.db import drainable_hosts
from nova_reservations.db import healing
from nova_reservations.db import leases
from nova_reservations.db import retry_queue
from nova_reservations.db import slot_servers
from nova_reservations.engine import best_effort
from nova_reservations.engine import drainable_hosts as donors_engine
from nova_reservations.engine import notifications
from nova_reservations.engine import retry
from nova_reservations.engine import settings
from nova_reservations.engine import shares as sharing_engine
from nova_reservations.engine import steps
from nova_reservations.engine import transactions
from nova_reservations.objects import demand as demands
from nova_reservations.objects import interval
from nova_reservations.objects import states
from nova_reservations.planner import draining
from nova_reservations.planner import plan as mixture
from nova_reservations.planner import shares as sharing
from nova_reservations.planner import whole
from nova_reservations.plugins.resource_types import base

LOG = log.getLogger(__name__)

CHANGEABLE = frozenset(
    {*states.WAITING, states.Lease.PENDING, states.Lease.ACTIVE}
)

PAGE = 500
"""So many leases of a list are in memory at once."""

LONGEST = datetime.timedelta(days=24_855)
"""Of a duration that is kept: its seconds are 31 bits in the database."""


@dataclasses.dataclass(frozen=True, slots=True)
class NewReservation:
    """:ivar asked: has passed the schema of its resource type."""

    resource_type: str
    asked: Mapping[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class NewLease:
    """:ivar before_end: when the owner is warned; None: as configured.

    :ivar lease_type: None: as its start says.
    :ivar max_retries: for so many times ``create_retry_interval`` it waits,
        if it may; None: as long as is allowed.
    :ivar duration: given in place of end, which is as if it started at its
        start.
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


@dataclasses.dataclass(frozen=True, slots=True)
class LeaseChanges:
    """What is None stays as it is.

    :ivar reservations: reservation id -> what of its request changes.
    :ivar acknowledged: ids of reservations whose owner knows by now that
        resources of theirs were changed.
    """

    name: str | None = None
    start: datetime.datetime | None = None
    end: datetime.datetime | None = None
    before_end: datetime.datetime | None = None
    reservations: Mapping[str, Mapping[str, Any]] = dataclasses.field(
        default_factory=dict
    )
    acknowledged: Collection[str] = ()

    @property
    def only_rename(self) -> bool:
        return not (
            self.start or self.end or self.before_end or self.reservations
        )


class Leases:
    def __init__(
        self,
        database: api.Database,
        types: Mapping[str, base.ResourceType],
        options: settings.Settings,
        notify: ports.Notifier,
        drainable_hosts: donors_engine.DrainableHosts,
    ) -> None:
        self.database = database
        self.types = types
        self.options = options
        self.notify = notify
        self.drainable_hosts = drainable_hosts

    def get(self, lease_id: str) -> objects.Lease:
        """:raises: NotFound"""
        with self.database.reader() as session:
            return leases.get(session, lease_id)

    def find(self, query: objects.LeaseQuery) -> Iterator[objects.Lease]:
        """Yield leases as they are wanted.

        :raises: InvalidInput if the marker is unknown
        """
        for page in self.pages(query):
            yield from page

    def pages(
        self, query: objects.LeaseQuery
    ) -> Iterator[list[objects.Lease]]:
        """Yield leases a page at a time, as they are wanted.

        Each page is a transaction of its own, so that none is open while
        somebody reads slowly. A lease that is there from the first page to
        the last is yielded once, unless what the list is sorted by is
        changed meanwhile.

        :raises: InvalidInput if the marker is unknown
        """
        after, left = None, query.limit
        while left != 0:
            size = PAGE if left is None else min(PAGE, left)
            wanted = dataclasses.replace(query, limit=size)
            with self.database.reader() as session:
                page, after = leases.page(session, wanted, after)
            if page:
                yield page
            if after is None:
                return
            if left is not None:
                left -= size

    def access(self, reservation_id: str) -> objects.Access | None:
        """Return what decides who may use the reservation."""
        with self.database.reader() as session:
            return allocations.access(session, reservation_id)

    def has_flavor(self, project_id: str, flavor_id: str | None) -> bool:
        """Whether it is the flavor of a reservation of the project; Nova
        gives nobody else that flavor."""
        if not objects.is_id(flavor_id):
            return False
        access = self.access(flavor_id)
        return access is not None and access.project_id == project_id

    def admit(
        self, reservation_id: str, project_id: str, *, in_slot: bool
    ) -> objects.Access:
        """Return where a server of the project may land in the reservation.

        :param in_slot: whether the server has the reservation's flavor
        :raises: NotFound, InvalidState, InvalidInput
        :raises: NotEnoughResources if there is no host at this moment
        """
        access = self.access(reservation_id)
        if access is None or access.project_id != project_id:
            self._check_is_no_lease(reservation_id, project_id)
            raise exception.NotFound(kind='Reservation', id=reservation_id)
        if access.status != states.Lease.ACTIVE:
            raise exception.InvalidState(
                kind='Lease',
                id=access.lease_id,
                status=access.status,
                reason='servers can land in it only while it is ACTIVE',
            )
        if not access.hosts and not access.unusable:
            raise exception.InvalidInput(
                f'Reservation {reservation_id} is of {access.resource_type}, '
                'on which no server can land'
            )
        if access.in_slots and not in_slot:
            raise exception.InvalidInput(
                f'Servers of reservation {reservation_id} must have its '
                'flavor, which has the same id; no hint is needed then'
            )
        if not access.hosts:
            raise exception.NotEnoughResources(
                reason=f'those of reservation {reservation_id} have failed, '
                'or are not free yet'
            )
        return access

    def _check_is_no_lease(self, given: str, project_id: str) -> None:
        """Say so if a reservation was asked for by its lease's id.

        :raises: InvalidInput
        """
        try:
            lease = self.get(given)
        except exception.NotFound:
            return
        if lease.project_id == project_id:
            ids = ', '.join(item.id for item in lease.reservations)
            raise exception.InvalidInput(
                f'{given} is the id of a lease: give that of its reservation '
                f'instead: {ids}'
            )

    def share(self, access: objects.Access) -> demands.Share | None:
        """Return what one slot of the reservation holds, if it is of any."""
        kind = self.types.get(access.resource_type)
        demand = kind.demand(access.params) if kind else None
        return demand if isinstance(demand, demands.Share) else None

    def owners(
        self, reservation_ids: Collection[str]
    ) -> dict[str, tuple[str, frozenset[str]]]:
        """Return reservation -> (project, resource names), of the active.

        :raises: DatabaseUnavailable
        """
        with self.database.reader() as session:
            return allocations.owners(session, reservation_ids)

    def record_server(
        self,
        server_uuid: str,
        reservation_id: str,
        now: datetime.datetime,
        chosen: bool = False,
    ) -> None:
        """Remember that the server was created in the reservation.

        :param chosen: whether its request did not name any
        :raises: Contended, DatabaseUnavailable
        """

        def record(_: int) -> None:
            with self.database.writer() as session:
                if not slot_servers.is_recorded(session, server_uuid):
                    slot_servers.record(
                        session, server_uuid, reservation_id, now, chosen
                    )

        transactions.retry(record)

    def usage(
        self, lease: objects.Lease, reservation: objects.Reservation
    ) -> Mapping[str, Any]:
        """Return what the type of the lease's reservation can tell of its
        use now: nothing where Nova does not answer."""
        kind = self.types.get(reservation.resource_type)
        if kind is None or reservation.status != states.Reservation.ACTIVE:
            return {}
        with self.database.reader() as session:
            held = allocations.holdings(session, [reservation.id])
            came = slot_servers.chosen(session, reservation.id)
        resources = [one.resource for one in held[reservation.id]]
        try:
            return kind.usage(lease, reservation, resources, came)
        except exception.CloudUnavailable as error:
            LOG.warning(
                'The use of reservation %(id)s is not known: %(reason)s',
                {'id': reservation.id, 'reason': error},
            )
            return {}

    def create(self, asked: NewLease, now: datetime.datetime) -> objects.Lease:
        """Promise the lease; a worker starts it at its time.

        :raises: InvalidInput, NotEnoughResources, Contended
        """
        lease = self.draft(asked, now)
        try:
            self.promise(lease, now)
        except exception.NotEnoughResources as refusal:
            if lease.lease_type == states.LeaseType.BEST_EFFORT:
                lease = self._empty_hosts(lease, refusal, now)
            else:
                lease = self._keep(
                    retry.begin(lease, refusal, now, self.options)
                )
        else:
            LOG.info(
                'Lease %(lease)s of project %(project)s is promised from '
                '%(start)s to %(end)s',
                {
                    'lease': lease.id,
                    'project': lease.project_id,
                    'start': lease.start_date,
                    'end': lease.end_date,
                },
            )
        self.notify(notifications.CREATE, notifications.payload(lease))
        return lease

    def promise(self, lease: objects.Lease, now: datetime.datetime) -> None:
        """Write a new lease with what it gets.

        :raises: InvalidInput, NotEnoughResources, Contended
        """

        def book(attempt: int) -> None:
            with self.database.writer() as session:
                if attempt > transactions.SERIALIZE_FROM:
                    counters.increment(session, 'booking')
                leases.insert(session, lease)
                # Who was too late for the best fit looks elsewhere: others
                # that ask at this moment find it the best too.
                self.book(session, lease, now, best_fit=attempt == 1)

        transactions.retry(book)

    def _empty_hosts(
        self,
        lease: objects.Lease,
        refusal: exception.NotEnoughResources,
        now: datetime.datetime,
    ) -> objects.Lease:
        """Write a lease for which hosts are to be emptied.

        :raises: NotEnoughResources, CloudUnavailable
        """
        if not self.drainable_hosts.can_be_emptied():
            raise refusal
        self.drainable_hosts.follow(now)

        def insert(_: int) -> objects.Lease:
            with self.database.writer() as session:
                hunted = best_effort.begin(
                    lease, self.prospect(session, lease, now), refusal, now
                )
                leases.insert(session, hunted)
                return hunted

        hunted = transactions.retry(insert)
        LOG.info(
            'Hosts are to be emptied for lease %(lease)s of project '
            '%(project)s',
            {'lease': hunted.id, 'project': hunted.project_id},
        )
        return hunted

    def prospect(
        self, session: Any, lease: objects.Lease, now: datetime.datetime
    ) -> best_effort.Prospect:
        """Return what a lease that can't be booked now could have if hosts
        were emptied for it: a bounded number of each kind."""
        time = retry.window(lease, now)
        wants = []
        pool: dict[int, None] = {}
        known: dict[int, drainable_hosts.DrainableHost] = {}
        granted = dataclasses.replace(
            lease, start_date=time.start, end_date=time.end
        )
        demanded = [
            (reservation, demand)
            for reservation in lease.reservations
            if isinstance(demand := self._demand(reservation), demands.Demand)
        ]
        wanted = sum(demand.maximum for _, demand in demanded)
        for reservation, demand in demanded:
            window = self._window(granted, reservation).padded(
                self.options.cleaning_time
            )
            free = candidates.find(
                session,
                demand,
                window,
                now,
                page=candidates.PAGE + wanted,
                random_start=zlib.crc32(lease.id.encode()) >> 1,
            )
            offered = drainable_hosts.offers(
                session,
                lease.id,
                demand.requirements,
                window,
                limit=best_effort.PAGE + wanted,
            )
            pool |= dict.fromkeys(one.resource.id for one in free)
            known |= {one.resource.id: one for one in offered}
            wants.append(
                draining.Want(
                    demand.minimum,
                    {
                        *(one.resource.id for one in free),
                        *(one.resource.id for one in offered),
                    },
                )
            )
        return best_effort.Prospect(
            wants=tuple(wants),
            pool=tuple(pool),
            taken=tuple(one for one in known.values() if one.fenced_for),
            others=tuple(one for one in known.values() if not one.fenced_for),
        )

    def _keep(self, lease: objects.Lease) -> objects.Lease:
        """Write a lease that waits, and has nothing yet."""

        def insert(_: int) -> objects.Lease:
            with self.database.writer() as session:
                kept = dataclasses.replace(
                    lease, arrival=retry_queue.arrive(session)
                )
                leases.insert(session, kept)
                return kept

        kept = transactions.retry(insert)
        LOG.info(
            'Lease %(lease)s of project %(project)s waits: %(reason)s',
            {
                'lease': kept.id,
                'project': kept.project_id,
                'reason': kept.status_reason,
            },
        )
        return kept

    def draft(self, asked: NewLease, now: datetime.datetime) -> objects.Lease:
        """Return the lease as it would begin, of which nothing is written.

        :raises: InvalidInput
        """
        if asked.start < now.replace(second=0):
            raise exception.InvalidInput(
                'Start date must be later than current date'
            )
        if asked.end <= asked.start or asked.end <= now:
            raise exception.InvalidInput(
                'End date must be later than start date.'
            )
        lease_id = str(uuid.uuid4())
        kind = _lease_type(asked, now)
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
            reservations=tuple(
                self._new_reservation(lease_id, asked.project_id, item, now)
                for item in asked.reservations
            ),
            events=self._new_events(lease_id, asked, now),
        )
        if kind == states.LeaseType.BEST_EFFORT:
            for item in lease.reservations:
                self._check_whole_hosts(item)
        return dataclasses.replace(
            lease, due_at=steps.due_at(lease, now, self.options)
        )

    def _check_whole_hosts(self, reservation: objects.Reservation) -> None:
        """:raises: InvalidInput unless it is of what can be emptied"""
        demand = self._demand(reservation)
        if (
            not isinstance(demand, demands.Demand)
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
            most = self.options.max_create_retries
            return (
                most
                if asked.max_retries is None
                else min(asked.max_retries, most)
            )
        if asked.max_retries is not None:
            raise exception.InvalidInput(
                f'max_retries is for leases of type {states.LeaseType.RETRY}'
            )
        return None

    def _new_reservation(
        self,
        lease_id: str,
        project_id: str,
        item: NewReservation,
        now: datetime.datetime,
    ) -> objects.Reservation:
        kind = self._type(item.resource_type)
        return objects.Reservation(
            id=str(uuid.uuid4()),
            lease_id=lease_id,
            resource_type=item.resource_type,
            status=states.Reservation.PENDING,
            params=kind.validate(kind.look_up(item.asked, project_id)),
            missing_resources=False,
            resources_changed=False,
            created_at=now,
            updated_at=None,
        )

    def _type(self, name: str) -> base.ResourceType:
        try:
            return self.types[name]
        except KeyError:
            raise exception.InvalidInput(
                f'The {name} resource type is not supported'
            ) from None

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

    def book(
        self,
        session: Any,
        lease: objects.Lease,
        now: datetime.datetime,
        held: Mapping[str, Collection[int]] | None = None,
        recheck: Collection[str] = (),
        best_fit: bool = True,
        among: Mapping[str, Collection[int]] | None = None,
    ) -> None:
        """Plan the lease's reservations together, and write what they get in
        the caller's transaction.

        What those could have whose turn it is is not for this lease.

        :param held: reservation id -> what it has already, at another
            window or demand; all of it stays if servers may be there
        :param recheck: reservations whose resources must meet the
            requirements anew
        :param best_fit: whether to book what fits best
        :param among: reservation id -> ids of all that it may have, of one
            whose turn it is; None: whatever there is
        :raises: Conflict, NotEnoughResources, InvalidInput
        """
        demanded = {
            item.id: demand
            for item in lease.reservations
            if (demand := self._demand(item)) is not None
        }
        if not demanded:
            return
        first = retry.in_hand(session, lease, now) if among is None else []
        rivals = [
            demand
            for other in first
            for demand in retry.asks(self.types, other)
        ]
        try:
            self._book(
                session,
                lease,
                now,
                demanded,
                rivals,
                held,
                recheck,
                best_fit,
                among or {},
            )
        except exception.NotEnoughResources as refusal:
            raise retry.refusal(refusal, lease, first) from refusal

    def _book(
        self,
        session: Any,
        lease: objects.Lease,
        now: datetime.datetime,
        demanded: Mapping[str, demands.Ask],
        rivals: Sequence[demands.Ask],
        held: Mapping[str, Collection[int]] | None,
        recheck: Collection[str],
        best_fit: bool,
        among: Mapping[str, Collection[int]],
    ) -> None:
        held = held or {}
        slots = allocations.slots(session, list(held)) if held else {}
        only_add = lease.is_used
        windows = {
            item.id: self._window(lease, item) for item in lease.reservations
        }
        wholes: dict[str, whole.Ask] = {}
        shares: dict[str, sharing.Ask] = {}
        for reservation_id, demand in demanded.items():
            recheck_this = not held or reservation_id in recheck
            # As many more as its siblings may take of the same.
            others = sum(
                other.maximum
                for key, other in demanded.items()
                if key != reservation_id
            )
            self._check_keys(session, demand)
            left = retry.left_over(demand, rivals)
            if isinstance(left, demands.Share):
                shares[reservation_id] = sharing_engine.ask(
                    session,
                    left,
                    windows[reservation_id],
                    now,
                    cleaning=self.options.cleaning_time,
                    random_start=zlib.crc32(lease.id.encode()) >> 1,
                    best_fit=best_fit,
                    others=others,
                    held=slots.get(reservation_id, {}),
                    recheck=recheck_this,
                    only_add=only_add,
                    ignore=list(demanded),
                    among=among.get(reservation_id),
                )
            else:
                wholes[reservation_id] = self._ask(
                    session,
                    lease,
                    left,
                    windows[reservation_id],
                    now,
                    held.get(reservation_id, ()),
                    siblings=others,
                    recheck=recheck_this,
                    only_add=only_add,
                    among=among.get(reservation_id),
                )
        plan = mixture.assign(
            list(wholes.values()), list(shares.values()), lease.id, best_fit
        )
        if isinstance(plan, whole.TooFew):
            raise self._refusal(
                session,
                lease,
                list(wholes.values()),
                plan.ask,
                windows[list(wholes)[plan.ask]],
                now,
            )
        if isinstance(plan, sharing.TooFew):
            raise sharing_engine.refusal(
                session,
                list(shares.values())[plan.ask],
                siblings=len(demanded) - 1,
            )
        allocations.advance(
            session, mixture.generations(plan, list(shares.values()))
        )
        # All of it before any: one may get what another has had.
        for reservation_id, resource_ids in held.items():
            allocations.delete(session, reservation_id, resource_ids)
        for reservation_id, chosen in zip(wholes, plan.wholes, strict=True):
            resource_ids = [candidate.resource.id for candidate in chosen]
            if held:
                # Or what itself had to leave.
                allocations.delete(session, reservation_id, resource_ids)
            allocations.insert(
                session,
                reservation_id,
                resource_ids,
                windows[reservation_id],
            )
        for (reservation_id, ask), given in zip(
            shares.items(), plan.shares, strict=True
        ):
            if held:
                allocations.delete(session, reservation_id, given)
            allocations.insert_shares(
                session,
                reservation_id,
                given,
                ask.share.amounts,
                windows[reservation_id],
            )

    def _check_keys(self, session: Any, demand: demands.Ask) -> None:
        """:raises: InvalidInput for a property that no host has"""
        unknown = candidates.unknown_keys(session, demand.requirements)
        if unknown:
            raise exception.InvalidInput(
                'Malformed requirements: no host has a property '
                f'{", ".join(unknown)}; "os-hosts/properties" lists those '
                'that there are'
            )

    def _ask(
        self,
        session: Any,
        lease: objects.Lease,
        demand: demands.Demand,
        window: interval.Interval,
        now: datetime.datetime,
        held: Collection[int],
        *,
        siblings: int,
        recheck: bool,
        only_add: bool,
        among: Collection[int] | None,
    ) -> whole.Ask:
        found = candidates.find(
            session,
            demand,
            window.padded(self.options.cleaning_time),
            now,
            page=candidates.PAGE + siblings,
            random_start=zlib.crc32(lease.id.encode()) >> 1,
            keep=held,
            recheck=recheck,
            ignore=[item.id for item in lease.reservations],
            among=among,
        )
        return whole.Ask(found, demand, held if only_add else ())

    def _window(
        self, lease: objects.Lease, reservation: objects.Reservation
    ) -> interval.Interval:
        """Return for how long the reservation has its resources."""
        kind = self._type(reservation.resource_type)
        return interval.Interval(
            lease.start_date,
            lease.end_date + kind.aftermath(reservation.params),
        )

    def _demand(self, reservation: objects.Reservation) -> demands.Ask | None:
        return self._type(reservation.resource_type).demand(reservation.params)

    def _refusal(
        self,
        session: Any,
        lease: objects.Lease,
        asks: Sequence[whole.Ask],
        refused: int,
        window: interval.Interval,
        now: datetime.datetime,
    ) -> exception.NotEnoughResources:
        ask = asks[refused]
        shortage = candidates.shortage(
            session,
            ask.demand,
            window.padded(self.options.cleaning_time),
            now,
            ignore=[item.id for item in lease.reservations],
        )
        reason = (
            f'{shortage.matching} hosts match, {shortage.taken} are taken '
            f'in this window, {ask.demand.minimum} wanted'
        )
        if len(asks) > 1:
            others = sum(one.demand.minimum for one in asks)
            reason += (
                f', and {others - ask.demand.minimum} by other reservations '
                'of the lease'
            )
        if ask.must_keep:
            reason += (
                ', and an active lease keeps the '
                f'{len(ask.must_keep)} that it has'
            )
        LOG.info(
            'Lease %(id)s is refused: %(reason)s',
            {'id': lease.id, 'reason': reason},
        )
        return exception.NotEnoughResources(reason=reason)

    def update(
        self, lease_id: str, changes: LeaseChanges, now: datetime.datetime
    ) -> objects.Lease:
        """Change the lease: all of what is asked, or nothing.

        :raises: NotFound, InvalidInput, InvalidState, NotEnoughResources,
            Contended
        """

        changes = self._looked_up(lease_id, changes)

        def change(attempt: int) -> tuple[objects.Lease, objects.Lease]:
            with self.database.writer() as session:
                if attempt > transactions.SERIALIZE_FROM:
                    counters.increment(session, 'booking')
                seen = leases.get(session, lease_id)
                self._change(session, seen, changes, now)
                return seen, leases.get(session, lease_id)

        before, lease = transactions.retry(change)
        LOG.info(
            'Lease %(lease)s is changed; it is %(status)s from %(start)s '
            'to %(end)s',
            {
                'lease': lease.id,
                'status': lease.status,
                'start': lease.start_date,
                'end': lease.end_date,
            },
        )
        self.notify(notifications.UPDATE, notifications.payload(lease))
        if notifications.flags(before) - notifications.flags(lease):
            self.notify(notifications.HEALED, notifications.payload(lease))
        if _is_warned(before) and not _is_warned(lease):
            self.notify(
                notifications.stopped(states.EventType.BEFORE_END),
                notifications.payload(lease),
            )
        return lease

    def _looked_up(self, lease_id: str, changes: LeaseChanges) -> LeaseChanges:
        """Ask the cloud what must be asked, before the transaction."""
        if not changes.reservations:
            return changes
        seen = self.get(lease_id)
        types = {item.id: item.resource_type for item in seen.reservations}
        return dataclasses.replace(
            changes,
            reservations={
                key: self._type(types[key]).look_up(asked, seen.project_id)
                if key in types
                else asked
                for key, asked in changes.reservations.items()
            },
        )

    def _change(
        self,
        session: Any,
        seen: objects.Lease,
        changes: LeaseChanges,
        now: datetime.datetime,
    ) -> None:
        columns: dict[str, Any] = {}
        held = allocations.held_by(session, seen)
        slots = _slots(session, seen)
        if changes.name is not None:
            columns['name'] = changes.name
        if not changes.only_rename:
            columns |= self._reschedule(session, seen, changes, now)
        if changes.acknowledged:
            columns |= self._acknowledge(session, seen, changes, now)
        leases.change(session, seen, now, **columns)
        if not changes.only_rename:
            capacity.freed(
                session, now, _given_back(session, seen, held, slots)
            )
            retry.left(session, seen, now, self.types)

    def _acknowledge(
        self,
        session: Any,
        seen: objects.Lease,
        changes: LeaseChanges,
        now: datetime.datetime,
    ) -> dict[str, Any]:
        """Have the owner know that resources were changed."""
        degraded = False
        for item in leases.get(session, seen.id).reservations:
            known = item.id in changes.acknowledged
            if known:
                healing.acknowledge(session, item.id, now)
                healing.set_flags(
                    session, item.id, item.missing_resources, False, now
                )
            degraded |= item.missing_resources or (
                item.resources_changed and not known
            )
        return {'degraded': degraded}

    def _reschedule(
        self,
        session: Any,
        seen: objects.Lease,
        changes: LeaseChanges,
        now: datetime.datetime,
    ) -> dict[str, Any]:
        """Write new dates and resources; return columns of the lease."""
        start, end = _new_dates(seen, changes, now)
        params = self._new_params(seen, changes)
        lease = dataclasses.replace(
            seen,
            start_date=start,
            end_date=end,
            reservations=tuple(
                dataclasses.replace(
                    reservation,
                    params=params.get(reservation.id, reservation.params),
                )
                for reservation in seen.reservations
            ),
            events=self._move_events(session, seen, changes, start, end, now),
        )
        if seen.status in states.WAITING and seen.server_reservation is None:
            _set_params(session, lease, params, now)
        elif _books(seen, lease):
            ids = [item.id for item in seen.reservations]
            before = self._part(session, seen, now)
            slots = allocations.slots(session, ids)
            _set_params(session, lease, params, now)
            self.book(session, lease, now, held=before, recheck=params)
            if (
                before != self._held(session, seen)
                or slots != allocations.slots(session, ids)
                or any(
                    isinstance(self._demand(item), demands.Share)
                    for item in seen.reservations
                    if item.id in params
                )
            ):
                lease = dataclasses.replace(lease, prepared=False)
            # What it has now was found anew, and its owner has asked for it.
            for reservation in seen.reservations:
                healing.set_flags(session, reservation.id, False, False, now)
            lease = dataclasses.replace(lease, degraded=False)
        else:
            for reservation in lease.reservations:
                allocations.move(
                    session, reservation.id, self._window(lease, reservation)
                )
        return {
            'start_date': start,
            'end_date': end,
            'duration': None if changes.end else seen.duration,
            'prepared': lease.prepared,
            'degraded': lease.degraded,
            'status_reason': None,
            'due_at': self._due_at(lease, now),
        }

    def _held(
        self, session: Any, lease: objects.Lease
    ) -> dict[str, list[int]]:
        """Return reservation id -> what it has."""
        held = allocations.holdings(
            session, [item.id for item in lease.reservations]
        )
        return {
            reservation_id: [
                one.resource.id for one in holdings if not one.replaced
            ]
            for reservation_id, holdings in held.items()
        }

    def _part(
        self, session: Any, lease: objects.Lease, now: datetime.datetime
    ) -> dict[str, list[int]]:
        """Have a lease that is used leave what it can't use, so that it is
        planned anew with the rest; return that."""
        if lease.is_used:
            held = allocations.holdings(
                session, [item.id for item in lease.reservations]
            )
            for reservation_id, holdings in held.items():
                healing.replace(
                    session,
                    reservation_id,
                    [
                        one.resource.id
                        for one in holdings
                        if not one.usable and not one.replaced
                    ],
                    now,
                )
        return self._held(session, lease)

    def _due_at(
        self, lease: objects.Lease, now: datetime.datetime
    ) -> datetime.datetime | None:
        # A worker that holds the lease finds the changes when it is done.
        if lease.claimed_by is not None:
            return lease.due_at
        return steps.due_at(lease, now, self.options)

    def _new_params(
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
            kind = self._type(known[key].resource_type)
            params[key] = kind.validate({**known[key].params, **asked})
            if seen.status == states.Lease.ACTIVE:
                kind.check_active_change(known[key], params[key])
        return params

    def _move_events(
        self,
        session: Any,
        seen: objects.Lease,
        changes: LeaseChanges,
        start: datetime.datetime,
        end: datetime.datetime,
        now: datetime.datetime,
    ) -> tuple[objects.Event, ...]:
        """Write the events' new times; the warning keeps its distance to
        the end, and is due again if that is still to come."""
        times = {states.EventType.START: start, states.EventType.END: end}
        warning = seen.event(states.EventType.BEFORE_END)
        if changes.before_end is not None:
            times[states.EventType.BEFORE_END] = (
                self._warning(changes.before_end, start, end) or end
            )
        elif warning is not None:
            times[states.EventType.BEFORE_END] = max(
                start, warning.time + (end - seen.end_date)
            )
        events = []
        for kind, time in times.items():
            old = seen.event(kind)
            if old is None:
                event = _new_event(seen.id, kind, time, now)
                leases.insert_event(session, event)
            else:
                event = old
                if time != old.time:
                    status = states.Event.UNDONE if time > now else old.status
                    event = dataclasses.replace(old, time=time, status=status)
                    leases.set_event(
                        session, seen.id, kind, now, time=time, status=status
                    )
            events.append(event)
        return tuple(events)

    def delete(self, lease_id: str, now: datetime.datetime) -> None:
        """Delete the lease: at once if Nova knows nothing of it, else as
        soon as its servers and resources are free of it.

        :raises: NotFound, InvalidState, Contended
        """

        def remove(_: int) -> objects.Lease | None:
            with self.database.writer() as session:
                seen = leases.get(session, lease_id)
                if seen.status == states.Lease.CREATING and seen.in_nova:
                    raise exception.InvalidState(
                        kind='Lease',
                        id=lease_id,
                        status=seen.status,
                        reason='Nova is just making its servers; try again '
                        'as soon as it is PENDING or STARTING',
                    )
                if not seen.in_nova:
                    held = allocations.held_by(session, seen)
                    leases.delete(session, seen)
                    drainable_hosts.came_free(session, lease_id, now)
                    capacity.freed(session, now, held)
                    retry.left(session, seen, now, self.types)
                    return seen
                if seen.status == states.Lease.DELETING:
                    return None
                deleting = dataclasses.replace(
                    seen, status=states.Lease.DELETING
                )
                leases.change(
                    session,
                    seen,
                    now,
                    status=states.Lease.DELETING,
                    status_reason=None,
                    due_at=self._due_at(deleting, now),
                )
                leases.set_event(
                    session,
                    lease_id,
                    states.EventType.END,
                    now,
                    status=states.Event.IN_PROGRESS,
                )
                return None

        gone = transactions.retry(remove)
        if gone is None:
            LOG.info('Lease %s is being deleted', lease_id)
            return
        LOG.info('Lease %s is deleted', lease_id)
        self.notify(notifications.DELETE, notifications.payload(gone))


def _set_params(
    session: Any,
    lease: objects.Lease,
    changed: Collection[str],
    now: datetime.datetime,
) -> None:
    """Write the params of those of the lease's reservations that change."""
    for reservation in lease.reservations:
        if reservation.id in changed:
            leases.set_params(session, lease, reservation, now)


def _lease_type(asked: NewLease, now: datetime.datetime) -> states.LeaseType:
    """:raises: InvalidInput"""
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
    """Return the seconds that a lease has which may start later than asked;
    of all others the end is known.

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


def _new_event(
    lease_id: str,
    kind: states.EventType,
    time: datetime.datetime,
    now: datetime.datetime,
) -> objects.Event:
    return objects.Event(
        id=str(uuid.uuid4()),
        lease_id=lease_id,
        event_type=kind,
        time=time,
        status=states.Event.UNDONE,
        created_at=now,
        updated_at=None,
    )


def _is_warned(lease: objects.Lease) -> bool:
    """Whether the lease's coming end was told."""
    event = lease.event(states.EventType.BEFORE_END)
    return event is not None and event.status != states.Event.UNDONE


def _books(old: objects.Lease, new: objects.Lease) -> bool:
    """Whether the change asks for anything that may be taken: giving back
    time never has to be planned."""
    return (
        new.start_date < old.start_date
        or new.end_date > old.end_date
        or [item.params for item in new.reservations]
        != [item.params for item in old.reservations]
    )


def _slots(session: Any, lease: objects.Lease) -> dict[tuple[str, int], int]:
    """Return (reservation id, resource id) -> slots."""
    found = allocations.slots(
        session, [item.id for item in lease.reservations]
    )
    return {
        (reservation_id, resource_id): count
        for reservation_id, its in found.items()
        for resource_id, count in its.items()
    }


def _given_back(
    session: Any,
    seen: objects.Lease,
    held: set[int],
    slots: Mapping[tuple[str, int], int],
) -> set[int]:
    """Return the ids of what a lease, that was changed, has not any more, or
    for less time.

    Who gives back nothing must not have workers go through all who wait: any
    member can extend a lease again and again.
    """
    lease = leases.get(session, seen.id)
    if (
        lease.start_date > seen.start_date
        or lease.end_date < seen.end_date
        or [item.params for item in lease.reservations]
        != [item.params for item in seen.reservations]
    ):
        return held
    kept = _slots(session, lease)
    fewer = {
        resource_id
        for (reservation_id, resource_id), count in slots.items()
        if kept.get((reservation_id, resource_id), 0) < count
    }
    return fewer | (held - allocations.held_by(session, lease))


def _new_dates(
    seen: objects.Lease, changes: LeaseChanges, now: datetime.datetime
) -> tuple[datetime.datetime, datetime.datetime]:
    """Return the lease's new window.

    :raises: InvalidInput, InvalidState
    """
    start = changes.start or seen.start_date
    end = changes.end or seen.end_date
    if seen.duration is not None and not changes.end:
        end = start + datetime.timedelta(seconds=seen.duration)
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
        # What is ended in the second of its start has lasted for one.
        end = max(end, start + datetime.timedelta(seconds=1))
    elif seen.status == states.Lease.IN_PROGRESS and changes.start:
        raise exception.InvalidInput(
            'Hosts are being emptied for a start as soon as possible, which '
            'can not be moved'
        )
    elif changes.start and start < now.replace(second=0):
        raise exception.InvalidInput(
            'Start date must be later than current date'
        )
    if end < now.replace(second=0) or end <= start:
        raise exception.InvalidInput(
            'End date must be later than current and start date'
        )
    return start, end
