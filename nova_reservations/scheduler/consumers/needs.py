# SPDX-License-Identifier: Apache-2.0
"""The tracked resources that a server needs, and hosts that have them."""

# Nova's objects get their names only when the process registers them.
from __future__ import annotations

from collections.abc import Sequence
import dataclasses
from typing import Any

from nova import objects
from nova.scheduler import host_manager

from nova_reservations.scheduler.consumers import base
from nova_reservations.scheduler.consumers import handler
from nova_reservations.tracking import extra_specs


@dataclasses.dataclass(frozen=True, slots=True)
class Need:
    """The need of a server for one resource.

    :ivar amount: as the consumer understands it.
    :ivar consumer: None where none of that name is loaded.
    :ivar explicit: the flavor asks for it by name, so that a host which
        reports nothing of it will not do.
    """

    resource: str
    amount: Any
    consumer: base.QuantityConsumer | None
    explicit: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Refusal:
    resource: str
    reason: str

    def __str__(self) -> str:
        return f'{self.resource}: {self.reason}'


def of(flavor: objects.Flavor, consumers: handler.Consumers) -> list[Need]:
    """Return the needs of a server of the flavor, without resources of which
    it needs nothing.

    :raises: InvalidInput if the flavor says it in a way that can't be
        understood
    """
    needs = []
    explicit = extra_specs.amounts(base.extra_specs(flavor))
    for name, consumer in tuple(consumers.running.items()):
        if isinstance(consumer, base.QuantityConsumer):
            for amount in consumers.call(name, consumer.asked, flavor):
                if amount:
                    needs.append(
                        Need(name, amount, consumer, name in explicit)
                    )
                explicit.pop(name, None)
    needs += [
        Need(name, amount, None, explicit=True)
        for name, amount in explicit.items()
        if amount
    ]
    return needs


def refusal(
    host_state: host_manager.HostState,
    needs: Sequence[Need],
    consumers: handler.Consumers,
) -> Refusal | None:
    """Return why the host will not do; None if it will."""
    for need in needs:
        quantity = base.held(host_state, need.resource)
        answer: list[str | None] = []
        if need.consumer is not None and quantity is not None:
            answer = consumers.call(
                need.resource, need.consumer.lacking, quantity, need.amount
            )
        if not answer and need.explicit:
            return Refusal(need.resource, 'nothing is known of it')
        for why_not in answer:
            if why_not is not None:
                return Refusal(need.resource, why_not)
    return None


def free(
    host_state: host_manager.HostState,
    need: Need,
    consumers: handler.Consumers,
) -> float:
    """Return how much the host has left; 0 if nothing is known of it."""
    quantity = base.held(host_state, need.resource)
    if need.consumer is None or quantity is None:
        return 0.0
    return sum(consumers.call(need.resource, _free, quantity))


def _free(quantity: Any) -> float:
    return float(quantity.free)
