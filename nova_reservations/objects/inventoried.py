# SPDX-License-Identifier: Apache-2.0
"""Resources that are no hosts, with what their operators say of them."""

from collections.abc import Mapping
import dataclasses
import re

from nova_reservations.objects import host
from nova_reservations.objects import names

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


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Inventoried(host.Enrolled):
    """A resource that is no host.

    :ivar inventories: resource class -> how many units there are; leases have
        them in shares, or the resource as a whole.
    """

    inventories: Mapping[str, int]


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
