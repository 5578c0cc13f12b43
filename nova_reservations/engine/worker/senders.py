# SPDX-License-Identifier: Apache-2.0
"""Threads that send messages, beside those of leases and of tasks: a server
that does not answer delays no lease.

Decision 0060: doc/source/decisions/0060-leases-wait-for-no-message
"""

import collections
from collections.abc import Collection
from concurrent import futures
import dataclasses
import datetime
import threading

from nova_reservations.db import api
from nova_reservations.db.leases import messages as rows
from nova_reservations.engine import claimed_leases
from nova_reservations.engine import messages

THREADS = 8
"""The most messages that a worker sends at the same time."""

AT_ONCE = 2
"""The most of them that go to the same destination: one that does not answer
leaves threads to the others."""

PAGE = 50
"""How many due messages are read together."""


@dataclasses.dataclass(slots=True)
class _Sending:
    """:ivar attempt: of the claim.

    :ivar answered: it is sent; set by its thread.
    """

    due: rows.Due
    attempt: int
    renewed_at: datetime.datetime
    answered: threading.Event = dataclasses.field(
        default_factory=threading.Event
    )


class Senders:
    """The threads of one worker; none starts before it is needed."""

    def __init__(
        self, database: api.Database, known: messages.Messages
    ) -> None:
        self.database = database
        self.messages = known
        self._pool = futures.ThreadPoolExecutor(
            THREADS, thread_name_prefix='reservations-messages'
        )
        self._sending: dict[futures.Future[None], _Sending] = {}
        self._unrecorded: list[_Sending] = []

    def begun(self) -> list[futures.Future[None]]:
        """Return sendings that are not known to be over."""
        return [*self._sending]

    def stop(self) -> None:
        """Begin nothing more.

        What is under way keeps its claim, so that nobody sends it a second
        time while its thread still runs."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def collect(self) -> None:
        """Forget sendings that are over.

        :raises: Contended; DatabaseUnavailable, and the next call records what
            was not recorded
        """
        for future in [each for each in self._sending if each.done()]:
            sending = self._sending.pop(future)
            if future.cancelled():
                continue
            claimed_leases.log_failure(future, f'the message {sending.due.id}')
            if isinstance(future.exception(), Exception):
                self._unrecorded.append(sending)
        while self._unrecorded:
            sending = self._unrecorded[0]
            if sending.answered.is_set():
                self.messages.remove(sending.due.id, sending.attempt)
            else:
                self.messages.put_off(sending.due.id, sending.attempt)
            del self._unrecorded[0]

    def renew(self, now: datetime.datetime) -> None:
        """Renew the claims of what is being sent: each wait for an answer has
        an end."""
        for sending in self._sending.values():
            if now - sending.renewed_at < claimed_leases.RENEWAL:
                continue
            if claimed_leases.try_change(
                self.database,
                rows.put_off,
                message_id=sending.due.id,
                attempt=sending.attempt,
                until=now + claimed_leases.DURATION,
            ):
                sending.renewed_at = now

    def take(self, now: datetime.datetime) -> None:
        """Begin to send due messages that no other worker sends."""
        chosen = self._choose(now)
        if not chosen:
            return
        until = now + claimed_leases.DURATION
        taken: list[rows.Due] = []

        def change(session: api.Session) -> bool:
            # All workers use the same order, which excludes deadlocks.
            taken[:] = [
                due
                for due in sorted(chosen)
                if rows.claim(session, due, until)
            ]
            return bool(taken)

        if not claimed_leases.try_change(self.database, change):
            return
        for due in taken:
            sending = _Sending(due, due.attempt + 1, now)
            future = self._pool.submit(
                self.messages.send,
                due.id,
                sending.attempt,
                sending.answered.set,
            )
            self._sending[future] = sending

    def _choose(self, now: datetime.datetime) -> Collection[rows.Due]:
        """Return due messages: no more than there are free threads, and few
        to each destination."""
        count = collections.Counter(
            sending.due.destination for sending in self._sending.values()
        )
        chosen: list[rows.Due] = []
        with self.database.reader() as session:
            while (free := THREADS - count.total()) > 0:
                full = [each for each in count if count[each] >= AT_ONCE]
                page = rows.find(session, now, PAGE, full)
                known = {due.id for due in chosen}
                fresh = [due for due in page if due.id not in known]
                for due in fresh:
                    if free and count[due.destination] < AT_ONCE:
                        chosen.append(due)
                        count[due.destination] += 1
                        free -= 1
                if len(page) < PAGE or not fresh:
                    break
        return chosen
