# SPDX-License-Identifier: Apache-2.0
"""Resizes and migrations of servers of a cloud in memory, step by step.

As in Nova, a server that is moved holds its target itself, as soon as
nova-scheduler has claimed it, and a migration of it holds its source.
"""

from __future__ import annotations

from collections.abc import Iterator
import dataclasses
from typing import TYPE_CHECKING

from nova_reservations import ports

if TYPE_CHECKING:
    from nova_reservations.testing import fake_state

PREPARED = 'resize_prep'
VERIFIED = 'resized'
REVERTING = 'resize_reverting'

STAGES = (
    PREPARED,
    'resize_migrating',
    'resize_migrated',
    VERIFIED,
    REVERTING,
    'migrating',
)
"""Where a move can be: in these tasks, or at the open resize."""

_ON_TARGET = ('resize_migrated', VERIFIED, REVERTING)
_RESIZED = (VERIFIED, REVERTING)


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """:ivar reservation_id: the one of which a slot is held; None: of none."""

    host: str
    reservation_id: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Move:
    """:ivar source: what a migration of the server holds.

    :ivar target: what the server holds itself; None: nothing yet.
    :ivar end: where it will be.
    """

    source: Place
    target: Place | None
    end: Place


def begin(
    state: fake_state.State, server: str, end: Place, stage: str
) -> None:
    """Have a server be at this stage of a move."""
    known = state.instances[server]
    source = Place(known.host, state.reservation_of.get(server))
    state.moves[server] = Move(source, None if stage == PREPARED else end, end)
    state.instances[server] = dataclasses.replace(
        known,
        host=end.host if stage in _ON_TARGET else known.host,
        state=VERIFIED if stage in _RESIZED else known.state,
        task=None if stage == VERIFIED else stage,
    )
    if stage in _RESIZED:
        _have(state, server, end)


def go_on(state: fake_state.State, server: str) -> None:
    """Let a move go on: to the open resize, or, if that is being reverted, or
    the move is live, to its end."""
    move, known = state.moves[server], state.instances[server]
    if known.task == REVERTING:
        settle(state, server, move.source)
    elif known.task == 'migrating':
        settle(state, server, move.end)
    elif known.state != VERIFIED:
        _have(state, server, move.end)
        state.moves[server] = dataclasses.replace(move, target=move.end)
        state.instances[server] = dataclasses.replace(
            known, host=move.end.host, state=VERIFIED, task=None
        )


def settle(
    state: fake_state.State, server: str, place: Place | None = None
) -> None:
    """End a move: at its end, or at another place."""
    place = place or state.moves[server].end
    del state.moves[server]
    _have(state, server, place)
    state.instances[server] = dataclasses.replace(
        state.instances[server],
        host=place.host,
        state=ports.ServerState.ACTIVE,
        task=None,
    )


def places(state: fake_state.State, server: ports.Server) -> list[Place]:
    """Return what a server holds itself, and then what its migration does."""
    move = state.moves.get(server.uuid)
    if move is None:
        return [Place(server.host, state.reservation_of.get(server.uuid))]
    return [place for place in (move.target, move.source) if place]


def counted(state: fake_state.State, server: ports.Server) -> Place:
    """Return the place where a server counts."""
    return places(state, server)[0]


def at(
    state: fake_state.State, server: ports.Server, place: Place
) -> ports.Server:
    """Return a server as it is seen at a place of which it holds something."""
    target = counted(state, server)
    away = target.host != place.host or (
        target.reservation_id != place.reservation_id
    )
    return dataclasses.replace(
        server,
        host=place.host,
        moved_to=frozenset([state.known[target.host].uuid])
        if away
        else frozenset(),
    )


def seen_on(state: fake_state.State, host: str) -> Iterator[ports.Server]:
    """Yield the servers that hold something of a host."""
    for server in state.instances.values():
        there = [each for each in places(state, server) if each.host == host]
        if there:
            yield at(state, server, there[0])


def _have(state: fake_state.State, server: str, place: Place) -> None:
    if place.reservation_id is None:
        state.reservation_of.pop(server, None)
    else:
        state.reservation_of[server] = place.reservation_id


def evacuated_to(state: fake_state.State, server: ports.Server) -> list[str]:
    """Return the hosts to which a server may be evacuated; the first is
    taken.

    They have a free slot of its reservation. Without slots, each is the first
    of an aggregate that has the old host no more: that of the server's
    reservation, or any of its project if it named none. If the old host is not
    enrolled, they are not enrolled either.
    """
    if server.uuid in state.reservation_of:
        return state.free_slots(state.reservation_of[server.uuid])
    if server.host not in state.marked:
        return state.ordinary_hosts()
    named = state.hints.get(server.uuid)
    return [
        min(members)
        for key, members in state.aggregate_hosts.items()
        if members
        and server.host not in members
        and (key == named or (not named and _owns(state, server, key)))
    ]


def _owns(
    state: fake_state.State, server: ports.Server, reservation_id: str
) -> bool:
    return state.owners.get(reservation_id) == server.project_id
