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
    :ivar gave_up: it was not an administrator who disabled it but Nova
        itself, because it can't work.
    """

    up: bool
    disabled: bool
    forced_down: bool
    gave_up: bool = False

    @property
    def is_working(self) -> bool:
        """Return whether Nova would put a server there."""
        return self.up and not self.disabled and not self.forced_down

    @property
    def is_heard(self) -> bool:
        """Return whether it acts on requests for servers that it has."""
        return self.up and not self.forced_down

    @property
    def is_down(self) -> bool:
        return not self.up or self.gave_up


@dataclasses.dataclass(frozen=True, slots=True)
class HostVersion:
    """A value that differs from the last one if a host's facts may have
    changed."""

    provider_generation: int
    availability_zone: str


class Hosts(Protocol):
    """The compute hosts of the cloud."""

    def find_hosts(self, name: str) -> Sequence[objects.Resource]:
        """Return the compute nodes that name names exactly.

        :param name: a service host, a hypervisor hostname or a node's UUID;
            the ids of the resources returned are 0.
        """

    def facts(
        self, hosts: Collection[objects.Resource]
    ) -> Sequence[objects.HostFacts]:
        """Return the facts of those of the hosts that still exist."""

    def pool_generations(self) -> Mapping[str, HostVersion]:
        """Return provider UUID -> a value that changes when facts may have
        changed.

        Of all marked hosts: one request to placement and one query,
        whatever their number.
        """

    def compute_services(
        self, now: datetime.datetime | None, host: str | None = None
    ) -> Mapping[str, ComputeService]:
        """Return service host -> its nova-compute, of all cells.

        :param now: None: by the clock of Nova in this process
        :param host: only this one, if it has any; its cell alone is asked
        """

    def cells_of(self, names: Collection[str]) -> Mapping[str, str]:
        """Return service host -> the name or UUID of its cell, of those that
        Nova has mapped to one."""
