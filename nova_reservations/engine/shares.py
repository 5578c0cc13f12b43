# SPDX-License-Identifier: Apache-2.0
"""Reservations of shares of hosts, in the planning of a lease."""

from collections.abc import Collection
from collections.abc import Mapping
import datetime

from nova_reservations import exception
from nova_reservations.db import api
from nova_reservations.db import shares
from nova_reservations.objects import demand
from nova_reservations.objects import interval
from nova_reservations.planner import shares as sharing


def ask(
    session: api.Session,
    wanted: demand.Share,
    window: interval.Interval,
    now: datetime.datetime,
    *,
    cleaning: datetime.timedelta,
    random_start: int,
    best_fit: bool,
    others: int,
    held: Mapping[int, int],
    recheck: bool,
    only_add: bool,
    ignore: Collection[str],
    among: Collection[int] | None = None,
) -> sharing.Ask:
    """Return the ask with as much room as surely is enough for it.

    :param others: on how many resources its siblings may be
    :param held: resource id -> the slots that it has already
    :param only_add: whether all of those stay
    """
    rooms = shares.find(
        session,
        wanted,
        window,
        now,
        cleaning=cleaning,
        enough=lambda rooms: sharing.enough(rooms, wanted, others),
        random_start=random_start,
        best_fit=best_fit,
        keep=held,
        recheck=recheck,
        ignore=ignore,
        among=among,
    )
    return sharing.Ask(rooms, wanted, held if only_add else {})


def refusal(
    session: api.Session, ask: sharing.Ask, siblings: int
) -> exception.NotEnoughResources:
    """Count why the ask can't be fulfilled; reads the whole cloud."""
    share = ask.share
    fit = [
        min(room.slots(share.amounts, {}), share.slots) for room in ask.rooms
    ]
    matching = shares.matching(session, share)
    if share.affinity:
        room = 'none of them has room for all servers'
    elif share.affinity is False:
        room = f'{sum(1 for slots in fit if slots)} have room for a server'
    else:
        room = f'there is room for {sum(fit)} servers'
    reason = f'{matching} hosts match, {room} in this window, '
    reason += f'{share.slots} wanted'
    if siblings:
        reason += ', beside what other reservations of the lease take'
    if ask.must_keep:
        reason += (
            ', and an active lease keeps the '
            f'{sum(ask.must_keep.values())} slots that it has where they are'
        )
    return exception.NotEnoughResources(reason=reason)
