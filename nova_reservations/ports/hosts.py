# SPDX-License-Identifier: Apache-2.0
"""Compute hosts, as Nova and placement know them."""

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
from typing import Protocol

from nova_reservations import objects


@dataclasses.dataclass(frozen=True, slots=True)
class ComputeService:
    """A nova-compute, as Nova knows it.

    :ivar up: it has reported in time.
    :ivar gave_up: Nova itself has disabled it because it can't work, and not
        an administrator.
    :ivar gone: Nova knows no such service.
    """

    up: bool
    disabled: bool
    forced_down: bool
    gave_up: bool = False
    gone: bool = False

    @property
    def is_working(self) -> bool:
        """Return whether Nova would put a server there."""
        return self.up and not self.disabled and not self.forced_down

    @property
    def is_heard(self) -> bool:
        """Return whether it acts on requests for servers that it has."""
        return self.up and not self.forced_down

    @property
    def is_silent(self) -> bool:
        """Return whether guests may run there that nobody can be asked about:
        it has not reported in time, and nobody has said that the host is
        dead."""
        return not (self.up or self.forced_down or self.gone)

    @property
    def is_down(self) -> bool:
        return not self.up or self.gave_up


GONE = ComputeService(up=False, disabled=False, forced_down=False, gone=True)
"""Of a host that Nova does not know."""


@dataclasses.dataclass(frozen=True, slots=True)
class HostVersion:
    """A value that differs from the last one if a host's facts may have
    changed.

    :ivar availability_zone: None: no cell has told whose provider it is.
    :ivar cell: its UUID. None: no cell has told, or Nova has mapped the host
        to none.
    :ivar tree: stands for the generations of the providers below its own.
        None: these were not asked for.
    :ivar aggregates: stands for the metadata of the host's aggregates. None:
        no cell has told whose provider it is.
    """

    provider_generation: int
    availability_zone: str | None
    cell: str | None
    tree: str | None = None
    aggregates: str | None = None


class Hosts(Protocol):
    """The compute hosts of the cloud."""

    def find_hosts(self, name: str) -> Sequence[objects.Resource]:
        """Return the compute nodes that name names exactly.

        :param name: a service host, a hypervisor hostname or a node's UUID;
            the ids of the resources returned are 0.
        :raises: CloudUnavailable if it may be in a cell that has not
            answered
        """

    def facts(
        self,
        hosts: Collection[objects.Resource],
        as_if_empty: Collection[str] = (),
    ) -> Sequence[objects.HostFacts]:
        """Return the facts of those of the hosts that still exist.

        :param as_if_empty: UUIDs of hosts of which all memory and disk count
            as free: what servers use there is not asked for
        :raises: CloudUnavailable unless their cells have answered
        """

    def without_provider(
        self, hosts: Collection[objects.Resource]
    ) -> Collection[str]:
        """Return the service hosts of those of the hosts that placement has
        no provider of."""

    def unusable(
        self, hosts: Collection[objects.Resource]
    ) -> Mapping[str, str]:
        """Return service host -> why no lease can use the host, for an
        operator; without hosts that placement has a provider of, and that
        Nova has mapped to a cell."""

    def pool_generations(
        self, trees: bool = False
    ) -> Mapping[str, HostVersion]:
        """Return provider UUID -> a value that changes when facts may have
        changed.

        Of all marked hosts: one request to placement and one query,
        whatever their number.

        :param trees: whether to look below the hosts' own providers, too:
            one more request, for all providers of the cloud
        """

    def passes(self, key: str, fact: str, spec: str) -> bool:
        """Return whether a host passes Nova's filter of extra specs.

        :param key: of an extra spec, with its scope
        :param fact: what the host has: its cpu_info, or the values in the
            metadata of its aggregates, separated by commas
        :param spec: the value of the extra spec
        """

    def compute_services(
        self, now: datetime.datetime, hosts: Collection[str]
    ) -> Mapping[str, ComputeService]:
        """Return service host -> its nova-compute, GONE if it has none.

        Hosts whose cells do not answer are left out. Only the cells of the
        hosts are asked.
        """

    def services_by_cell(
        self, now: datetime.datetime
    ) -> Mapping[str, Mapping[str, ComputeService]]:
        """Return cell -> service host -> its nova-compute, of all enabled
        cells that answer.
        """

    def cells_of(self, names: Collection[str]) -> Mapping[str, str]:
        """Return service host -> the name or UUID of its cell, of the hosts
        that Nova has mapped to one."""
