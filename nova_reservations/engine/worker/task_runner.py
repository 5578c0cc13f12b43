# SPDX-License-Identifier: Apache-2.0
"""Runs periodic tasks; each task runs in only one worker of the cloud at a
time.

The claim on a task is renewed while the task runs. So a run may take as long
as it needs, and if its worker dies another worker soon begins it anew.
"""

from collections.abc import Mapping
from collections.abc import Sequence
from concurrent import futures
import dataclasses
import datetime
import functools

from oslo_log import log

from nova_reservations.db import api
from nova_reservations.db import tasks as rows
from nova_reservations.engine import claims
from nova_reservations.engine.worker import periodic

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
    """:param pool: has a thread for each of the tasks."""

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

    def begun(self) -> list[futures.Future[None]]:
        """Return runs that are not known to be over."""
        return [run.future for run in self._runs.values()]

    def collect(self) -> None:
        """Forget runs that are over."""
        for name, run in [*self._runs.items()]:
            if run.future.done():
                del self._runs[name]
                claims.log_failure(run.future, f'the task {name}')

    def renew(self, now: datetime.datetime) -> None:
        """Renew the claims of running tasks, except those that hang."""
        for name, run in self._runs.items():
            if run.hangs or now - run.renewed_at < claims.RENEWAL:
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
            change = functools.partial(
                rows.renew,
                name=name,
                attempt=run.attempt,
                until=now + claims.DURATION,
            )
            if claims.try_change(self.database, change):
                run.renewed_at = now

    def take(self, due: Mapping[str, int], now: datetime.datetime) -> None:
        """Begin the due tasks that no other worker begins.

        :param due: name -> attempt, as it was read
        """
        for task in self.tasks:
            if task.name not in due or task.name in self._runs:
                continue
            attempt = due[task.name]
            change = functools.partial(
                rows.take,
                name=task.name,
                attempt=attempt,
                now=now,
                until=now + claims.DURATION,
                next_at=task.next_at(now),
            )
            if claims.try_change(self.database, change):
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
        task.run(now)
        with self.database.writer() as session:
            rows.finish(session, task.name, attempt)
