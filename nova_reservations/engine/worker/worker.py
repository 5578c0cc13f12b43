# SPDX-License-Identifier: Apache-2.0
"""A worker of the loop: it finds what is due, claims it, runs it.

Every worker process of every nova-scheduler has one. They share the work only
by claims in the database, and do not talk to each other.
"""

import collections
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Sequence
from concurrent import futures
import dataclasses
import datetime
import operator
import random
import threading

from oslo_log import log

from nova_reservations import exception
from nova_reservations.db import api
from nova_reservations.db import counters
from nova_reservations.db.leases import due_leases
from nova_reservations.db.leases import leases
from nova_reservations.db.leases import looks
from nova_reservations.db.upkeep import audit
from nova_reservations.engine import claimed_leases
from nova_reservations.engine.worker import lifecycle
from nova_reservations.engine.worker import periodic as tasks
from nova_reservations.engine.worker import senders
from nova_reservations.engine.worker import task_runner

LOG = log.getLogger(__name__)

PATIENCE = datetime.timedelta(minutes=5)
"""How long a claim is renewed: a thread that waits for an answer which will
never come must not keep the lease for ever. No step takes this long: one that
waits for Nova gives the claim back."""

CHOICE = 200
"""A worker chooses from this many of the leases that are due the longest."""

TOGETHER = 25
"""The most leases that one thread starts together: others that start at the
same moment are for other workers."""


@dataclasses.dataclass(slots=True)
class _Work:
    claimed: list[claimed_leases.Claim]
    taken_at: datetime.datetime
    renewed_at: datetime.datetime
    given_up: bool = False


GRACE = 10
"""Seconds in which begun work has to finish when the process ends."""

PATIENCE_WITH_DATABASE = 5
"""Seconds for which the end of the process waits for a look at what is due,
and for work that finds its claim gone."""


class Worker:
    """:param threads: how many leases it handles at the same time."""

    def __init__(
        self,
        name: str,
        database: api.Database,
        runner: lifecycle.Lifecycle,
        periodic: Sequence[tasks.Task],
        threads: int,
        sender: senders.Senders,
    ) -> None:
        self.name = name
        self.database = database
        self.runner = runner
        self.threads = threads
        self._dice = random.Random(name)  # noqa: S311
        self._pool = futures.ThreadPoolExecutor(
            # Threads start when they are needed: half of them replace others.
            2 * (threads + len(periodic)),
            thread_name_prefix='reservations',
        )
        self._held: dict[futures.Future[None], _Work] = {}
        self._tasks = task_runner.TaskRunner(database, periodic, self._pool)
        self._senders = sender
        self._looking = threading.Lock()
        self._stopped = False

    def tick(self, now: datetime.datetime) -> None:
        """Begin what is due at a time; does not wait for it."""
        with self.database.reader() as session:
            look = looks.at(session, now)
        self.begin(look)

    def begin(self, look: looks.Look) -> None:
        """Begin what a look has found due; does not wait for it."""
        now = look.now
        with self._looking:
            if self._stopped:
                return
            self._collect()
            self._renew(now)
            self._tasks.renew(now)
            if look.lease:
                self._take_leases(now)
            self._tasks.take(look.tasks, now)
            if look.message:
                self._senders.take(now)

    def tend(self, now: datetime.datetime) -> None:
        """Go on with what was begun, and begin nothing."""
        with self._looking:
            self._collect()
            self._renew(now)
            self._tasks.renew(now)

    @property
    def is_busy(self) -> bool:
        """True if anything that was begun may not be over."""
        return bool(self._begun())

    @property
    def hangs(self) -> bool:
        """True if at least half as many threads hang as it has."""
        return 2 * self._hung() >= self.threads

    def _hung(self) -> int:
        return sum(
            held.given_up and not future.done()
            for future, held in [*self._held.items()]
        )

    def recall(self, now: datetime.datetime) -> None:
        """Make leases due at once whose due dates a wrong clock has put too
        far ahead."""
        with self.database.reader() as session:
            late = audit.forgotten(session, now + 2 * claimed_leases.DURATION)
        for lease_id in late:
            with self.database.writer() as session:
                audit.redate(session, lease_id, now)
                audit.wake(session, lease_id, now)

    def drain(self) -> None:
        """Wait until all that was begun is over."""
        futures.wait(self._begun())
        self._collect()

    def stop(self, grace: float = GRACE) -> None:
        """Begin nothing more, and give back what is not finished in time.

        Other workers take that work up at once. Threads that still run find
        their claim gone before their next write.

        :param grace: seconds
        """
        self._stopped = True
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._senders.stop()
        # A look that is still running may be about to claim more.
        looked = self._looking.acquire(timeout=PATIENCE_WITH_DATABASE)
        try:
            futures.wait(self._begun(), grace)
            self._give_back()
            futures.wait(self._begun(), min(grace, PATIENCE_WITH_DATABASE))
        finally:
            if looked:
                self._looking.release()

    def _begun(self) -> list[futures.Future[None]]:
        """Return work that was begun, and is not known to be over."""
        return [*self._held, *self._tasks.begun(), *self._senders.begun()]

    def _give_back(self) -> None:
        given_up = [
            claim
            for future, held in self._held.items()
            if future.cancelled() or not future.done()
            for claim in held.claimed
        ]
        unfinished = self._tasks.unfinished()
        if not given_up and not unfinished:
            return
        try:
            now = self.runner.clock()
            with self.database.writer() as session:
                for claim in sorted(
                    given_up, key=operator.attrgetter('lease_id')
                ):
                    leases.give_back(
                        session,
                        claim.lease_id,
                        claim.attempt,
                        self.name,
                        now,
                    )
                self._tasks.give_back(session, now)
        except exception.ReservationsError as error:
            LOG.error(
                'Other workers go on with unfinished work later: %s', error
            )
            return
        LOG.info(
            'Given back to other workers: leases %(leases)s; tasks %(tasks)s',
            {
                'leases': _names(given_up) or 'none',
                'tasks': ', '.join(sorted(unfinished)) or 'none',
            },
        )

    def _collect(self) -> None:
        for done in [future for future in self._held if future.done()]:
            held = self._held.pop(done)
            claimed_leases.log_failure(done, f'leases {_names(held.claimed)}')
        self._tasks.collect()
        self._senders.collect()

    def _renew(self, now: datetime.datetime) -> None:
        self._senders.renew(now)
        for held in self._held.values():
            if held.given_up or now - held.renewed_at < claimed_leases.RENEWAL:
                continue
            if now - held.taken_at >= PATIENCE:
                LOG.error(
                    'The work on leases %s hangs: another worker may have it',
                    _names(held.claimed),
                )
                held.given_up = True
                continue
            if claimed_leases.try_change(
                self.database,
                _renew,
                held.claimed,
                now + claimed_leases.DURATION,
            ):
                held.renewed_at = now

    def _take_leases(self, now: datetime.datetime) -> None:
        free = self._free()
        if free <= 0:
            return
        found = self._due(free, now)
        ready = [due for due in found if due.ready][:TOGETHER]
        others = [due for due in found if not due.ready]
        taken = self._claim(ready + others[: free - bool(ready)], now)
        together = [taken.pop(due.id) for due in ready if due.id in taken]
        if together:
            begun = self._pool.submit(self.runner.start_together, together)
            self._held[begun] = _Work(together, now, now)
        for claim in taken.values():
            begun = self._pool.submit(self.runner.run, claim)
            self._held[begun] = _Work([claim], now, now)

    def _free(self) -> int:
        """Return how many threads may take leases. A thread that hangs is
        replaced, as long as at least as many as it has do not hang."""
        return self.threads - len(self._held) + min(self._hung(), self.threads)

    def _due(
        self, enough: int, now: datetime.datetime
    ) -> list[due_leases.Due]:
        """Return leases that are due, of each project in turn, so that no
        project waits for all leases of another one.

        :param enough: how many projects suffice
        """
        due: list[due_leases.Due] = []
        projects: set[str] = set()
        with self.database.reader() as session:
            while len(projects) < enough:
                page = due_leases.find(session, now, CHOICE, projects)
                due += page
                projects |= {due_lease.project_id for due_lease in page}
                if len(page) < CHOICE:
                    break
        # Workers that look at the same moment begin at different places.
        first = self._dice.randint(0, len(due))
        return _in_turn(due[first:] + due[:first])

    def _claim(
        self, wanted: Collection[due_leases.Due], now: datetime.datetime
    ) -> dict[str, claimed_leases.Claim]:
        """Claim leases; return the claims by the leases' ids, without leases
        that another worker has claimed before."""
        if not wanted:
            return {}
        try:
            with self.database.writer() as session:
                claimed = [
                    due_lease
                    # All workers use the same order, which excludes deadlocks.
                    for due_lease in sorted(wanted)
                    if leases.claim(
                        session,
                        lease_id=due_lease.id,
                        attempt=due_lease.attempt,
                        worker=self.name,
                        now=now,
                        until=now + claimed_leases.DURATION,
                    )
                ]
                taken_over = sum(due_lease.left for due_lease in claimed)
                if taken_over:
                    counters.increment(
                        session, claimed_leases.TAKEN_OVER, taken_over
                    )
        except exception.Conflict:
            return {}
        return {
            due_lease.id: claimed_leases.Claim(
                due_lease.id, due_lease.attempt + 1, self.name
            )
            for due_lease in claimed
        }


def _renew(
    session: api.Session,
    held: Iterable[claimed_leases.Claim],
    until: datetime.datetime,
) -> bool:
    """Renew claims; return False if all of them are lost or given back."""
    kept = [
        leases.renew(session, claim.lease_id, claim.attempt, until)
        for claim in held
    ]
    return any(kept)


def _in_turn(due: Iterable[due_leases.Due]) -> list[due_leases.Due]:
    """Return the first of each project, then the second of each."""
    before: collections.Counter[str] = collections.Counter()
    turns = []
    for due_lease in due:
        turns.append((before[due_lease.project_id], due_lease))
        before[due_lease.project_id] += 1
    return [
        due_lease for _, due_lease in sorted(turns, key=operator.itemgetter(0))
    ]


def _names(held: Iterable[claimed_leases.Claim]) -> str:
    return ', '.join(claim.lease_id for claim in held)
