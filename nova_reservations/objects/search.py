# SPDX-License-Identifier: Apache-2.0
"""Searches for resources: what is wanted, on which terms, what is offered."""

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import datetime
from typing import Self

from nova_reservations.objects import amounts
from nova_reservations.objects import demand
from nova_reservations.objects import host
from nova_reservations.objects import interval
from nova_reservations.objects import requirements


@dataclasses.dataclass(frozen=True, slots=True)
class Beside:
    """The resources of leases that overlap another one, and were planned
    before it in the same transaction.

    :ivar taken: resource id -> what they take of it; None: the whole resource.
    :ivar least: how many resources they have at least when the other lease
        starts: those that overlap it have begun by then.
    """

    taken: Mapping[int, amounts.Amounts | None] = dataclasses.field(
        default_factory=dict
    )
    least: int = 0


NOTHING_BESIDE = Beside()


@dataclasses.dataclass(frozen=True, slots=True)
class Search:
    """The terms that all reservations of a lease have in common.

    :ivar cleaning: how long before and after a window nobody may have the
        resource as a whole.
    :ivar start_at: the random place to begin at, in the range of the
        resources' spread.
    :ivar best_fit: whether to look first at what fits best; writers that
        were too late look elsewhere.
    :ivar ignore: ids of reservations that are planned anew: what they have
        counts as free.
    :ivar beside: what other leases of the same transaction take.
    """

    now: datetime.datetime
    cleaning: datetime.timedelta = datetime.timedelta()
    start_at: int = 0
    best_fit: bool = True
    ignore: Collection[str] = ()
    beside: Beside = NOTHING_BESIDE


@dataclasses.dataclass(frozen=True, slots=True)
class Wanted:
    """A reservation for which resources are searched.

    :ivar window: for how long it has its resources.
    :ivar held: resource id -> the slots that it has there already; a whole
        resource is one slot.
    :ivar keep_all: whether all of held stays where it is.
    :ivar recheck: whether held must meet the requirements, too.
    :ivar siblings: how many resources the other reservations of the lease may
        take.
    :ivar among: ids of all resources that it may have; None: no limit.
    :ivar named: ids of resources that it must have.
    """

    reservation_id: str
    demand: demand.Ask
    window: interval.Interval
    held: Mapping[int, int] = dataclasses.field(default_factory=dict)
    keep_all: bool = False
    recheck: bool = True
    siblings: int = 0
    among: Collection[int] | None = None
    named: Collection[int] = ()

    @property
    def must_keep(self) -> Mapping[int, int]:
        """Resource id -> slots that it has in any case: those that stay, and
        what was asked for by name."""
        named = dict.fromkeys(self.named, 1)
        return {**named, **self.held} if self.keep_all else named

    def within(self, key: str, values: Collection[str]) -> Self:
        """Return the same with one more requirement: the fact is one of
        these values."""
        narrowed = dataclasses.replace(
            self.demand,
            requirements=requirements.within(
                self.demand.requirements, key, values
            ),
        )
        return dataclasses.replace(self, demand=narrowed)


@dataclasses.dataclass(frozen=True, slots=True)
class Offer:
    """A resource that a reservation could have, or could have slots of.

    :ivar generation: as it was when the resource was looked at; the booking
        compares and sets it.
    :ivar kept: how many slots the reservation has there already.
    :ivar near: whether it is in a cell that the reservation need not leave.
    :ivar gap_before: of a whole resource: how long it has been free when the
        window begins, counted from now on at the earliest.
    :ivar gap_after: how long it is free after the window; None: for good.
    :ivar left: of a shared one: what is left at the busiest instant of the
        window, of the classes that are asked for.
    :ivar shared: whether others hold shares of it at that time.
    """

    resource: host.Resource
    generation: int
    kept: int = 0
    near: bool = False
    gap_before: datetime.timedelta = datetime.timedelta()
    gap_after: datetime.timedelta | None = None
    left: amounts.Amounts = amounts.NOTHING
    shared: bool = False
