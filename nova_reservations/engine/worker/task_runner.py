# SPDX-License-Identifier: Apache-2.0
"""Runs periodic tasks; each task runs in only one worker of the cloud at a
time.

The claim on a task is renewed while the task runs. So a run may take as long
as it needs, and if its worker dies another worker soon begins it anew. A run
that hangs is given up, and another may begin beside it, here or elsewhere.
Then the run that was given up does nothing more.

Decision 0059: doc/source/decisions/0059-nothing-is-waited-for-for-ever
"""

from collections.abc import Mapping
from collections.abc import Sequence
from concurrent import futures
import dataclasses
import datetime

from oslo_log import log

from nova_reservations import exception
from nova_reservations.db import api
from nova_reservations.db import tasks as rows
from nova_reservations.engine import claimed_leases
from nova_reservations.engine.worker import periodic
from nova_reservations.ports import fences

LOG = log.getLogger(__name__)


@dataclasses.dataclass(slots=True)
class _Run:
    """A run of a task.

    :ivar attempt: the attempt of the task, as the claim set it.
    :ivar hangs: whether the claim is not renewed any more.
    """

    task: periodic.Task
    attempt: int
    future: futures.Future[None]
    begun_at: datetime.datetime
    renewed_at: datetime.datetime
    hangs: bool = False


class TaskRunner:
    """:param pool: has two threads for each of the tasks."""

    def __init__(
        self,
        database: api.Database,
        tasks: Sequence[periodic.Task],
        pool: futures.ThreadPoolExecutor,
    ) -> None:
        self.database = database
        self.tasks = tasks
        self._pool = pool
        self._runs: dict[str, _Run] = {}
        self._given_up: dict[str, _Run] = {}
        """At most one of each task, so that there is a thread for another."""

    def begun(self) -> list[futures.Future[None]]:
        """Return runs that are not known to be over."""
        return [
            run.future
            for runs in (self._runs, self._given_up)
            for run in runs.values()
        ]

    def collect(self) -> None:
        """Forget runs that are over."""
        for runs in (self._runs, self._given_up):
            for name, run in [*runs.items()]:
                if run.future.done():
                    del runs[name]
                    claimed_leases.log_failure(run.future, f'the task {name}')
        for name, run in [*self._runs.items()]:
            if run.hangs and name not in self._given_up:
                self._given_up[name] = self._runs.pop(name)

    def renew(self, now: datetime.datetime) -> None:
        """Renew the claims of running tasks, except those that hang."""
        for name, run in self._runs.items():
            if run.hangs or now - run.renewed_at < claimed_leases.RENEWAL:
                continue
            if now - run.begun_at >= run.task.patience:
                LOG.error(
                    'The task %(name)s hangs, %(seconds)d seconds after it '
                    'was begun: another worker may begin it',
                    {
                        'name': name,
                        'seconds': (now - run.begun_at).total_seconds(),
                    },
                )
                run.hangs = True
                continue
            if claimed_leases.try_change(
                self.database,
                rows.renew,
                name=name,
                attempt=run.attempt,
                until=now + claimed_leases.DURATION,
            ):
                run.renewed_at = now

    def take(self, due: Mapping[str, int], now: datetime.datetime) -> None:
        """Begin the due tasks that no other worker begins.

        :param due: name -> attempt, as it was read
        """
        for task in self.tasks:
            if task.name not in due or task.name in self._runs:
                continue
            attempt = due[task.name]
            if claimed_leases.try_change(
                self.database,
                rows.take,
                name=task.name,
                attempt=attempt,
                now=now,
                until=now + claimed_leases.DURATION,
                next_at=task.next_at(now),
            ):
                self._runs[task.name] = _Run(
                    task,
                    attempt + 1,
                    self._pool.submit(self._do, task, attempt + 1, now),
                    now,
                    now,
                )

    def unfinished(self) -> dict[str, int]:
        """Return name -> attempt of the tasks that are not finished."""
        return {
            name: run.attempt
            for name, run in self._runs.items()
            if run.future.cancelled() or not run.future.done()
        }

    def give_back(self, session: api.Session, now: datetime.datetime) -> None:
        """Let other workers begin unfinished tasks anew."""
        for name, attempt in sorted(self.unfinished().items()):
            rows.renew(session, name, attempt, until=now)

    def _do(
        self, task: periodic.Task, attempt: int, now: datetime.datetime
    ) -> None:
        def check() -> None:
            with self.database.reader() as session:
                if not rows.is_held(session, task.name, attempt):
                    raise exception.AttemptLost(name=task.name)

        try:
            with fences.around(check):
                task.run(now)
        except exception.AttemptLost as error:
            LOG.warning('%s: this run of it does nothing more', error)
            return
        with self.database.writer() as session:
            rows.finish(session, task.name, attempt)
