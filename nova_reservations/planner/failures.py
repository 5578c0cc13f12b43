# SPDX-License-Identifier: Apache-2.0
"""Failures of single resources, and mass failures, which have a common
cause."""

from collections import defaultdict
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import datetime

from nova_reservations import objects
from nova_reservations.objects import states

TOGETHER = datetime.timedelta(minutes=10)
"""Resources that fail within this time fail together."""

FEWEST = 3
"""Fewer failures than this are never a mass failure."""


@dataclasses.dataclass(frozen=True, slots=True)
class Sighting:
    """The condition of a resource as a monitor reports it.

    :ivar failed: nothing runs there any more.
    :ivar down: nothing is heard of it.
    :ivar disabled: an operator wants nothing new on it.
    """

    failed: bool = False
    down: bool = False
    disabled: bool = False


def condition(
    was: objects.Condition,
    seen: Sighting,
    now: datetime.datetime,
    down_after: datetime.timedelta,
) -> objects.Condition:
    """Return the condition of a resource, from the one known and what the
    monitor sees.

    What is lost stays so: the monitor may see another machine by its name.
    """
    if was.lost is not None:
        return dataclasses.replace(was, forced_down=seen.failed)
    if seen.failed:
        return objects.Condition(
            down_since=was.down_since or now, forced_down=True
        )
    if seen.down and was.failed:
        # An operator who disables it now has merely seen the failure, too.
        return objects.Condition(down_since=was.down_since)
    if seen.disabled:
        # An administrator works on it: its silence is expected, no failure.
        return _held(was, states.Hold.DISABLED, now)
    if seen.down:
        held = _held(was, states.Hold.DOWN, now)
        if now - (held.held_since or now) < down_after:
            return held
        return objects.Condition(down_since=now)
    return objects.Condition()


def lost(
    was: objects.Condition, reason: str | None, now: datetime.datetime
) -> objects.Condition:
    """Return the condition of a resource that Nova or placement can not use
    for this reason; None: that is over."""
    if reason is None:
        return dataclasses.replace(was, lost=None)
    return objects.Condition(
        down_since=was.down_since or now,
        forced_down=was.forced_down,
        lost=reason,
    )


def _held(
    was: objects.Condition, hold: states.Hold, now: datetime.datetime
) -> objects.Condition:
    if was.hold == hold:
        return was
    return objects.Condition(hold=hold, held_since=now)


@dataclasses.dataclass(frozen=True, slots=True)
class Member:
    """A resource of a domain whose resources may fail together.

    :ivar braked_at: when it was last seen to have failed with many others.
    :ivar brake_off: whether an administrator has said to heal it anyway.
    """

    id: int
    domain: str
    condition: objects.Condition
    braked_at: datetime.datetime | None = None
    brake_off: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Mass:
    """Too many resources of one domain that have failed together.

    :ivar failed: the ids of those that are not to be healed.
    :ivar size: how many resources the domain has.
    """

    domain: str
    failed: frozenset[int]
    size: int


def masses(
    members: Iterable[Member], limit: int, now: datetime.datetime
) -> list[Mass]:
    """Return where too many have failed at once.

    A resource that is down but has not failed yet counts: the first ones that
    failed must not be healed while others are about to fail. A resource that
    an administrator has said to heal counts as long as any resource of its
    domain is marked as failed with many others.

    :param limit: per cent of a domain
    """
    domains: Mapping[str, list[Member]] = defaultdict(list)
    for member in members:
        domains[member.domain].append(member)
    found = []
    for domain, all_of in sorted(domains.items()):
        lasts = any(member.braked_at is not None for member in all_of)
        failing = [member for member in all_of if _counts(member, lasts, now)]
        if are_many(len(failing), len(all_of), limit):
            failed = frozenset(
                member.id
                for member in failing
                if member.condition.failed and not member.brake_off
            )
            found.append(Mass(domain, failed, len(all_of)))
    return found


def _counts(member: Member, lasts: bool, now: datetime.datetime) -> bool:
    if member.brake_off:
        return lasts
    down_since = member.condition.down_since
    if down_since is None:
        return member.condition.hold == states.Hold.DOWN
    return member.braked_at is not None or now - down_since <= TOGETHER


def are_many(count: int, size: int, limit: int) -> bool:
    """Return whether so many failures are a mass failure.

    :param size: how many resources the domain has
    :param limit: per cent of the domain
    """
    return count >= FEWEST and 100 * count > limit * size


def calmed(
    members: Collection[Member],
    still: Collection[Mass],
    now: datetime.datetime,
    down_after: datetime.timedelta,
) -> set[int]:
    """Return ids of resources that are no part of a mass failure any more:
    their domain has had none for ``down_after``, long enough for them to come
    back, too."""
    stormy = {mass.domain for mass in still}
    last: dict[str, datetime.datetime] = {}
    for member in members:
        if member.braked_at is not None and member.domain not in stormy:
            last[member.domain] = max(
                member.braked_at, last.get(member.domain, member.braked_at)
            )
    return {
        member.id
        for member in members
        if member.braked_at is not None
        and member.domain in last
        and now - last[member.domain] >= down_after
    }
