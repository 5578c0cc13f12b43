# SPDX-License-Identifier: Apache-2.0
"""Pauses in the middle of a step, before one of its writes: in them the
process is killed, the cloud fails, or another process does something.

On SQLite they are before the transactions that write, which keep others out.
On servers they are also before the first write in each of them, when it has
read what it decides by. On PostgreSQL, where each statement sees the latest
commit, they are before each of these reads, too.
"""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import threading
from typing import Any

import sqlalchemy as sa

from nova_reservations import exception
from nova_reservations.testing import region as regions
from nova_reservations.testing.steps import Killed
from nova_reservations.tests.storm import stories

_WRITES = ('INSERT', 'UPDATE', 'DELETE')
_LOCKS = ('FOR SHARE', 'FOR UPDATE')
_KNOWN = 'storm_writes'
"""The key by which a connection knows the transaction that has written."""


class Pauses:
    """:ivar writes: how many writes were begun since the world began.

    :param region: the region in whose writes the pauses are
    """

    def __init__(self, region: regions.Region) -> None:
        self._lock = threading.Lock()
        self._before: Callable[[str], None] = _nothing
        self.writes = 0
        region.database.before = self._write
        region.cloud.before = self._write
        engine = region.database.engine()
        self._pauses_reads = engine.dialect.name == 'postgresql'
        if engine.dialect.name != 'sqlite':
            sa.event.listen(engine, 'before_cursor_execute', self._statement)

    @contextlib.contextmanager
    def during(
        self,
        pause: stories.Pause | None,
        perform: Callable[[stories.Step], None],
    ) -> Iterator[None]:
        """Let a pause happen meanwhile.

        :param perform: does the step of another process
        :raises: Killed
        """
        outer = self._before
        self._before = (
            _nothing if pause is None else self._hook(pause, perform)
        )
        try:
            yield
        finally:
            self._before = outer

    def _write(self, write: str) -> None:
        with self._lock:
            self.writes += 1
        self._before(write)

    def _hook(
        self,
        pause: stories.Pause,
        perform: Callable[[stories.Step], None],
    ) -> Callable[[str], None]:
        left = pause.at
        fails = pause.what in (stories.REFUSED, stories.SILENT)

        def before(write: str) -> None:
            nonlocal left
            with self._lock:
                if fails and write in ('record', 'read'):
                    return
                left -= 1
                if left:
                    return
            if isinstance(pause.what, stories.Step):
                perform(pause.what)
            elif pause.what == stories.KILL:
                raise Killed
            else:
                raise _FAILURES[pause.what]()

        return before

    @property
    def is_any(self) -> bool:
        """True if something else may happen in the middle of this step."""
        return self._before is not _nothing

    def _statement(
        self, connection: sa.Connection, _cursor: Any, text: str, *_: Any
    ) -> None:
        transaction = connection.get_transaction()
        if connection.info.get(_KNOWN) is transaction:
            # It may have locks that another process would wait for.
            return
        if text.lstrip().startswith(_WRITES) or text.endswith(_LOCKS):
            connection.info[_KNOWN] = transaction
            self._before('record')
        # All that a transaction sees that only reads is of one moment.
        elif self._pauses_reads and not _only_reads(connection):
            self._before('read')


def _only_reads(connection: sa.Connection) -> bool:
    return 'isolation_level' in connection.get_execution_options()


def _nothing(_: str) -> None:
    pass


_FAILURES: dict[str, Callable[[], Exception]] = {
    stories.REFUSED: lambda: exception.CloudRefused(what='It', reason='no'),
    stories.SILENT: lambda: exception.CloudUnavailable(
        service='It', reason='no answer'
    ),
}
