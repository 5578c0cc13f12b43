# SPDX-License-Identifier: Apache-2.0
"""Resources that are no hosts, with what their operators say of them."""

from collections.abc import Mapping
import dataclasses
import datetime
import re

from nova_reservations.objects import holds
from nova_reservations.objects import host
from nova_reservations.objects import names
from nova_reservations.objects import states

MOST = 2**31 - 1
"""The largest amount of a resource class."""

_CLASS = re.compile('[A-Z0-9_]{1,255}')


def is_class(name: str) -> bool:
    """Return whether a resource class may have this name: a name that
    placement would accept, but not that of a class that counts slots."""
    return bool(_CLASS.fullmatch(name)) and not name.startswith(names.SLOTS)


def inventory(resource_class: str, total: int) -> host.Inventory:
    """Return the inventory of so many units, any number of which may be
    promised together."""
    return host.Inventory(
        resource_class,
        total=total,
        reserved=0,
        min_unit=1,
        max_unit=total,
        step_size=1,
        allocation_ratio=1.0,
    )


@dataclasses.dataclass(frozen=True, slots=True)
class Inventoried:
    """A resource that is no host.

    :ivar inventories: resource class -> how many units there are; leases have
        them in shares, or the resource as a whole.
    :ivar reservable: leases may be placed on it.
    :ivar down_since: when it was found to have failed; None: it has not.
    :ivar hold: why no new lease gets it although it has not failed;
        held_since: since when.
    :ivar braked_at: when it was last seen to have failed with so many others
        that nothing is moved.
    :ivar cordoned_at: since when an operator keeps new leases off it.
    """

    resource: host.Resource
    inventories: Mapping[str, int]
    properties: Mapping[str, str]
    created_at: datetime.datetime
    updated_at: datetime.datetime | None
    reservable: bool = True
    down_since: datetime.datetime | None = None
    hold: states.Hold | None = None
    held_since: datetime.datetime | None = None
    braked_at: datetime.datetime | None = None
    cordoned_at: datetime.datetime | None = None

    @property
    def id(self) -> int:
        return self.resource.id

    @property
    def name(self) -> str:
        return self.resource.name

    @property
    def bookable(self) -> bool:
        """Return whether a new lease may get it, if it is free."""
        return not holds.forbidding(self, holds.Use.PROMISE)


@dataclasses.dataclass(frozen=True, slots=True)
class ResourceQuery:
    """A page of resources of one type, in the order of their ids; what is
    None filters nothing.

    :ivar marker: the id of the last one of the page before.
    """

    resource_type: str
    name: str | None = None
    limit: int | None = None
    marker: int = 0
