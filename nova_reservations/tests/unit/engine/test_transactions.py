# SPDX-License-Identifier: Apache-2.0
import contextlib
import dataclasses
from typing import Any
from unittest import mock

import pytest

from nova_reservations import exception
from nova_reservations.engine import transactions


@dataclasses.dataclass(frozen=True)
class Room:
    moves: bool = True


class Database:
    """A database of which only the transactions that read are counted."""

    def __init__(self) -> None:
        self.read = 0

    @contextlib.contextmanager
    def reader(self) -> Any:
        self.read += 1
        yield None


class Crowd:
    """A use case for which there is no room as it is.

    :ivar lost: how often others take the room first.
    """

    def __init__(self, lost: int = 0, room: Room | None = Room()) -> None:
        self.database = Database()
        self.lost = lost
        self.room = room
        self.attempts: list[transactions.Attempt] = []

    def attempt(self, attempt: transactions.Attempt) -> str:
        self.attempts.append(attempt)
        if attempt.room is None and not attempt.searches:
            raise exception.Crowded(self.search, id='one')
        if self.lost:
            self.lost -= 1
            raise exception.Conflict(kind='Resource', id=1)
        return 'booked'

    def search(self, session: None) -> Room:
        if self.room is None:
            raise exception.NotEnoughResources('none')
        return self.room

    def book(self, *, dry_run: bool = False) -> str:
        with mock.patch('time.sleep'):
            return transactions.book(
                self.database,  # type: ignore[arg-type]
                self.attempt,
                dry_run=dry_run,
            )

    @property
    def waited(self) -> list[bool]:
        """For each attempt, True if it has waited for others."""
        return [attempt.in_turn for attempt in self.attempts]


def test_the_lock_is_taken_where_room_was_found():
    crowd = Crowd()
    assert crowd.book() == 'booked'
    assert crowd.waited == [False, True]


def test_the_lock_is_not_taken_where_none_was_found():
    crowd = Crowd(room=None)
    with pytest.raises(exception.NotEnoughResources):
        crowd.book()
    assert crowd.waited == [False]


def test_the_lock_is_not_taken_for_room_without_moves():
    crowd = Crowd(room=Room(moves=False))
    crowd.book()
    assert crowd.waited == [False, False]


def test_a_dry_run_never_takes_the_lock():
    crowd = Crowd(lost=transactions.ATTEMPTS - 1)
    assert crowd.book(dry_run=True) == 'booked'
    assert not any(crowd.waited)


def test_room_that_others_took_twice_is_searched_under_the_lock():
    crowd = Crowd(lost=2)
    assert crowd.book() == 'booked'
    assert crowd.database.read == 2
    last = crowd.attempts[-1]
    assert last.in_turn and last.searches and last.room is None


def test_contention_is_no_lack_of_room():
    crowd = Crowd(lost=transactions.ATTEMPTS)
    with pytest.raises(exception.Contended):
        crowd.book()
