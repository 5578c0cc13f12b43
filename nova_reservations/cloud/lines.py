# SPDX-License-Identifier: Apache-2.0
"""Lines to cells: each sends one query at a time, and none while its cell is
silent.

A cell that hangs costs a process one thread and one connection per query. So a
trivial query, which any database answers at once, first checks that the cell
answers at all. If it does not, the cell is left alone for a while.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
from concurrent import futures
import threading
import time
from typing import Any
from typing import TypeVar

from nova import context as nova_context
from nova.db.main import api as main_db
from oslo_log import log
import sqlalchemy as sa

from nova_reservations import exception
from nova_reservations.cloud import errors

LOG = log.getLogger(__name__)

Result = TypeVar('Result')

LIVE = 5.0
"""Seconds in which a cell must answer the trivial query."""

LONGEST = 60.0
"""Seconds that an answer may take, as Nova's own time-out; also the longest
pause."""

SHORTEST = 1.0
"""Seconds of the first pause; each is twice as long as the one before."""


class Lines:
    """The lines of a process, by the cells' UUIDs."""

    def __init__(self) -> None:
        self._lines: dict[str, Line] = {}
        self._making = threading.Lock()

    def to(self, uuid: str, name: str) -> Line:
        with self._making:
            return self._lines.setdefault(uuid, Line(name))


class Line:
    """:param name: the name of the cell

    :param live: seconds in which the cell must answer the trivial query
    :param longest: seconds that an answer may take
    """

    def __init__(
        self, name: str, live: float = LIVE, longest: float = LONGEST
    ) -> None:
        self.name = name
        self.live = live
        self.longest = longest
        self._changed = threading.Condition()
        self._busy = False
        self._silent_until: float | None = None
        self._pause = SHORTEST
        self._unanswered: threading.Thread | None = None
        """The query that was abandoned last. Its thread and its connection
        last until the time limit of the database's driver."""

    def ask(
        self,
        context: nova_context.RequestContext,
        function: Callable[..., Sequence[Result]],
        *args: Any,
    ) -> Sequence[Result]:
        """Return function(context, *args).

        :param context: one that is targeted to the cell
        :raises: CellUnavailable if the cell does not answer; at once, while
            the cell is known to be silent
        """
        self._begin()
        question = _Question(context, lambda: function(context, *args))
        try:
            question.start()
            _within(self.live, question.live)
            found: Sequence[Result] = _within(self.longest, question.answer)
        except _NoAnswer as error:
            self._unanswered = question
            self._end(failed=True)
            raise self._is_silent(error.reason) from error
        except BaseException:
            self._end(failed=False)
            raise
        self._end(failed=False)
        return found

    def _begin(self) -> None:
        """Wait for the caller's turn.

        :raises: CellUnavailable
        """
        deadline = time.monotonic() + self.longest
        with self._changed:
            while self._busy and self._silent_until is None:
                if not self._changed.wait(deadline - time.monotonic()):
                    raise self._is_silent('others ask it already')
            # While one query checks whether the cell is back, no other waits.
            # None begins as long as an earlier one may still be answered: at
            # most one is open.
            if self._silent_until is not None and (
                self._busy
                or time.monotonic() < self._silent_until
                or (self._unanswered and self._unanswered.is_alive())
            ):
                raise self._is_silent('it did not answer before')
            self._busy = True

    def _end(self, failed: bool) -> None:
        with self._changed:
            self._busy = False
            if failed:
                self._silent_until = time.monotonic() + self._pause
                LOG.warning(
                    'Cell %(cell)s does not answer; nothing is asked of it '
                    'for %(pause)d seconds',
                    {'cell': self.name, 'pause': self._pause},
                )
                self._pause = min(2 * self._pause, self.longest)
            elif self._silent_until is not None:
                LOG.info('Cell %s answers again', self.name)
                self._silent_until = None
                self._pause = SHORTEST
            self._changed.notify_all()

    def _is_silent(self, reason: Exception | str) -> exception.CellUnavailable:
        return exception.CellUnavailable(cell=self.name, reason=reason)


class _NoAnswer(Exception):
    def __init__(self, reason: Exception | str) -> None:
        super().__init__(str(reason))
        self.reason = reason


class _Question(threading.Thread):
    """A query in a thread, which is abandoned if it takes too long. It is a
    daemon, so it does not keep the process from exiting."""

    def __init__(
        self,
        context: nova_context.RequestContext,
        question: Callable[[], Sequence[Any]],
    ) -> None:
        super().__init__(daemon=True)
        self._context = context
        self._question = question
        self.live = futures.Future[None]()
        self.answer = futures.Future[Sequence[Any]]()

    def run(self) -> None:
        try:
            self._reach()
            self.live.set_result(None)
            with errors.translated():
                self.answer.set_result(self._question())
        except BaseException as error:
            # Any error is raised again in the thread of the caller.
            for future in (self.live, self.answer):
                if not future.done():
                    future.set_exception(error)

    def _reach(self) -> None:
        try:
            with errors.translated():
                self._ping()
        # ArgumentError: the cell mapping has an invalid database URL.
        except (exception.CloudUnavailable, sa.exc.ArgumentError) as error:
            raise _NoAnswer(error) from error

    def _ping(self) -> None:
        reader = main_db.get_context_manager(self._context).reader
        with reader.using(self._context):
            self._context.session.execute(sa.text('SELECT 1'))


def _within(seconds: float, future: futures.Future[Result]) -> Result:
    try:
        return future.result(seconds)
    except futures.TimeoutError as error:
        raise _NoAnswer(
            f'its database gave no answer in {seconds:g} seconds'
        ) from error
