# SPDX-License-Identifier: Apache-2.0
"""The base of consumers, the scheduler's half of a resource plugin.

A compute host reports how much it has of a resource. A consumer reads the
report into Nova's state of the host, and subtracts each server that the
scheduler puts there, so that the next one of the same request sees the rest.
"""

# Nova's objects get their names only when the process registers them.
from __future__ import annotations

import abc
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import decimal
from typing import Any

from nova import objects
from nova.scheduler import host_manager
from oslo_config import cfg

from nova_reservations import exception
from nova_reservations.tracking import extra_specs as asked
from nova_reservations.tracking import stats

HELD = 'held'
"""The attribute of a host state: name of a consumer -> what it holds."""


class Consumer(abc.ABC):
    """The scheduler's half of a plugin.

    One object serves all hosts and all requests, in several threads. So it
    keeps what it knows of a host on the host state, which lives as long as one
    run of the scheduler.

    :ivar name: of its entry point, and of its plugin on the compute hosts.
    :cvar reads_stats: whether it relies on that plugin: operators are told
        of hosts that lack it.
    """

    reads_stats = True

    def __init__(self, name: str, conf: cfg.ConfigOpts) -> None:
        """Open nothing here: the process forks after it.

        :param conf: Nova's
        """
        self.name = name
        self.conf = conf

    @abc.abstractmethod
    def read(
        self, host_state: host_manager.HostState, found: Mapping[str, Any]
    ) -> None:
        """Hold the host's report; hold nothing if it reports nothing.

        Called for each host in each run of the scheduler: it must be cheap.

        :param found: ``stats`` of the compute node, text -> text, of
            whatever plugins and versions that host has; see ``stats.decode``
        :raises: UnreadableStats if what is there can't be used: the host
            counts as one that reports nothing, which the log says once
        """

    @abc.abstractmethod
    def consume(
        self,
        host_state: host_manager.HostState,
        request_spec: objects.RequestSpec,
    ) -> None:
        """Take one server of the request, which goes to the host, off what
        is held of it."""

    def survey(  # noqa: B027
        self,
        host_states: Sequence[host_manager.HostState],
        request_spec: objects.RequestSpec,
        summaries: Mapping[str, Any] | None,
    ) -> None:
        """Hold facts that the stats do not tell. Called once in each run of
        the scheduler, after all hosts have been read and before they are
        filtered.

        :param summaries: placement's provider summaries, by the UUIDs of the
            providers; None where the run does not ask placement
        """

    def hold(self, host_state: host_manager.HostState, value: Any) -> None:
        """Put the facts of the host where filters find them."""
        getattr(host_state, HELD)[self.name] = value

    def held(self, host_state: host_manager.HostState) -> Any:
        """Return what was held of the host; None if nothing was."""
        return held(host_state, self.name)


def held(host_state: host_manager.HostState, name: str) -> Any:
    """Return what the consumer of this name holds of the host, for filters
    and weighers; None if it holds nothing, or is not loaded."""
    return getattr(host_state, HELD, {}).get(name)


def extra_specs(flavor: objects.Flavor) -> Mapping[str, str]:
    """Return the extra specs of the flavor; none if the request came without
    them: they are not to be loaded in the middle of scheduling."""
    return (flavor.extra_specs or {}) if 'extra_specs' in flavor else {}


@dataclasses.dataclass(frozen=True, slots=True)
class Quantity:
    """The amount that a host has of a resource that is counted.

    :ivar total: what servers may use, after reserved amounts and
        over-commitment
    """

    total: decimal.Decimal
    used: decimal.Decimal

    @property
    def free(self) -> decimal.Decimal:
        """Negative where more is used than there is."""
        return self.total - self.used

    def less(self, amount: decimal.Decimal) -> Quantity:
        """Return the rest after one more server takes the amount."""
        return Quantity(self.total, self.used + amount)


class QuantityConsumer(Consumer):
    """A consumer of a resource that is counted: the host reports total and
    used.

    :cvar version: of the figures that it can read.
    """

    version = 1

    def asked(self, flavor: objects.Flavor) -> Any:
        """Return how much a server of the flavor takes; a false value stands
        for nothing.

        :raises: InvalidInput if the flavor does not say it in a way that can
            be understood
        """
        return asked.amount(extra_specs(flavor), self.name)

    def quantity(self, figures: Mapping[str, Any]) -> Any:
        """Return what the figures of the plugin say: anything that has
        ``free``, a number, and ``less(amount)``.

        :raises: UnreadableStats
        """
        return Quantity(
            self.number(figures, 'total'), self.number(figures, 'used')
        )

    def lacking(self, quantity: Any, amount: Any) -> str | None:
        """Return why it is too little, in words for an operator; None if it
        will do."""
        if amount <= quantity.free:
            return None
        return f'{amount} asked, {quantity.free} of {quantity.total} free'

    def number(self, figures: Mapping[str, Any], name: str) -> decimal.Decimal:
        """Return one of the figures.

        :raises: UnreadableStats if it is no number
        """
        number: Any = figures.get(name)
        # True is an int, too, and a number in JSON may be of any size.
        if type(number) not in (int, float) or not -_LIMIT < number < _LIMIT:
            raise exception.UnreadableStats(
                plugin=self.name, reason=f'{name} is no number'
            )
        # The number as it was written, such as 0.1, not the float's binary
        # value.
        return decimal.Decimal(repr(number))

    def read(
        self, host_state: host_manager.HostState, found: Mapping[str, Any]
    ) -> None:
        report = stats.decode(found, self.name)
        if report is None:
            return
        if report.version != self.version:
            raise exception.UnreadableStats(
                plugin=self.name,
                reason=f'it is of version {report.version}, known is '
                f'{self.version}',
            )
        self.hold(host_state, self.quantity(report.figures))

    def consume(
        self,
        host_state: host_manager.HostState,
        request_spec: objects.RequestSpec,
    ) -> None:
        quantity = self.held(host_state)
        if quantity is not None:
            amount = self.asked(request_spec.flavor)
            if amount:
                self.hold(host_state, quantity.less(amount))


_LIMIT = 2**63
