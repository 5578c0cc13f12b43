# SPDX-License-Identifier: Apache-2.0
"""Resources other than hosts: operators, or their programs, say which there
are, and how much of each. Hosts are enrolled instead (``hosts.py``).

Promises are kept: an inventory never becomes less than leases hold at any
instant, and a property that a lease was planned with does not change.

Decision 0049: doc/source/decisions/0049-inventories-of-any-resource
"""

from collections import defaultdict
from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import datetime
from typing import Any
import uuid

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import api
from nova_reservations.db import counters
from nova_reservations.db.holdings import allocations
from nova_reservations.db.holdings import withdrawals
from nova_reservations.db.leases import freed_capacity
from nova_reservations.db.resources import properties as properties_db
from nova_reservations.db.resources import resources
from nova_reservations.engine import resource_types
from nova_reservations.engine import transactions
from nova_reservations.engine.outlook import allocation_lists
from nova_reservations.engine.outlook import calendar
from nova_reservations.engine.outlook import capacity as capacities
from nova_reservations.engine.pool import cordons
from nova_reservations.objects import amounts
from nova_reservations.objects import demand as demands
from nova_reservations.objects import interval
from nova_reservations.objects import inventoried
from nova_reservations.objects import requirements
from nova_reservations.objects import states
from nova_reservations.types import enrols

_IDS = uuid.UUID('5f2b9a0e-6d3c-4c62-9a51-6d6a1f5c2e07')
"""The namespace of the UUIDs of resources that have none in the cloud."""

_NOTHING: Mapping[str, Any] = {}


@dataclasses.dataclass(frozen=True, slots=True)
class Allocated:
    """:ivar amounts: resource class -> units; empty: all of the resource."""

    allocation: objects.Allocation
    amounts: Mapping[str, int]


@dataclasses.dataclass(eq=False)
class Resources:
    database: api.Database
    types: resource_types.Types
    cordons: cordons.Cordons
    counts: capacities.Capacity

    def find(self, query: objects.ResourceQuery) -> list[objects.Inventoried]:
        """:raises: InvalidInput for a type that has no such resources"""
        self.check_type(query.resource_type)
        with self.database.reader() as session:
            return resources.find(session, query)

    def get(self, resource_id: int) -> objects.Inventoried:
        """:raises: NotFound"""
        with self.database.reader() as session:
            return resources.get(session, resource_id)

    def allocations(
        self, resource_id: int, now: datetime.datetime
    ) -> list[Allocated]:
        """Return what leases have of the resource, or are promised of it, in
        the order of their starts.

        :raises: NotFound
        """
        with self.database.reader() as session:
            known = resources.get(session, resource_id)
            amounts_of = defaultdict[str, dict[str, int]](dict)
            for share in resources.shares(session, resource_id):
                if objects.slots_of(share.resource_class) is None:
                    amounts_of[share.reservation_id][share.resource_class] = (
                        share.amount
                    )
            found = allocations.find(
                session,
                known.resource.resource_type,
                allocations.During(now, None, now),
                resource_ids=[resource_id],
            )
        return [
            Allocated(each, amounts_of[each.reservation_id])
            for each in found
            if not each.released
        ]

    def named(self, resource_type: str, name: str) -> objects.Inventoried:
        """:raises: NotFound, InvalidInput"""
        found = self.find(objects.ResourceQuery(resource_type, name))
        if not found:
            raise exception.NotFound(kind='Resource', id=name)
        return found[0]

    def properties(
        self, resource_type: str, include_private: bool
    ) -> list[objects.Property]:
        """Return the properties that hosts, or resources of another type,
        have.

        :param include_private: also properties that the type hides
        """
        hidden = () if include_private else self._hidden(resource_type)
        with self.database.reader() as session:
            found = properties_db.find(session, include_private, resource_type)
        return [each for each in found if each.name not in hidden]

    def _hidden(self, resource_type: str) -> Collection[str]:
        kind = self.types.leasing(resource_type)
        return () if kind is None else kind.hidden_properties

    def calendar(self, resource_type: str) -> calendar.Calendar:
        return calendar.Calendar(self.database, resource_type)

    def allocation_lists(
        self, resource_type: str
    ) -> allocation_lists.AllocationLists:
        return allocation_lists.AllocationLists(self.database, resource_type)

    def capacity(
        self,
        resource_type: str,
        start: datetime.datetime,
        end: datetime.datetime,
        step: datetime.timedelta,
        now: datetime.datetime,
        resource_class: str | None = None,
        required: Any = None,
    ) -> list[objects.CapacityPoint]:
        """Tell, for each step from start to end, how many resources of the
        type are there, held, and free.

        :param resource_class: of which units are counted, too
        :param required: requirements, as leases have them
        :raises: InvalidInput
        """
        self.check_type(resource_type)
        expression = requirements.parse(required, facts=requirements.OF_OTHERS)
        # The counts would reveal the values of hidden properties, one
        # comparison after another.
        if hidden := requirements.keys(expression).intersection(
            self._hidden(resource_type)
        ):
            raise exception.InvalidInput(
                'Malformed requirements: nothing can be asked by '
                f'{", ".join(sorted(hidden))}'
            )
        demand: demands.Ask = demands.Demand(resource_type, 1, 1, expression)
        if resource_class is not None:
            unit = {resource_class: 1}
            demand = demands.Share(resource_type, 1, unit, None, expression)
        asked = capacities.Asked('', '', None, demand=demand)
        return self.counts.find(start, end, step, now, asked)

    def add(
        self,
        resource_type: str,
        name: str,
        now: datetime.datetime,
        inventories: Mapping[str, int] = _NOTHING,
        properties: Mapping[str, str] = _NOTHING,
        uuid: str | None = None,
    ) -> objects.Inventoried:
        """Add a resource that can be leased.

        :param name: the name that its monitor uses, at most 255 characters;
            unique within the type.
        :param inventories: resource class -> how many units of it leases can
            have shares of; without any, only the resource as a whole.
        :param uuid: its UUID in the cloud, at most 36 characters, unique
            within the type; None: it has none there.
        :raises: InvalidInput
        :raises: ResourceExists if there is one of this name, or UUID
        :raises: CloudUnavailable, Contended, DatabaseUnavailable
        """
        self.check_type(resource_type)
        kind = self.types.leasing(resource_type)
        if isinstance(kind, enrols.Enrols):
            raise exception.InvalidInput(
                f'Resources of type {resource_type} are added by '
                f'{kind.enrolled_by}, where their service is asked'
            )
        if kind is not None:
            inventories = kind.inspect(name, inventories)
        return self.enrol(
            resource_type, name, now, inventories, properties, uuid
        )

    def enrol(
        self,
        resource_type: str,
        name: str,
        now: datetime.datetime,
        inventories: Mapping[str, int] = _NOTHING,
        properties: Mapping[str, str] = _NOTHING,
        uuid: str | None = None,
    ) -> objects.Inventoried:
        """Add a resource; the caller has already asked the cloud whether it
        can be leased.

        :raises: InvalidInput, ResourceExists, Contended, DatabaseUnavailable
        """
        self.check_type(resource_type)
        if not 0 < len(name) <= 255:
            raise exception.InvalidInput(
                'The name of a resource has 1 to 255 characters'
            )
        _check(resource_type, inventories, properties)
        uuid = uuid or _uuid_of(resource_type, name)

        def insert(session: api.Session) -> int:
            # Two requests may add the same resource at once: one of them
            # waits here, and then finds it.
            counters.increment(session, 'booking')
            known = resources.find(
                session, objects.ResourceQuery(resource_type, name)
            ) or resources.of_uuid(session, resource_type, uuid)
            if known:
                raise exception.ResourceExists(
                    type=resource_type, name=known[0].name, id=known[0].id
                )
            resource_id = resources.insert(
                session, resource_type, name, uuid, now, reservable=True
            )
            resources.set_inventories(session, resource_id, inventories)
            properties_db.assign(session, resource_id, properties, now)
            freed_capacity.freed(session, now, [resource_id])
            return resource_id

        return self.get(transactions.write(self.database, insert))

    def update(
        self,
        resource_id: int,
        now: datetime.datetime,
        inventories: Mapping[str, int | None] = _NOTHING,
        properties: Mapping[str, str | None] = _NOTHING,
    ) -> objects.Inventoried:
        """Change how much there is of a resource, and its properties.

        :param inventories: resource class -> units; None takes an inventory
            away, and other classes stay
        :param properties: name -> value, likewise
        :raises: NotFound, Contended, DatabaseUnavailable
        :raises: InvalidInput, also for properties that the type sets, and for
            inventories that are larger than in the cloud
        :raises: CloudUnavailable if the cloud does not answer
        :raises: ResourceInUse if less would be left than is promised, or a
            lease was planned with what changes
        """

        self.types.check_larger(self.get(resource_id), inventories)

        def write(session: api.Session) -> None:
            # First, so that no booking comes between the reads and the
            # commit.
            resources.change(session, resource_id, updated_at=now)
            known = resources.get(session, resource_id)
            _check(known.resource.resource_type, inventories, properties)
            self._check_given(known, properties)
            self._check_promised(session, known, inventories, now)
            self._check_compared(session, known, inventories, properties)
            resources.set_inventories(session, resource_id, inventories)
            properties_db.assign(session, resource_id, properties, now)
            freed_capacity.freed(session, now, [resource_id])

        transactions.write(self.database, write)
        return self.get(resource_id)

    def _check_given(
        self, known: objects.Inventoried, properties: Mapping[str, str | None]
    ) -> None:
        """:raises: InvalidInput for a change of a property that the type
        sets"""
        kind = self.types.leasing(known.resource.resource_type)
        given = () if kind is None else kind.given_properties
        for name in sorted(properties.keys() & {*given}):
            if properties[name] != known.properties.get(name):
                raise exception.InvalidInput(
                    f'{name} of {known.name} can not be changed: to lease '
                    'what is elsewhere, remove this resource and add that'
                )

    def _check_promised(
        self,
        session: api.Session,
        known: objects.Inventoried,
        inventories: Mapping[str, int | None],
        now: datetime.datetime,
    ) -> None:
        """:raises: ResourceInUse"""
        lower = {
            name: total or 0
            for name, total in inventories.items()
            if (total or 0) < known.inventories.get(name, 0)
        }
        if not lower:
            return
        held = resources.shares(session, known.id)
        most = _peak(held, now)
        for name, total in sorted(lower.items()):
            if most[name] > total:
                leases = [
                    each.lease_id
                    for each in held
                    if each.resource_class == name
                ]
                raise exception.ResourceInUse(
                    name=known.name,
                    reason=f'{most[name]} {name} are promised at some '
                    f'instant, {total} would be left; leases that have some: '
                    f'{_named(leases)}',
                )

    def _check_compared(
        self,
        session: api.Session,
        known: objects.Inventoried,
        inventories: Mapping[str, int | None],
        properties: Mapping[str, str | None],
    ) -> None:
        """:raises: ResourceInUse"""
        changed = differing(known.properties, properties) | {
            requirements.INVENTORY + name
            for name in differing(known.inventories, inventories)
        }
        if not changed:
            return
        holders = properties_db.holders(session, known.id)
        wanted = changed & self.types.compared(holders)
        if wanted:
            leases = [holder.lease_id for holder in holders]
            raise exception.ResourceInUse(
                name=known.name,
                reason=f'leases were planned with {", ".join(sorted(wanted))}'
                f'; leases that have it: {_named(leases)}',
            )

    def cordon(
        self, resource_id: int, now: datetime.datetime
    ) -> objects.Inventoried:
        """Keep new leases off the resource; where possible, move leases that
        have not begun to other resources.

        :raises: NotFound, Contended
        """
        self.get(resource_id)
        self.cordons.set(resource_id, now, {states.Lease.PENDING})
        return self.get(resource_id)

    def uncordon(
        self, resource_id: int, now: datetime.datetime
    ) -> objects.Inventoried:
        """Let new leases have the resource again.

        :raises: NotFound, Contended
        """
        self.get(resource_id)
        self.cordons.lift(resource_id, now)
        return self.get(resource_id)

    def remove(self, resource_id: int) -> None:
        """Remove a resource that no lease holds.

        :raises: NotFound
        :raises: ResourceInUse if leases have it, or will have it
        :raises: DatabaseUnavailable
        """
        with self.database.writer() as session:
            held = withdrawals.withdraw(session, resource_id)
            known = resources.get(session, resource_id)
            if held:
                holders = properties_db.holders(session, resource_id)
                leases = [holder.lease_id for holder in holders]
                raise exception.ResourceInUse(
                    name=known.name, reason=f'leases have it: {_named(leases)}'
                )
            resources.delete(session, resource_id)

    def check_type(self, resource_type: str) -> None:
        """:raises: InvalidInput for hosts, and for a type that there is not"""
        if resource_type == objects.HOST:
            raise exception.InvalidInput(
                'Hosts are enrolled and removed by os-hosts, or by '
                'nova-reservations-manage host'
            )
        known = self.types.of_resources() - {objects.HOST}
        if resource_type not in known:
            raise exception.InvalidInput(
                f'No resource has the type {resource_type}; there are: '
                f'{", ".join(sorted(known)) or "none beside hosts"}'
            )


def differing(known: Mapping[str, Any], asked: Mapping[str, Any]) -> set[str]:
    """Return the names of known values that would change."""
    return {
        name
        for name, value in asked.items()
        if known.get(name) not in (None, value)
    }


def _uuid_of(resource_type: str, name: str) -> str:
    return str(uuid.uuid5(_IDS, f'{resource_type}/{name}'))


def _check(
    resource_type: str,
    inventories: Mapping[str, int | None],
    properties: Mapping[str, str | None],
) -> None:
    """:raises: InvalidInput"""
    for name, total in sorted(inventories.items()):
        if not inventoried.is_class(name):
            raise exception.InvalidInput(
                f'{name} is no resource class: they are of A-Z, 0-9 and _, '
                f'and do not begin with {objects.SLOTS}'
            )
        if total is not None and not 0 < total <= inventoried.MOST:
            raise exception.InvalidInput(
                f'The inventory of {name} must be from 1 to '
                f'{inventoried.MOST}: none is taken away by null'
            )
    facts = requirements.facts_of(resource_type)
    for name in sorted(properties):
        if not (facts.is_property(name) and 0 < len(name) <= 64):
            raise exception.InvalidInput(
                f'{name} is no name of a property: they have 1 to 64 '
                'characters, and requirements do not read them as facts'
            )


def _peak(
    held: Collection[resources.Share], now: datetime.datetime
) -> amounts.Amounts:
    """Return the most that is held at any instant from now on; an allocation
    that is over but not released is held now."""
    soon = now + datetime.timedelta(seconds=1)
    windows = [
        amounts.Portion(
            interval.Interval(each.start, max(each.end, soon)),
            {each.resource_class: each.amount},
        )
        for each in held
    ]
    last = max((each.window.end for each in windows), default=soon)
    return amounts.peak(windows, interval.Interval(now, last))


def _named(leases: Collection[str]) -> str:
    return objects.few([*dict.fromkeys(leases)])
