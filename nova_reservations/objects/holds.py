# SPDX-License-Identifier: Apache-2.0
"""Reasons why a resource can't be promised, or used, at this moment.

The table here is the only one: ``db/resources/holds.py`` makes the conditions
of queries from it, ``of`` explains the state of one resource. A new reason is
a row of the table, with a column that says whether it applies.
"""

from collections.abc import Mapping
import dataclasses
import datetime
import enum
from typing import Any

from nova_reservations.objects import states


class Use(enum.Enum):
    """A use of a resource that a hold may forbid."""

    PROMISE = 'to be given to a new lease'
    KEEP = 'to stay with the reservation that has it'
    DRAIN = 'to be emptied for a best-effort lease'
    RETURN = 'to go back to a reservation that had to leave it'
    RUN = 'to run the servers of the reservation that has it'


@dataclasses.dataclass(frozen=True, slots=True)
class Reason:
    """A row of the table.

    A resource is held for this reason if its column has another value than
    ``clear``. If ``value`` is given, the column must have exactly that value.
    If ``while_set`` is given, that column must have a value, too. If ``role``
    is given, the resource must have that role.

    :ivar name: what operators read.
    :ivar key: what programs read.
    :ivar forbids: what the resource can't be used for.
    :ivar since: the column that says from when; None: that is not recorded.
    :ivar until: the column that says until when; None: until the reason is
        gone.
    :ivar by: who holds it, or the column that says who.
    """

    name: str
    key: str
    column: str
    clear: object
    forbids: frozenset[Use]
    by: str
    since: str | None = None
    until: str | None = None
    value: object = None
    while_set: str | None = None
    role: states.Role | None = None

    def applies(self, resource: Any) -> bool:
        """:param resource: has columns of the table as attributes; columns
        that it lacks do not hold it
        """
        value = getattr(resource, self.column, self.clear)
        if value == self.clear or self.value not in (None, value):
            return False
        if self.role not in (None, getattr(resource, 'role', None)):
            return False
        return self.while_set is None or bool(
            getattr(resource, self.while_set, None)
        )


@dataclasses.dataclass(frozen=True, slots=True)
class Hold:
    """A reason that applies to a resource.

    :ivar key: of the reason, for programs.
    :ivar since: None: it is not known.
    :ivar until: None: until the reason is gone.
    :ivar by: who holds the resource: a part of the service, or the id of a
        lease.
    """

    reason: str
    since: datetime.datetime | None
    until: datetime.datetime | None
    by: str
    forbids: frozenset[Use]
    key: str

    def overlaps(
        self, start: datetime.datetime, end: datetime.datetime | None
    ) -> bool:
        """Return whether it holds the resource at some instant from start
        until just before end; None: for good."""
        return (self.until is None or self.until > start) and (
            self.since is None or end is None or self.since < end
        )


_NOTHING_NEW = frozenset({Use.PROMISE, Use.DRAIN, Use.RETURN})

REASONS = (
    Reason(
        'failed with many others; see "heal"',
        'mass_failure',
        'down_since',
        None,
        frozenset(Use),
        by='monitor',
        since='down_since',
        while_set='braked_at',
    ),
    Reason(
        'lost: Nova or placement can not use it',
        'lost',
        'down_since',
        None,
        frozenset(Use),
        by='monitor',
        since='down_since',
        while_set='lost',
    ),
    Reason(
        'failed',
        'failed',
        'down_since',
        None,
        frozenset(Use),
        by='monitor',
        since='down_since',
    ),
    Reason(
        'disabled',
        'disabled',
        'hold',
        None,
        _NOTHING_NEW,
        by='operator',
        since='held_since',
        value=states.Hold.DISABLED,
    ),
    Reason(
        'down',
        'down',
        'hold',
        None,
        _NOTHING_NEW,
        by='monitor',
        since='held_since',
        value=states.Hold.DOWN,
    ),
    Reason(
        'cordoned',
        'cordoned',
        'cordoned_at',
        None,
        _NOTHING_NEW,
        by='operator',
        since='cordoned_at',
    ),
    Reason(
        'emptied for a lease',
        'emptied',
        'reservable',
        True,
        frozenset({Use.PROMISE}),
        by='fenced_for',
        since='fenced_at',
        while_set='fenced_for',
    ),
    Reason(
        'drainable, not in the pool',
        'drainable',
        'reservable',
        True,
        frozenset({Use.PROMISE, Use.KEEP}),
        by='operator',
        role=states.Role.DRAINABLE,
    ),
    Reason(
        'settling',
        'settling',
        'reservable',
        True,
        frozenset({Use.PROMISE, Use.KEEP}),
        by='enrolment',
    ),
)
"""Every reason. If two of one column apply, only the first is told."""

COLUMNS: Mapping[str, object] = {
    reason.column: reason.clear for reason in REASONS
}
"""Column -> the value that it has where nothing holds the resource."""


def of(resource: Any) -> tuple[Hold, ...]:
    """Return the reasons that apply to a resource, at most one a column.

    :param resource: has columns of the table as attributes
    """
    found: dict[str, Hold] = {}
    for reason in REASONS:
        if reason.column not in found and reason.applies(resource):
            found[reason.column] = _hold(reason, resource)
    return tuple(found.values())


def forbidding(resource: Any, use: Use) -> tuple[Hold, ...]:
    """Return the reasons that forbid a use of a resource; none: it is allowed.

    :param resource: as for ``of``
    """
    return tuple(hold for hold in of(resource) if use in hold.forbids)


def _hold(reason: Reason, resource: Any) -> Hold:
    return Hold(
        reason=reason.name,
        since=_date(resource, reason.since),
        until=_date(resource, reason.until),
        by=getattr(resource, reason.by, reason.by),
        forbids=reason.forbids,
        key=reason.key,
    )


def _date(resource: Any, column: str | None) -> datetime.datetime | None:
    return None if column is None else getattr(resource, column, None)
