# SPDX-License-Identifier: Apache-2.0
"""The base of resource plugins, whose entry points are in
nova.compute.resources.

There is one object of a plugin's class for each node of a nova-compute. Nova's
resource tracker is locked while one of its methods runs, so that no two
methods run at the same time. Claims and audits of the host wait for the
method: it must neither use the network nor sleep.
"""

import abc
from collections.abc import Mapping
import dataclasses
import decimal
from typing import Any
from typing import ClassVar

from oslo_config import cfg

from nova_reservations import exception


@dataclasses.dataclass(frozen=True, slots=True)
class Host:
    """A node as this audit finds it.

    :ivar name: Nova's of the node.
    :ivar reported: what the hypervisor says, as the virt driver's
        ``get_available_resource`` returns it: ``vcpus``, ``memory_mb`` (MiB),
        ``local_gb`` (GiB), these with ``_used`` for what the hypervisor sees
        in use, ``cpu_info`` (JSON text), and others.
    :ivar cpu_allocation_ratio: vcpus that may be handed out for each CPU.
    :ivar ram_allocation_ratio: the same for memory.
    :ivar driver: Nova's virt driver, for what it does not report.
    """

    name: str
    reported: Mapping[str, Any]
    cpu_allocation_ratio: float
    ram_allocation_ratio: float
    driver: Any


@dataclasses.dataclass(frozen=True, slots=True)
class Usage:
    """The usage of one server, by the flavor stored with it or its migration.

    While a resize is open a server may be added twice to one host: once with
    the old flavor, once with the new one. Editing a flavor changes nothing
    here.

    :ivar server: UUID.
    :ivar project: id.
    :ivar flavor: name.
    :ivar vcpus: number.
    :ivar memory_mb: MiB.
    :ivar root_gb: GiB, of the flavor also where the server boots from a
        volume.
    :ivar ephemeral_gb: GiB.
    :ivar swap_mb: MiB.
    :ivar extra_specs: of the flavor, all values text.
    """

    server: str
    project: str
    flavor: str
    vcpus: int
    memory_mb: int
    root_gb: int
    ephemeral_gb: int
    swap_mb: int
    extra_specs: Mapping[str, str]


@dataclasses.dataclass(frozen=True, slots=True)
class Inventory:
    """The inventory that placement shall have of the node.

    :ivar resources: resource class -> ``total`` and, if they differ from
        placement's defaults, ``reserved``, ``min_unit``, ``max_unit``,
        ``step_size`` and ``allocation_ratio``.
    :ivar traits: those that the node has.
    """

    resources: Mapping[str, Mapping[str, Any]] = dataclasses.field(
        default_factory=dict
    )
    traits: frozenset[str] = frozenset()


class Unavailable(Exception):
    """Raised by reset(): this host has no such thing, and why.

    It is no failure. Nothing is tested or reported until an audit finds it.
    """


class Resource(abc.ABC):
    """One resource of one node.

    An exception of a method is logged with the plugin's name, and Nova goes
    on. What the plugin holds is then neither tested nor reported until the
    next audit resets it. After three failures without a good audit between
    them the plugin is off.

    :cvar version: of the figures that write() returns; count it up when they
        change their meaning.
    :cvar resource_classes: every ``CUSTOM_`` class that inventory() may
        return. If the plugin fails, its classes stay in placement as they
        were: Nova's audits would fail if a class that servers hold was
        removed.
    :cvar traits: every ``CUSTOM_`` trait that inventory() may return.
    """

    version: ClassVar[int] = 1
    resource_classes: ClassVar[frozenset[str]] = frozenset()
    traits: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        """Open nothing and ask nothing: that is for reset()."""
        self.conf = conf

    @abc.abstractmethod
    def reset(self, host: Host) -> None:
        """Begin anew, without servers; at start and at each audit.

        :raises: Unavailable where the host has nothing to count
        """

    @abc.abstractmethod
    def add_instance(self, usage: Usage) -> None:
        """Count a server: it is claimed, arrives, or was found by the
        audit."""

    @abc.abstractmethod
    def remove_instance(self, usage: Usage) -> None:
        """Count a server no more: it leaves, ends, or its claim is given
        up."""

    @abc.abstractmethod
    def test(self, usage: Usage) -> str | None:
        """Return None if the server fits, else why not, in words for an
        operator.

        Nova then tries the next host. Nothing is counted yet.
        """

    @abc.abstractmethod
    def write(self) -> dict[str, Any]:
        """Return the figures for the scheduler, as plain JSON.

        ``total`` and ``used``, both numbers, are what the generic filter and
        weigher read. Keep it small, and the same as long as nothing changes:
        each change is written to Nova's database.
        """

    def inventory(self) -> Inventory:
        """Return inventories for placement; by default none."""
        return Inventory()


class Quantity(Resource):
    """A resource of which there is an amount, and servers take parts of it.

    :ivar total: what may be handed out.
    :ivar used: what is handed out. Sums are exact: adding and removing the
        same amount leaves nothing.
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        super().__init__(conf)
        self.total = decimal.Decimal(0)
        self.used = decimal.Decimal(0)

    @abc.abstractmethod
    def capacity(self, host: Host) -> decimal.Decimal | int:
        """Return how much of it the host has."""

    @abc.abstractmethod
    def amount(self, usage: Usage) -> decimal.Decimal | int:
        """Return how much of it the server takes; 0 for none.

        :raises: InvalidInput where the flavor says what can't be
            understood; such a server is refused, and takes nothing where it
            is already
        """

    def reserved(self, host: Host) -> decimal.Decimal | int:
        """Return the amount that is in use without any server."""
        return 0

    def reset(self, host: Host) -> None:
        self.total = decimal.Decimal(self.capacity(host))
        self.used = decimal.Decimal(self.reserved(host))

    def add_instance(self, usage: Usage) -> None:
        self.used += self._counted(usage)

    def remove_instance(self, usage: Usage) -> None:
        self.used -= self._counted(usage)

    def _counted(self, usage: Usage) -> decimal.Decimal | int:
        try:
            return self.amount(usage)
        except exception.InvalidInput:
            return 0

    def test(self, usage: Usage) -> str | None:
        try:
            wanted = self.amount(usage)
        except exception.InvalidInput as error:
            return str(error)
        free = self.total - self.used
        # A server that takes nothing fits anywhere, even if others took too
        # much.
        if not wanted or wanted <= free:
            return None
        return (
            f'{number(wanted)} asked, '
            f'{number(free)} of {number(self.total)} free'
        )

    def write(self) -> dict[str, Any]:
        return {'total': number(self.total), 'used': number(self.used)}


def number(value: decimal.Decimal | int) -> int | float:
    """Return it as JSON has it."""
    return int(value) if value == int(value) else float(value)
