# SPDX-License-Identifier: Apache-2.0
"""A walk through all leases that wait, in their order, when resources came
free.

All leases are read once. The walk looks further at a lease only if it could
use a resource that came free, and no lease ahead keeps it for itself. So the
cost of a walk, beside the reading, does not grow with the other leases.

The rows of what came free are deleted at the end, so that a walk that dies is
repeated. A walk that has looked at many leases records how far it came, and
the next walk goes on there.

Decision 0026: doc/source/decisions/0026-one-walk-of-the-queue
"""

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
import json
from typing import Any

from oslo_log import log

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db import pages
from nova_reservations.db.holdings import allocations as allocations_db
from nova_reservations.db.holdings import candidates
from nova_reservations.db.holdings import freed_resources
from nova_reservations.db.leases import freed_capacity
from nova_reservations.db.leases import leases
from nova_reservations.db.leases import retry_queue
from nova_reservations.engine import notifications
from nova_reservations.engine import steps
from nova_reservations.engine import transactions
from nova_reservations.engine.booking import allocations
from nova_reservations.engine.booking import limits
from nova_reservations.engine.booking import means
from nova_reservations.engine.booking import queue
from nova_reservations.engine.booking import replanning
from nova_reservations.engine.waiting import judged_walks
from nova_reservations.engine.waiting import retry
from nova_reservations.objects import demand as demands
from nova_reservations.objects import interval
from nova_reservations.objects import search
from nova_reservations.objects import states
from nova_reservations.objects import wishes
from nova_reservations.planner import queueing
from nova_reservations.types import base

LOG = log.getLogger(__name__)

MOST = 50
"""The most leases that one walk looks at further, so that the worker is free
for other work, too."""

CLAIM = datetime.timedelta(seconds=30)
"""The time for which nobody overtakes a lease that is being tried, if the
worker dies in the middle."""

SOON = datetime.timedelta(seconds=1)
"""The pause of a walk that has met another worker, or has judged enough."""

ME = 'the queue'
"""The holder of the claim on a lease while it is tried."""

_STOPS = exception.Conflict, exception.Contended, judged_walks.Tired

_Asked = tuple[demands.Ask, datetime.timedelta]
"""The demand of a reservation, and the time after the lease's end for which it
is held."""


@dataclasses.dataclass(frozen=True, slots=True)
class Offer:
    """Resources that a lease may have.

    :ivar among: reservation id -> ids of resources that it may have.
    :ivar told: ids of resources that this walk offers later to leases behind.
    :ivar moves_promises: whether promises of others may move for the lease.
    """

    among: Mapping[str, Collection[int]]
    told: Collection[int | None]
    moves_promises: bool = False


@dataclasses.dataclass(eq=False)
class Walk(means.UseCase):
    retries: retry.Retries

    judgements: judged_walks.Judgements = dataclasses.field(
        default_factory=judged_walks.Judgements, init=False
    )
    _parsed: dict[str, _Asked | None] = dataclasses.field(
        default_factory=dict, init=False
    )

    def run(self, now: datetime.datetime) -> None:
        """Give resources that came free to leases that wait."""
        with self.database.reader() as session:
            page = freed_capacity.untold(session)
            if not page:
                return
            rows = retry_queue.in_order(session)
        this_round = _Round(self, self._waiters(rows, now), page, now)
        again = this_round.take()

        def record(session: api.Session) -> None:
            if again is None:
                freed_capacity.told(session, page, now)
            else:
                freed_capacity.told_some(session, page, this_round.upto, again)

        transactions.write(self.database, record)

    def _waiters(
        self, rows: Iterable[retry_queue.Waiting], now: datetime.datetime
    ) -> list[wishes.QueuedLease]:
        known, self._parsed = self._parsed, {}
        kinds: dict[Any, wishes.Kind] = {}
        found = []
        for row in rows:
            try:
                window = queue.window(row, now)
            except exception.NotEnoughResources:
                # The lease is about to give up.
                continue
            asked_for: list[wishes.Wish] = []
            for wanted in row.wanted:
                key = json.dumps([wanted.resource_type, wanted.params])
                if key not in self._parsed:
                    self._parsed[key] = (
                        known[key] if key in known else self._parse(wanted)
                    )
                asked = self._parsed[key]
                if asked is not None:
                    ask, aftermath = asked
                    alike = ask.resource_type, ask.requirements
                    asked_for.append(
                        wishes.Wish(
                            wanted.reservation_id,
                            kinds.setdefault(alike, wishes.Kind(*alike)),
                            ask,
                            interval.Interval(
                                window.start, window.end + aftermath
                            ),
                        )
                    )
            found.append(
                wishes.QueuedLease(
                    row.lease_id, row.arrival, window, tuple(asked_for)
                )
            )
        self.judgements.begin([kind.requirements for kind in kinds.values()])
        return found

    def _parse(self, wanted: retry_queue.WaitingReservation) -> _Asked | None:
        kind = self.types.get(wanted.resource_type)
        if kind is None:
            return None
        demand = base.stored_demand(
            kind, wanted.params, f'reservation {wanted.reservation_id}'
        )
        if demand is None:
            return None
        return demand, kind.aftermath(wanted.params)

    # The try of one lease

    def try_one(
        self,
        lease_id: str,
        offer: Offer,
        now: datetime.datetime,
    ) -> Collection[int] | None:
        """Try to give a lease what it waits for from the offer.

        :returns: the ids of the resources that it has got; None: it waits on
        :raises: Conflict, Contended if another worker changes the lease, which
            has to be looked at anew
        """
        lease = self._take(lease_id, now)
        if lease is None:
            return ()
        try:
            return self._try(lease, offer, now)
        except (exception.Contended, exception.ClaimLost) as error:
            with self.database.writer() as session:
                leases.give_back(session, lease.id, lease.attempt, ME, now)
            raise exception.Contended from error

    def _take(
        self, lease_id: str, now: datetime.datetime
    ) -> objects.Lease | None:
        """Claim a lease that waits, so that no new one overtakes it; return
        None if it waits no more.

        :raises: Conflict
        """
        with self.database.writer() as session:
            try:
                seen = leases.get(session, lease_id)
            except exception.NotFound:
                return None
            if seen.status != states.Lease.CREATING:
                return None
            if seen.claimed_by == ME and seen.due_at and seen.due_at > now:
                raise exception.Conflict(kind='Lease', id=lease_id)
            claim: dict[str, Any] = {
                'claimed_by': ME,
                'attempt': seen.attempt + 1,
                'due_at': now + CLAIM,
            }
            leases.change(session, seen, now, **claim)
            return dataclasses.replace(seen, version=seen.version + 1, **claim)

    def _try(
        self,
        lease: objects.Lease,
        offer: Offer,
        now: datetime.datetime,
    ) -> Collection[int] | None:
        """:raises: Contended, ClaimLost"""
        try:
            guard = self.limits.guard(lease)
            return transactions.book(
                self.database,
                lambda attempt: self._grant(lease, offer, now, attempt, guard),
            )
        except (exception.OverLimit, exception.CloudUnavailable) as refusal:
            # Leases behind this one need not wait until its project gives
            # something back.
            leaving = refusal.values.get('leaving')
            again = retry.AGAIN if leaving else retry.SELDOM
            self.retries.wait_on(lease, refusal.public, now, again)
            return ()
        except exception.NotEnoughResources as refusal:
            self.retries.wait_on(lease, str(refusal), now)
            self.notify(notifications.RETRY, notifications.payload(lease))
            return None
        except exception.InvalidInput as refusal:
            self.retries.give_up(lease, str(refusal), now)
            return ()

    def _grant(
        self,
        lease: objects.Lease,
        offer: Offer,
        now: datetime.datetime,
        attempt: transactions.Attempt,
        guard: limits.Guard,
    ) -> set[int]:
        with self.database.writer() as session:
            guard.begin(session)
            attempt.begin(session)
            granted, moved = retry.grant(
                session,
                lease,
                now,
                self.allocations,
                allocations.Terms(
                    best_fit=attempt.number == 1,
                    among=offer.among,
                    attempt=attempt,
                    moves_promises=offer.moves_promises,
                ),
            )
            leases.release(
                session, granted, steps.due_at(granted, now, self.options)
            )
            if moved:
                freed_capacity.freed(session, now, moved)
            retry.left(session, lease, now, self.types, told=offer.told)
            guard.check(session, granted, now)
            taken = allocations_db.held_by(session, lease)
        LOG.info(
            'Lease %(lease)s of project %(project)s has waited, and is '
            'promised from %(start)s to %(end)s',
            {
                'lease': granted.id,
                'project': granted.project_id,
                'start': granted.start_date,
                'end': granted.end_date,
            },
        )
        return taken


class _Round:
    """One walk through all leases that wait.

    :ivar upto: the arrival of the last lease that was looked at.
    :ivar may_move: whether promises may still move for one of the leases.
    """

    def __init__(
        self,
        walk: Walk,
        line: Sequence[wishes.QueuedLease],
        page: Collection[freed_capacity.Freed],
        now: datetime.datetime,
    ) -> None:
        self.walk = walk
        self.queued_leases = line
        self.now = now
        self.holds = walk.judgements.holds
        self.line = queueing.Line(now, walk.options.cleaning_time, self.holds)
        self.upto = 0
        self.may_move = walk.options.replan_limit > 0
        self.freed_resources: dict[int, wishes.FreedResource] = {}
        #: Resource id, or None for any -> leases that arrived after this
        #: arrival may use it.
        self.freed: dict[int | None, int] = {}
        for row in page:
            before = self.freed.get(row.resource_id, row.arrival)
            self.freed[row.resource_id] = min(before, row.arrival)

    def take(self) -> datetime.datetime | None:
        """Go from the first lease to the last; if the walk has to stop before,
        return when to go on."""
        with self.walk.database.reader() as session:
            self._learn(
                session, [key for key in self.freed if key is not None]
            )
        looked_at = 0
        for queued in self.queued_leases:
            try:
                is_next = self._may_gain(queued) or self._may_ask(queued)
                looked_at += is_next
                if looked_at > MOST:
                    return self.now
                gone = is_next and self._serve(queued)
            except _STOPS:
                return self.now + SOON
            if not gone:
                self.line.join(queued)
            self.upto = queued.arrival
        return None

    def _learn(
        self, session: api.Session, resource_ids: Collection[int]
    ) -> None:
        for resource in freed_resources.load(session, resource_ids):
            self.freed_resources[resource.id] = resource

    def _may_gain(self, queued: wishes.QueuedLease) -> bool:
        """Return whether the lease could use a resource that came free."""
        if self.line.is_behind_its_like(queued):
            return False
        if self._is_free(None, queued):
            # A lease that left the queue may have kept any resource from it.
            return True
        return any(
            self.line.offers(queued, wish, resource)
            for resource in self._freed_for(queued)
            for wish in queued.wishes
        )

    def _may_ask(self, queued: wishes.QueuedLease) -> bool:
        """Return whether it is worth checking if promises could move for the
        lease. That is done for one lease in a walk, which has no rival ahead
        and could use, at some time, a resource that came free.

        Decision 0031: doc/source/decisions/0031-promises-may-move
        """
        return (
            self.may_move
            and len({wish.kind.resource_type for wish in queued.wishes}) == 1
            and all(wish.ask.exclusive for wish in queued.wishes)
            and self.line.has_nobody_before(queued)
            and any(
                resource.meets(wish.kind, self.holds)
                for resource in self._freed_for(queued)
                for wish in queued.wishes
            )
        )

    def _is_free(self, key: int | None, queued: wishes.QueuedLease) -> bool:
        return key in self.freed and queued.arrival > self.freed[key]

    def _freed_for(
        self, queued: wishes.QueuedLease
    ) -> Iterable[wishes.FreedResource]:
        for key in self.freed:
            if key in self.freed_resources and self._is_free(key, queued):
                yield self.freed_resources[key]

    def _serve(self, queued: wishes.QueuedLease) -> bool:
        """Give the lease what it wants; return False if it waits on.

        :raises: Conflict, Contended
        """
        among: dict[str, Collection[int]] = {}
        with self.walk.database.reader() as session:
            try:
                for wish in queued.wishes:
                    among[wish.reservation_id] = self._find(
                        session, queued, wish
                    )
                moves = any(
                    len(among[wish.reservation_id]) < wish.ask.least
                    for wish in queued.wishes
                )
                if moves and not self._might_move(session, queued):
                    return False
            except exception.InvalidInput:
                # Hosts have got too many values for Nova to judge. Its own
                # try finds that, too, and tells its owner.
                moves = False
        told = [key for key in self.freed if self._is_free(key, queued)]
        taken = self.walk.try_one(
            queued.lease_id, Offer(among, told, moves), self.now
        )
        if taken is None:
            return False
        with self.walk.database.reader() as session:
            self._learn(session, taken)
        return True

    def _might_move(
        self, session: api.Session, queued: wishes.QueuedLease
    ) -> bool:
        """Return whether there might be room for the lease if promises of
        others move, judging by the peak of demand."""
        if not self._may_ask(queued):
            return False
        self.may_move = False
        terms = search.Search(
            self.now,
            self.walk.options.cleaning_time,
            ignore=[wish.reservation_id for wish in queued.wishes],
        )
        wanted = [
            search.Wanted(wish.reservation_id, wish.ask, wish.window)
            for wish in queued.wishes
        ]
        return not replanning.is_hopeless(
            session, self.walk.types, wanted, terms
        )

    def _find(
        self,
        session: api.Session,
        queued: wishes.QueuedLease,
        wish: wishes.Wish,
    ) -> list[int]:
        """Return resources that the lease could have; not all, but enough if
        there are enough."""
        enough = candidates.PAGE + sum(
            wish.ask.maximum for wish in queued.wishes
        )
        found: list[int] = []
        ids = candidates.not_taken(
            session,
            wish.kind.resource_type,
            wish.kind.requirements,
            wish.window.padded(self.walk.options.cleaning_time),
            self.now,
        )
        for page in pages.of(ids):
            self._learn(
                session,
                [
                    resource_id
                    for resource_id in page
                    if resource_id not in self.freed_resources
                ],
            )
            found += [
                resource_id
                for resource_id in page
                if resource_id in self.freed_resources
                and self.line.offers(
                    queued, wish, self.freed_resources[resource_id]
                )
            ]
            if len(found) >= enough:
                break
        return found
