# SPDX-License-Identifier: Apache-2.0
"""One worker of the loop: finds what is due, claims it, runs it.

Every worker of every nova-scheduler has one. They share the work by the
claims in the database, and need nothing else of each other.
"""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Sequence
from concurrent import futures
import dataclasses
import datetime
import functools
import random
from typing import Any

from oslo_log import log

from nova_reservations import exception
from nova_reservations.db import api
from nova_reservations.db import counters
from nova_reservations.db import leases
from nova_reservations.engine import lifecycle
from nova_reservations.engine import tasks

LOG = log.getLogger(__name__)

CLAIM = datetime.timedelta(seconds=30)
"""How long a claim stands that nobody renews."""

RENEWAL = datetime.timedelta(seconds=10)

PATIENCE = datetime.timedelta(minutes=5)
"""How long a claim is renewed: a thread that waits for an answer which will
never come must not keep the lease for ever. Nothing takes as long: what
waits for Nova gives the claim back."""


CHOICE = 200
"""So many of what is due the longest a worker chooses from."""

TOGETHER = 25
"""So many leases one thread starts together: the others of a moment are for
other workers."""


@dataclasses.dataclass(slots=True)
class _Held:
    claims: list[lifecycle.Claim]
    taken_at: datetime.datetime
    renewed_at: datetime.datetime
    given_up: bool = False


class Worker:
    """:param threads: how many leases it handles at the same time."""

    def __init__(
        self,
        name: str,
        database: api.Database,
        runner: lifecycle.Lifecycle,
        periodic: Sequence[tasks.Task],
        threads: int,
    ) -> None:
        self.name = name
        self.database = database
        self.runner = runner
        self.periodic = periodic
        self.threads = threads
        self._dice = random.Random(name)  # noqa: S311
        self._pool = futures.ThreadPoolExecutor(
            threads + len(periodic), thread_name_prefix='reservations'
        )
        self._held: dict[futures.Future[None], _Held] = {}
        self._running: dict[str, futures.Future[None]] = {}

    def tick(self, now: datetime.datetime) -> None:
        """Look once at what is due; does not wait for what it begins."""
        self._collect()
        self._renew(now)
        self._take_leases(now)
        self._take_tasks(now)

    def drain(self) -> None:
        """Wait until all that was begun is over."""
        futures.wait([*self._held, *self._running.values()])
        self._collect()

    def stop(self) -> None:
        """Finish what was begun, begin nothing more."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _collect(self) -> None:
        for done in [future for future in self._held if future.done()]:
            held = self._held.pop(done)
            _log_failure(done, f'leases {_names(held.claims)}')
        for name in [
            name for name, future in self._running.items() if future.done()
        ]:
            _log_failure(self._running.pop(name), f'the task {name}')

    def _renew(self, now: datetime.datetime) -> None:
        for held in self._held.values():
            if held.given_up or now - held.renewed_at < RENEWAL:
                continue
            if now - held.taken_at >= PATIENCE:
                LOG.error(
                    'The work on leases %s hangs: another worker may have it',
                    _names(held.claims),
                )
                held.given_up = True
                continue
            until = now + CLAIM
            if self._first(functools.partial(_renew, held.claims, until)):
                held.renewed_at = now

    def _take_leases(self, now: datetime.datetime) -> None:
        free = self.threads - len(self._held)
        if free <= 0:
            return
        with self.database.reader() as session:
            due = leases.due(session, now, limit=CHOICE)
        # Workers that look at the same moment begin at different places.
        first = self._dice.randint(0, len(due))
        due = due[first:] + due[:first]
        ready = [one for one in due if one.ready][:TOGETHER]
        others = [one for one in due if not one.ready]
        claims = self._claim(ready + others[: free - bool(ready)], now)
        together = [claims.pop(one.id) for one in ready if one.id in claims]
        if together:
            begun = self._pool.submit(self.runner.start_together, together)
            self._held[begun] = _Held(together, now, now)
        for claim in claims.values():
            begun = self._pool.submit(self.runner.run, claim)
            self._held[begun] = _Held([claim], now, now)

    def _claim(
        self, wanted: Collection[leases.Due], now: datetime.datetime
    ) -> dict[str, lifecycle.Claim]:
        """Return claims by the ids of their leases, of those that no other
        worker has claimed before."""
        if not wanted:
            return {}
        try:
            with self.database.writer() as session:
                return {
                    one.id: lifecycle.Claim(one.id, one.attempt + 1, self.name)
                    # In one order in all workers: none waits in a circle.
                    for one in sorted(wanted)
                    if leases.claim(
                        session,
                        lease_id=one.id,
                        attempt=one.attempt,
                        worker=self.name,
                        now=now,
                        until=now + CLAIM,
                    )
                }
        except exception.Conflict:
            return {}

    def _take_tasks(self, now: datetime.datetime) -> None:
        with self.database.reader() as session:
            due = counters.due(session, now)
        for task in self.periodic:
            if task.name not in due or task.name in self._running:
                continue
            mine = functools.partial(
                counters.take_task,
                name=task.name,
                now=now,
                until=now + task.patience,
            )
            if self._first(mine):
                self._running[task.name] = self._pool.submit(
                    self._do, task, now
                )

    def _do(self, task: tasks.Task, now: datetime.datetime) -> None:
        task.run(now)
        with self.database.writer() as session:
            counters.finish_task(
                session, task.name, now + task.patience, now + task.interval
            )

    def _first(self, change: Callable[[Any], bool]) -> bool:
        """Write what only one worker may; False if another was first."""
        try:
            with self.database.writer() as session:
                return change(session)
        except exception.Conflict:
            return False


def _renew(
    claims: Iterable[lifecycle.Claim],
    until: datetime.datetime,
    session: Any,
) -> bool:
    """Keep claims; False if all of them were lost, or given back."""
    kept = [
        leases.renew(session, claim.lease_id, claim.attempt, until)
        for claim in claims
    ]
    return any(kept)


def _names(claims: Iterable[lifecycle.Claim]) -> str:
    return ', '.join(claim.lease_id for claim in claims)


def _log_failure(future: futures.Future[None], what: str) -> None:
    """Log what should not happen; the claim expires and is taken again."""
    error = future.exception()
    if error is not None:
        LOG.error(
            'The work on %(what)s failed; it will be taken up again',
            {'what': what},
            exc_info=error,
        )
