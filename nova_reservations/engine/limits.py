# SPDX-License-Identifier: Apache-2.0
"""Limits of projects, checked in the transactions that raise what they hold.

Each of these raises the generation of its project first, and looks last at
all that the project holds, with what it has just written: so of two that
together are too much, one waits and sees the other. Where nothing is limited
there is no statement.

Healing, and moves of promises, do not add to what was asked for, and are
never refused; the leases that servers get by default do not count.

Decision 0039: doc/source/decisions/0039-limits-in-the-booking
"""

from collections import Counter
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
import itertools

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.db import api
from nova_reservations.db import inventories
from nova_reservations.db import project_limits
from nova_reservations.engine import resource_types
from nova_reservations.objects import demand as demands
from nova_reservations.objects import interval
from nova_reservations.objects import limits
from nova_reservations.objects import search
from nova_reservations.objects import states
from nova_reservations.planner import limits as planner
from nova_reservations.plugins.resource_types import base


@dataclasses.dataclass(frozen=True, slots=True)
class Guard:
    """The limits of one lease's project, in one use case.

    :ivar patience: the longest that an end may take.
    """

    most: limits.Limits
    project_id: str
    types: resource_types.Types
    patience: datetime.timedelta

    def begin(self, session: api.Session) -> None:
        """Wait for others of the project: in what is written first of all."""
        if self.most.is_any:
            project_limits.raise_generation(session, self.project_id)

    def look(self, session: api.Session, lease: objects.Lease) -> 'Before':
        """Look at a lease before it is changed."""
        if not self.most.counts_resources:
            return Before(lease, ())
        return Before(lease, project_limits.held_by(session, lease, self.most))

    def check_new(
        self,
        session: api.Session,
        lease: objects.Lease,
        now: datetime.datetime,
        wanted: Collection[limits.Held] = (),
    ) -> None:
        """Check a lease that has just been written.

        :param wanted: what it waits for: it must be within the limits now
        :raises: OverLimit
        """
        if not self.most.is_any:
            return
        found = self._found(session, lease, now)
        waits = lease.status in states.WAITING and (
            lease.server_reservation is None
        )
        self._refuse(
            planner.of_leases(
                found.count, self.most, waits, now, self.patience
            )
        )
        self._compare(lease, found, (), wanted, now)

    def check_all(
        self,
        session: api.Session,
        new: Sequence[objects.Lease],
        now: datetime.datetime,
    ) -> None:
        """Check leases that have just been written together: as one that has
        the reservations of all.

        :raises: OverLimit
        """
        reservations = itertools.chain(*(lease.reservations for lease in new))
        whole = dataclasses.replace(
            new[0],
            start_date=min(lease.start_date for lease in new),
            end_date=max(lease.end_date for lease in new),
            reservations=tuple(reservations),
        )
        self.check_new(session, whole, now)

    def check_one_more(
        self, session: api.Session, now: datetime.datetime
    ) -> None:
        """Check that there could be one more lease, which does not wait.

        :raises: OverLimit
        """
        if self.most.leases is None:
            return
        of_leases = limits.Limits(leases=self.most.leases)
        count = project_limits.look(
            session, self.project_id, now, of_leases
        ).count
        more = dataclasses.replace(count, leases=count.leases + 1)
        self._refuse(
            planner.of_leases(
                more, self.most, waits=False, now=now, patience=self.patience
            )
        )

    def check(
        self,
        session: api.Session,
        lease: objects.Lease,
        now: datetime.datetime,
        before: Collection[limits.Held] = (),
        wanted: Collection[limits.Held] = (),
    ) -> None:
        """Check what a lease holds that has got its resources.

        :param before: what it had
        :param wanted: what counts beside, as if it had it
        :raises: OverLimit
        """
        if self.most.counts_resources:
            found = self._found(session, lease, now)
            self._compare(lease, found, before, wanted, now)

    def _found(
        self,
        session: api.Session,
        lease: objects.Lease,
        now: datetime.datetime,
    ) -> project_limits.Holdings:
        """Return what the lease's project holds, as far as the lease may add
        to it."""
        window = None
        if self.most.host_hours is None:
            window = interval.Interval(
                lease.start_date,
                lease.end_date + project_limits.LONGEST_GRACE,
            )
        return project_limits.look(
            session, lease.project_id, now, self.most, window
        )

    def _compare(
        self,
        lease: objects.Lease,
        found: project_limits.Holdings,
        before: Collection[limits.Held],
        wanted: Collection[limits.Held],
        now: datetime.datetime,
    ) -> None:
        """:raises: OverLimit"""
        others, own = _parted(found.held, lease)
        self._refuse(
            planner.of_resources(
                others,
                before,
                [*own, *wanted],
                self.most,
                now,
                self.patience,
            )
        )

    def _refuse(self, breach: planner.Breach | None) -> None:
        """:raises: OverLimit"""
        if breach is not None:
            words = _words(self.types, breach.name)
            raise exception.OverLimit(
                reason=breach.told(*words), leaving=bool(breach.leaving)
            )

    def outlook(
        self,
        session: api.Session,
        lease: objects.Lease,
        now: datetime.datetime,
    ) -> 'Outlook':
        """Return what is allowed beside what others of the project hold now,
        for who only looks."""
        if not self.most.counts_resources:
            return Outlook(self.most, (), (), now, self.patience)
        found = project_limits.look(session, lease.project_id, now, self.most)
        others, own = _parted(found.held, lease)
        return Outlook(self.most, others, own, now, self.patience)


@dataclasses.dataclass(frozen=True, slots=True)
class Before:
    """A lease, and what it had, before it was changed."""

    lease: objects.Lease
    held: Collection[limits.Held]


_ALL = limits.Limits(leases=0, waiting=0, hosts=0, slots=0, host_hours=0)
"""Limits of all that can be limited."""

NOTHING = Guard(limits.Limits(), '', {}, datetime.timedelta(0))
"""The guard of what can exceed no limit."""


@dataclasses.dataclass(frozen=True, slots=True)
class Outlook:
    """The holdings of a project at this moment, beside one lease.

    :ivar before: what the lease has.
    :ivar patience: the longest that an end may take.
    """

    most: limits.Limits
    others: Collection[limits.Held]
    before: Collection[limits.Held]
    now: datetime.datetime
    patience: datetime.timedelta

    def breach(self, wanted: Collection[limits.Held]) -> planner.Breach | None:
        """Return a limit that is exceeded if the lease has what is wanted."""
        return planner.of_resources(
            self.others,
            self.before,
            wanted,
            self.most,
            self.now,
            self.patience,
        )


class ProjectLimits:
    """:ivar source: returns the limits of a project; None: nothing is limited,
    of none.
    :ivar patience: the longest that an end may take.
    """

    def __init__(
        self,
        database: api.Database,
        types: resource_types.Types,
        source: ports.LimitSource | None,
        patience: datetime.timedelta,
    ) -> None:
        self.database = database
        self.types = types
        self.source = source
        self.patience = patience

    def guard(self, lease: objects.Lease) -> Guard:
        """Return the limits that hold for a lease; before its transaction,
        for keystone may be asked.

        :raises: CloudUnavailable
        """
        if lease.by_default:
            return dataclasses.replace(NOTHING, project_id=lease.project_id)
        most = self.of(lease.project_id)
        return Guard(most, lease.project_id, self.types, self.patience)

    def of(self, project_id: str) -> limits.Limits:
        """:raises: CloudUnavailable"""
        if self.source is None:
            return limits.Limits()
        return self.source(project_id)

    def wanted(self, lease: objects.Lease) -> list[limits.Held]:
        """Return the least that a lease asks for, as if it had that.

        :raises: InvalidInput
        """
        demanded = resource_types.planned(self.types, lease)
        return [
            held(
                item.id,
                resource_types.window(self.types, lease, item),
                demanded[item.id],
            )
            for item in lease.reservations
            if item.id in demanded
        ]

    def check_waiting(
        self,
        guard: Guard,
        session: api.Session,
        lease: objects.Lease,
        now: datetime.datetime,
    ) -> None:
        """Check a new lease that waits: what it waits for must be within the
        limits now.

        :raises: OverLimit
        """
        guard.check_new(session, lease, now, self.wanted(lease))

    def check_changed(
        self,
        guard: Guard,
        session: api.Session,
        before: Before,
        lease: objects.Lease,
        now: datetime.datetime,
    ) -> None:
        """Check a lease that was changed.

        :raises: OverLimit
        """
        if lease.status in states.WAITING:
            was, wanted = self.wanted(before.lease), self.wanted(lease)
            guard.check(session, lease, now, was, wanted)
        else:
            guard.check(session, lease, now, before.held)

    def used(
        self, project_id: str, now: datetime.datetime
    ) -> tuple[limits.Limits, limits.Used]:
        """Return the limits of a project, and what it has of them.

        :raises: CloudUnavailable
        """
        known = self.of(project_id)
        with self.database.reader() as session:
            found = project_limits.look(session, project_id, now, _ALL)
        return known, planner.used(found.count, found.held, now, self.patience)


def held(
    reservation_id: str,
    window: interval.Interval,
    demand: demands.Ask,
    number: int | None = None,
) -> limits.Held:
    """Return the resources that a reservation asks for as if it had them; what
    is in whole ones is not known before it has them.

    :param number: how many it has; None: the least.
    """
    kind = demand.resource_type
    if demand.exclusive:
        wholes = demand.minimum if number is None else number
        counts = {limits.of_wholes(kind): wholes}
    elif kind == objects.HOST:
        counts = {limits.SLOTS: demand.slots}
    else:
        counts = {
            limits.of_amounts(kind, name): demand.slots * units
            for name, units in demand.amounts.items()
        }
    return limits.Held(reservation_id, window, counts)


def planned(
    session: api.Session, wanted: search.Wanted, slots: Mapping[int, int]
) -> limits.Held:
    """Return what a reservation would hold that gets these resources.

    :param slots: resource id -> how many slots of it
    """
    ask = wanted.demand
    found = held(wanted.reservation_id, wanted.window, ask, len(slots))
    if not ask.exclusive or ask.resource_type == objects.HOST:
        return found
    counts = Counter(found.counts)
    for units in inventories.of_wholes(session, slots).values():
        for name, amount in units.items():
            counts[limits.of_amounts(ask.resource_type, name)] += amount
    return dataclasses.replace(found, counts=counts)


def _parted(
    held: Collection[limits.Held], lease: objects.Lease
) -> tuple[list[limits.Held], list[limits.Held]]:
    """Return what others hold, and what the lease does."""
    own = {item.id for item in lease.reservations}
    return (
        [each for each in held if each.reservation_id not in own],
        [each for each in held if each.reservation_id in own],
    )


_WORDS = {
    'leases': ('lease', 'leases'),
    'waiting': ('lease that waits', 'leases that wait'),
    limits.HOSTS: ('host', 'hosts'),
    limits.SLOTS: ('slot', 'slots'),
    'host_hours': ('host hour from now on', 'host hours from now on'),
}


def _words(types: resource_types.Types, name: str) -> tuple[str, str]:
    """Return what one of what is limited is called, and what several are."""
    if name in _WORDS:
        return _WORDS[name]
    resource_type, resource_class = limits.parsed(name)
    nouns = resource_types.nouns(types, resource_type)
    if nouns == base.ResourceType.nouns:
        # A type that has no words of its own is told of by its name.
        nouns = resource_type, resource_type
    one, many = nouns
    if resource_class:
        return f'{resource_class} of {many}', f'{resource_class} of {many}'
    return one, many
