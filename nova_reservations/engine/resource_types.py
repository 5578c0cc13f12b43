# SPDX-License-Identifier: Apache-2.0
"""The resource types that are switched on, and their part in leases."""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from typing import TypeVar

from oslo_config import cfg

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import plugin_loader
from nova_reservations import ports
from nova_reservations.db.resources import properties
from nova_reservations.objects import demand as demands
from nova_reservations.objects import interval
from nova_reservations.objects import names
from nova_reservations.objects import requirements
from nova_reservations.types import audited
from nova_reservations.types import base

T = TypeVar('T', bound=base.ResourceType)


class Types(dict[str, base.ResourceType]):
    """Name -> the resource type."""

    def named(self, name: str) -> base.ResourceType:
        """:raises: InvalidInput for one that is not switched on"""
        try:
            return self[name]
        except KeyError:
            raise exception.InvalidInput(
                f'The {name} resource type is not supported'
            ) from None

    def of_resources(self) -> set[str]:
        """Return the types of the resources that these lease."""
        return {kind.resource_type or name for name, kind in self.items()}

    def able(self, ability: type[T]) -> list[T]:
        """Return the types with an ability, such as ``audited.Audited``; one
        of those that lease the same resources."""
        return [
            *{
                kind.resource_type or name: kind
                for name, kind in self.items()
                if isinstance(kind, ability)
            }.values()
        ]

    def leasing(self, resource_type: str) -> base.ResourceType | None:
        """Return the type that leases resources of this type, if it is
        switched on."""
        for name, kind in self.items():
            if resource_type == (kind.resource_type or name):
                return kind
        return None

    def check_larger(
        self,
        known: objects.Inventoried,
        inventories: Mapping[str, int | None],
    ) -> None:
        """Refuse inventories of a resource if the cloud says that it has less.

        :raises: InvalidInput, CloudUnavailable
        """
        kind = self.leasing(known.resource.resource_type)
        larger = {
            name: total
            for name, total in inventories.items()
            if total is not None and total > known.inventories.get(name, 0)
        }
        if kind is not None and larger:
            kind.check_larger(known.name, larger)

    def nouns(self, resource_type: str) -> tuple[str, str]:
        """Return what one resource is called, and what several are."""
        if resource_type == objects.HOST:
            return 'host', 'hosts'
        kind = self.leasing(resource_type)
        return base.ResourceType.nouns if kind is None else kind.nouns

    def shortage(
        self, asked: Iterable[demands.Ask], reason: str
    ) -> exception.NotEnoughResources:
        """Return the refusal of a lease for lack of any of what it asks
        for."""
        several = {self.nouns(each.resource_type)[1] for each in asked}
        what = several.pop() if len(several) == 1 else 'resources'
        return exception.NotEnoughResources(reason=reason, what=what)

    def demand(self, reservation: objects.Reservation) -> demands.Ask | None:
        """Return the demand of a reservation; None: nothing that is planned.

        :raises: InvalidInput
        """
        return self.named(reservation.resource_type).demand(reservation.params)

    def planned(self, lease: objects.Lease) -> dict[str, demands.Ask]:
        """Return reservation id -> its demand, of those that are planned.

        :raises: InvalidInput
        """
        return {
            item.id: asked
            for item in lease.reservations
            if (asked := self.demand(item)) is not None
        }

    def window(
        self, lease: objects.Lease, reservation: objects.Reservation
    ) -> interval.Interval:
        """Return for how long the reservation has its resources.

        :raises: InvalidInput
        """
        kind = self.named(reservation.resource_type)
        return interval.Interval(
            lease.start_date,
            lease.end_date + kind.aftermath(reservation.params),
        )

    def compared(self, holders: Iterable[properties.Holder]) -> set[str]:
        """Return the keys that requirements of reservations which hold a
        resource compare."""
        found: set[str] = set()
        for holder in holders:
            if holder.resource_type in self:
                ask = base.stored_demand(
                    self[holder.resource_type],
                    holder.params,
                    f'lease {holder.lease_id}',
                )
                if ask is not None:
                    found |= requirements.keys(ask.requirements)
        return found

    def asks(self, lease: objects.Lease) -> Iterator[demands.Ask]:
        """Yield the demands of a lease's reservations, as far as they are
        known."""
        for item in lease.reservations:
            if item.resource_type in self:
                found = base.stored_demand(
                    self[item.resource_type], item.params, f'lease {lease.id}'
                )
                if found is not None:
                    yield found


def switched_on(conf: cfg.ConfigOpts, cloud: ports.Cloud) -> Types:
    """Return the types that conf names.

    :raises: UnknownResourceType
    """
    return Types(
        plugin_loader.make(
            names.RESOURCE_TYPES,
            conf.reservations.resource_types,
            base.ResourceType,  # type: ignore[type-abstract]
            '[reservations] resource_types',
            exception.UnknownResourceType,
            cloud,
            conf,
        )
    )


def installed() -> dict[str, type[base.ResourceType]]:
    """Return the types that installed packages offer, switched on or not."""
    return plugin_loader.load(
        names.RESOURCE_TYPES,
        sorted(plugin_loader.installed(names.RESOURCE_TYPES)),
        base.ResourceType,  # type: ignore[type-abstract]
        'An installed package',
    ).found


def switched_off(conf: cfg.ConfigOpts, cloud: ports.Cloud) -> Types:
    """Return the types that conf does not name, and may have left something
    in their services. One that can't be made is no reason not to start."""
    return Types(
        plugin_loader.make(
            names.RESOURCE_TYPES,
            [
                name
                for name, kind in installed().items()
                if issubclass(kind, audited.Audited)
                and name not in conf.reservations.resource_types
            ],
            base.ResourceType,  # type: ignore[type-abstract]
            'An installed package',
            None,
            cloud,
            conf,
        )
    )
