# SPDX-License-Identifier: Apache-2.0
"""What a server needs of tracked resources, and whether a host has it."""

# Nova's objects get their names only when the process registers them.
from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import decimal

from nova import objects
from nova.scheduler import host_manager

from nova_reservations import asked
from nova_reservations.scheduler.consumers import base
from nova_reservations.scheduler.consumers import handler


@dataclasses.dataclass(frozen=True, slots=True)
class Need:
    """:ivar explicit: the flavor asks for it by name, so that a host which
    reports nothing of it will not do.
    """

    resource: str
    amount: decimal.Decimal
    explicit: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Refusal:
    resource: str
    reason: str

    def __str__(self) -> str:
        return f'{self.resource}: {self.reason}'


def of(flavor: objects.Flavor, consumers: handler.Consumers) -> Sequence[Need]:
    """Return what a server of the flavor needs; of what it needs nothing of
    there is none.

    :raises: InvalidInput if the flavor says it in a way that can't be
        understood
    """
    amounts = {
        name: decimal.Decimal(consumer.asked(flavor))
        for name, consumer in consumers.running.items()
        if isinstance(consumer, base.QuantityConsumer)
    }
    explicit = asked.amounts(flavor.extra_specs or {})
    return [
        Need(name, amount, name in explicit)
        for name, amount in (explicit | amounts).items()
        if amount
    ]


def refusal(
    host_state: host_manager.HostState, needs: Sequence[Need]
) -> Refusal | None:
    """Return why the host will not do; None if it will."""
    for need in needs:
        quantity = base.held(host_state, need.resource)
        if isinstance(quantity, base.Quantity):
            if need.amount > quantity.free:
                return Refusal(
                    need.resource,
                    f'{need.amount} asked, {quantity.free} of '
                    f'{quantity.total} free',
                )
        elif need.explicit:
            return Refusal(
                need.resource,
                'nothing is known of it',
            )
    return None
