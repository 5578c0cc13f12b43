# SPDX-License-Identifier: Apache-2.0
"""A trial of leases on an imagined pool of hosts.

Leases are tried in the order in which they come. Each is accepted with all of
its reservations, or not at all. Promises move for it as in the real pool.
"""

from collections import defaultdict
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime

from nova_reservations.objects import amounts
from nova_reservations.objects import demand as demands
from nova_reservations.objects import interval
from nova_reservations.objects import stock
from nova_reservations.planner import replanning
from nova_reservations.planner import timelines


@dataclasses.dataclass(frozen=True, slots=True)
class Trial:
    """A reservation that is tried.

    :ivar within: the hosts that it may have.
    :ivar end: with the time in which its servers have to leave.
    """

    reservation_id: str
    demand: demands.Ask
    start: datetime.datetime
    end: datetime.datetime
    within: frozenset[int]


@dataclasses.dataclass(slots=True)
class Pool:
    """Hosts, and all that they are promised for.

    :ivar capacity: host -> all that it has to share.
    :ivar shares: host -> the shares of it.
    :ivar cleaning: how long nobody may have a host between two leases.
    :ivar limit: exchanges that are tried for one lease.
    """

    capacity: Mapping[int, stock.Stock]
    cleaning: datetime.timedelta
    limit: int
    held: dict[int, tuple[timelines.Promise, ...]] = dataclasses.field(
        default_factory=dict
    )
    shares: dict[int, tuple[amounts.Portion, ...]] = dataclasses.field(
        default_factory=dict
    )

    def add(
        self,
        host: int,
        promise: timelines.Promise,
        share: Mapping[str, int] | None = None,
    ) -> None:
        """Promise a host, or a share of it.

        :param promise: its end is without the time for cleaning
        """
        padded = dataclasses.replace(promise, end=promise.end + self.cleaning)
        self.held[host] = (*self.held.get(host, ()), padded)
        if share is not None:
            window = interval.Interval(promise.start, promise.end)
            held = amounts.Portion(window, share)
            self.shares[host] = (*self.shares.get(host, ()), held)

    def accept(self, trials: Sequence[Trial]) -> bool:
        """Promise hosts for all reservations of a lease, or change nothing."""
        held, shares = dict(self.held), dict(self.shares)
        if self._accept_whole(trials) and all(
            self._accept_share(trial)
            for trial in trials
            if not trial.demand.exclusive
        ):
            return True
        self.held, self.shares = held, shares
        return False

    def _accept_whole(self, trials: Sequence[Trial]) -> bool:
        whole = [trial for trial in trials if trial.demand.exclusive]
        if not whole:
            return True
        room = replanning.make_room(
            self.held,
            [
                replanning.Newcomer(
                    trial.reservation_id,
                    trial.start,
                    trial.end + self.cleaning,
                    trial.demand.least,
                    trial.within,
                )
                for trial in whole
            ],
            self.limit,
        )
        if room is None:
            return False
        # All promises leave their hosts before any arrives: one may move to
        # a host that another one leaves.
        moved = defaultdict[int, list[timelines.Promise]](list)
        for move in room.moves:
            of_source = self.held[move.source]
            self.held[move.source] = tuple(
                each
                for each in of_source
                if each.reservation_id != move.reservation_id
            )
            moved[move.target] += (
                each
                for each in of_source
                if each.reservation_id == move.reservation_id
            )
        for host, its in moved.items():
            self.held[host] = (*self.held.get(host, ()), *its)
        for trial in whole:
            for host in room.resources[trial.reservation_id]:
                self.add(host, _promise(trial, trial.within))
        return True

    def _accept_share(self, trial: Trial) -> bool:
        share = trial.demand
        assert not share.exclusive
        left = share.slots
        for host, fit in self._fits(trial, share):
            if share.affinity is True and fit < left:
                continue
            count = min(fit, left, 1 if share.affinity is False else left)
            self.add(host, _promise(trial, None), share.slot * count)
            left -= count
            if not left:
                return True
        return False

    def _fits(
        self, trial: Trial, share: demands.Share
    ) -> Collection[tuple[int, int]]:
        """Return hosts with room for slots, and for how many: those that are
        shared already first."""
        window = interval.Interval(trial.start, trial.end)
        found = []
        for host in trial.within:
            shared = [
                each
                for each in self.shares.get(host, ())
                if each.window.overlaps(window)
            ]
            if self._is_whole(host, window.padded(self.cleaning)):
                continue
            capacity = self.capacity.get(host, stock.of(()))
            fit = share.slot.times_in(capacity.less(shared, window))
            if fit:
                found.append((not shared, host, fit))
        return [(host, fit) for _, host, fit in sorted(found)]

    def _is_whole(self, host: int, window: interval.Interval) -> bool:
        """Return whether somebody has all of the host in a window."""
        # ``held`` counts each share as a promise, too.
        shared = sum(
            each.window.overlaps(window) for each in self.shares.get(host, ())
        )
        held = sum(
            each.start < window.end and window.start < each.end - self.cleaning
            for each in self.held.get(host, ())
        )
        return held > shared


def _promise(trial: Trial, within: frozenset[int] | None) -> timelines.Promise:
    return timelines.Promise(
        trial.reservation_id, trial.start, trial.end, within
    )
