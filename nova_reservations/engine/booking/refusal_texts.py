# SPDX-License-Identifier: Apache-2.0
"""The reasons of refusals in words. They count resources in the whole cloud,
and are asked for on refusal only."""

from collections.abc import Iterable
from collections.abc import Sequence

from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db.holdings import candidates
from nova_reservations.db.holdings import shares
from nova_reservations.objects import search
from nova_reservations.planner import offers


def reason(
    session: api.Session,
    refused: offers.Ask,
    asks: Sequence[offers.Ask],
    terms: search.Search,
    nouns: tuple[str, str],
) -> str:
    """Return why a reservation is refused.

    :param asks: those of all reservations of its lease
    :param nouns: what one such resource is called, and several
    """
    if refused.wanted.demand.exclusive:
        return _of_wholes(session, refused.wanted, asks, terms, nouns)
    return _of_shares(session, refused, len(asks) - 1, nouns)


def _matching(count: int, nouns: tuple[str, str]) -> str:
    one, many = nouns
    return objects.plural(count, f'{one} matches', f'{many} match')


def _down(count: int) -> str:
    down = objects.plural(count, 'more is down', 'more are down')
    return f'{down}, ' if count else ''


def _of_wholes(
    session: api.Session,
    wanted: search.Wanted,
    asks: Iterable[offers.Ask],
    terms: search.Search,
    nouns: tuple[str, str],
) -> str:
    """Return why whole resources are refused; reads the whole cloud."""
    shortage = candidates.shortage(session, wanted, terms)
    others = [
        ask.wanted.demand.least
        for ask in asks
        if ask.wanted.demand.exclusive and ask.wanted is not wanted
    ]
    matching = _matching(shortage.matching, nouns)
    taken = objects.plural(shortage.taken, 'is taken', 'are taken')
    reason = (
        f'{matching}, {_down(shortage.down)}{taken} in this window, '
        f'{wanted.demand.least} wanted'
    )
    if others:
        reason += f', and {sum(others)} by other reservations of the lease'
    if terms.beside.taken:
        count = len(terms.beside.taken)
        reason += f', and {count} by other leases of the series'
    if wanted.named:
        reason += f', and {len(wanted.named)} by their names'
    if wanted.keep_all and wanted.held:
        reason += (
            f', and an active lease keeps the {len(wanted.held)} that it has'
        )
    return reason


def _of_shares(
    session: api.Session,
    ask: offers.Ask,
    siblings: int,
    nouns: tuple[str, str],
) -> str:
    """Return why a share is refused; reads the whole cloud."""
    share, must_keep = ask.wanted.demand, ask.wanted.must_keep
    assert not share.exclusive
    fit = [
        min(share.slot.times_in(offer.left), share.slots)
        for offer in ask.offers
    ]
    matching = _matching(shares.matching(session, share), nouns)
    one, many, each = 'server', 'servers', ''
    if share.resource_type != objects.HOST:
        units = (f'{units} {name}' for name, units in share.amounts.items())
        one, many, each = 'share', 'shares', f' of {" and ".join(units)}'
    if share.affinity:
        room = f'none of them has room for all {many}{each}'
    elif share.affinity is False:
        room = objects.plural(
            sum(1 for slots in fit if slots),
            f'has room for a {one}{each}',
            f'have room for a {one}{each}',
        )
    else:
        count = objects.plural(sum(fit), one, many)
        room = f'there is room for {count}{each}'
    down = _down(shares.down(session, share))
    reason = f'{matching}, {down}{room} in this window, {share.slots} wanted'
    if siblings:
        reason += ', beside what other reservations of the lease take'
    if must_keep:
        slots = sum(must_keep.values())
        kept = objects.plural(
            slots,
            'slot that it has where it is',
            'slots that it has where they are',
        )
        reason += f', and an active lease keeps the {kept}'
    return reason
