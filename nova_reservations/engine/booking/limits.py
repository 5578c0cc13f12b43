# SPDX-License-Identifier: Apache-2.0
"""Limits of projects, checked in the transactions that add to what they hold.

Such a transaction first raises the generation of its project, and last reads
all that the project holds, including its own writes. So if two transactions
together exceed a limit, one waits for the other and sees its writes. If
nothing is limited, no statement is sent.

Healing and moves of promises add nothing to what was asked for, so they are
never refused. The leases that servers get by default do not count.

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
from nova_reservations.db.holdings import project_limits
from nova_reservations.db.resources import inventories
from nova_reservations.engine import resource_types
from nova_reservations.objects import demand as demands
from nova_reservations.objects import interval
from nova_reservations.objects import limits
from nova_reservations.objects import search
from nova_reservations.objects import states
from nova_reservations.planner import limits as planner
from nova_reservations.types import base


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
        """Wait for other writers of the project; this must be the first
        statement of the transaction."""
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
    ) -> None:
        """Check a lease that has just been written. What it waits for must
        be within the limits now.

        :raises: OverLimit
        """
        if not self.most.is_any:
            return
        found = self._found(session, lease, now)
        waits = _waits(lease)
        self._refuse(
            planner.of_leases(
                found.count, self.most, waits, now, self.patience
            )
        )
        wanted = self.wanted(lease) if waits else ()
        self._compare(lease, found, (), wanted, now)

    def check_changed(
        self,
        session: api.Session,
        before: 'Before',
        lease: objects.Lease,
        now: datetime.datetime,
    ) -> None:
        """Check a lease that was changed.

        :raises: OverLimit
        """
        if not self.most.counts_resources:
            return
        if _waits(lease):
            was, wanted = self.wanted(before.lease), self.wanted(lease)
            self.check(session, lease, now, was, wanted)
        else:
            self.check(session, lease, now, before.held)

    def check_all(
        self,
        session: api.Session,
        new: Sequence[objects.Lease],
        now: datetime.datetime,
    ) -> None:
        """Check leases that have just been written together, as if one lease
        had the reservations of all.

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
        """Check that the project could have one more lease that does not wait.

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
        before: Collection[limits.Counted] = (),
        wanted: Collection[limits.Counted] = (),
    ) -> None:
        """Check what a lease holds that has got its resources.

        :param before: what the lease held before
        :param wanted: what is counted as if the lease held it, too
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
        """Return what the lease's project holds, as far as it can count
        together with the lease."""
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
        before: Collection[limits.Counted],
        wanted: Collection[limits.Counted],
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

    def wanted(self, lease: objects.Lease) -> list[limits.Counted]:
        """Return the least that a lease asks for, as if it held that.

        :raises: InvalidInput
        """
        demanded = self.types.planned(lease)
        return [
            held(item.id, self.types.window(lease, item), demanded[item.id])
            for item in lease.reservations
            if item.id in demanded
        ]

    def outlook(
        self,
        session: api.Session,
        lease: objects.Lease,
        now: datetime.datetime,
    ) -> 'Outlook':
        """Return the limits with what the project holds now, for callers that
        only look and write nothing."""
        if not self.most.counts_resources:
            return Outlook(self, (), (), now)
        found = project_limits.look(session, lease.project_id, now, self.most)
        others, own = _parted(found.held, lease)
        return Outlook(self, others, own, now)


@dataclasses.dataclass(frozen=True, slots=True)
class Before:
    """A lease, and what it had, before it was changed."""

    lease: objects.Lease
    held: Collection[limits.Counted]


_ALL = limits.Limits(leases=0, waiting=0, hosts=0, slots=0, host_hours=0)
"""Limits of everything, so that everything is counted."""

NOTHING = Guard(
    limits.Limits(), '', resource_types.Types({}), datetime.timedelta(0)
)
"""The guard of changes that can exceed no limit."""


@dataclasses.dataclass(frozen=True, slots=True)
class Outlook:
    """The holdings of a project at this moment, beside one lease.

    :ivar before: what the lease has.
    """

    guard: Guard
    others: Collection[limits.Counted]
    before: Collection[limits.Counted]
    now: datetime.datetime

    def breach(
        self, wanted: Collection[limits.Counted]
    ) -> planner.Breach | None:
        """Return a limit that is exceeded if the lease has what is wanted."""
        return planner.of_resources(
            self.others,
            self.before,
            wanted,
            self.guard.most,
            self.now,
            self.guard.patience,
        )

    def breach_of(self, lease: objects.Lease) -> planner.Breach | None:
        """Return a limit that is exceeded if the lease has the least that it
        asks for.

        :raises: InvalidInput
        """
        if not self.guard.most.counts_resources:
            return None
        return self.breach(self.guard.wanted(lease))


@dataclasses.dataclass(eq=False)
class ProjectLimits:
    """:ivar source: returns the limits of a project; None: no project has
    limits.
    :ivar patience: the longest that an end may take.
    """

    database: api.Database
    types: resource_types.Types
    source: ports.LimitSource | None
    patience: datetime.timedelta

    def guard(self, lease: objects.Lease) -> Guard:
        """Return the limits that hold for a lease. Call this outside of a
        transaction, because keystone may be asked.

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


def _waits(lease: objects.Lease) -> bool:
    return lease.status in states.WAITING and lease.server_reservation is None


def held(
    reservation_id: str,
    window: interval.Interval,
    demand: demands.Ask,
    number: int | None = None,
) -> limits.Counted:
    """Return the resources that a reservation asks for, as if it held them.
    The amounts in whole resources are not known before it has them.

    :param number: how many whole resources; None: the least it asks for.
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
    return limits.Counted(reservation_id, window, counts)


def planned(
    session: api.Session, wanted: search.Wanted, slots: Mapping[int, int]
) -> limits.Counted:
    """Return what a reservation would hold if it got these resources.

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
    held: Collection[limits.Counted], lease: objects.Lease
) -> tuple[list[limits.Counted], list[limits.Counted]]:
    """Return what other leases hold, and what this lease holds."""
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
    """Return the singular and plural words for what is limited."""
    if name in _WORDS:
        return _WORDS[name]
    resource_type, resource_class = limits.parsed(name)
    nouns = types.nouns(resource_type)
    if nouns == base.ResourceType.nouns:
        # A type without nouns of its own is called by its name.
        nouns = resource_type, resource_type
    one, many = nouns
    if resource_class:
        return f'{resource_class} of {many}', f'{resource_class} of {many}'
    return one, many
