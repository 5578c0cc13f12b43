# SPDX-License-Identifier: Apache-2.0
"""Aggregates: the pool, and the aggregates of reservations of hosts."""

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import NamedTuple
from typing import Protocol

from nova_reservations import objects
from nova_reservations.ports.calls import Check


class GenerationChange(NamedTuple):
    """The generation of a provider before a change of ours, and the one to
    which that change alone has moved it.

    Decision 0017: doc/source/decisions/0017-what-we-changed-ourselves
    """

    before: int
    after: int


GenerationChanges = Mapping[str, GenerationChange]
"""Provider UUID -> the change, of those that have changed."""


@dataclasses.dataclass(frozen=True, slots=True)
class Members:
    """The hosts in an aggregate of an operator's.

    :ivar hosts: service hosts, as Nova has them.
    :ivar generations: provider UUID -> generation, as placement has them.
    """

    hosts: frozenset[str]
    generations: Mapping[str, int]


@dataclasses.dataclass(frozen=True, slots=True)
class Pool:
    """The aggregate ``freepool``, as Nova has it.

    :ivar availability_zone: None, unless somebody gave it one.
    """

    uuid: str
    hosts: frozenset[str]
    availability_zone: str | None = None


class Aggregates(Protocol):
    """The pool and the aggregates of reservations."""

    def ensure_pool(self) -> None:
        """Make the trait and the aggregate ``freepool`` if missing."""

    def mark(self, host: objects.Resource) -> None:
        """Put the pool's trait on the host's provider."""

    def unmark(self, host: objects.Resource) -> None:
        """Take the pool's trait off; a provider that is gone is fine."""

    def join_pool(self, host: objects.Resource) -> None:
        """Add the host to ``freepool``, in Nova and in placement."""

    def leave_pool(self, host: objects.Resource) -> None:
        """Take the host out of ``freepool``."""

    def find_pool(self) -> Pool | None:
        """Return the pool's aggregate; None if there is none."""

    def provider_aggregates(
        self, hosts: Collection[objects.Resource]
    ) -> Mapping[str, Collection[str]]:
        """Return service host -> UUIDs of the aggregates that placement has
        it in."""

    def find_members(self, aggregate: str) -> Members | None:
        """Return the hosts of an aggregate; None if there is none of that
        name."""

    def set_aggregate_hosts(
        self,
        reservation_id: str,
        project_id: str,
        hosts: Collection[objects.Resource],
        check: Check,
        database: str,
    ) -> GenerationChanges:
        """Make the reservation's aggregate hold exactly these hosts.

        The hosts are changed in Nova and in placement, many at once, and then
        one cast tells the schedulers.

        :param database: the name of our database, which the aggregate bears
        :returns: what this has changed of the hosts' providers
        :raises: HostRefused if hosts are unknown to Nova or placement
        """

    def has_aggregate_hosts(
        self, reservation_id: str, hosts: Collection[objects.Resource]
    ) -> bool:
        """Return whether the aggregate holds exactly these hosts, in Nova."""

    def lacking(self, reservation_id: str, project_id: str) -> Sequence[str]:
        """Return, in words, what is not as set_aggregate_hosts makes it, apart
        from the hosts. An aggregate that is gone lacks only its hosts."""

    def remove_aggregate_hosts(
        self,
        reservation_id: str,
        hosts: Collection[objects.Resource],
        check: Check,
    ) -> GenerationChanges:
        """Take these hosts out of the aggregate, in Nova and in placement. It
        keeps all others, and is not made again if it is gone.

        :returns: what this has changed of the hosts' providers
        """

    def delete_aggregate(
        self, reservation_id: str, check: Check
    ) -> GenerationChanges | None:
        """Take all hosts out of the aggregate, in Nova and in placement, and
        delete it.

        :returns: what this has changed of the hosts' providers; None if the
            aggregate was gone before
        """

    def lease_aggregates(self) -> Mapping[str, Collection[str]]:
        """Return reservation id -> service hosts, of all aggregates of
        reservations that Nova has."""

    def origins(self) -> Mapping[str, str | None]:
        """Return reservation id -> the name of the database that its aggregate
        bears, of all aggregates of reservations."""

    def sign(self, reservation_id: str, database: str) -> None:
        """Write the name of the database that it belongs to into the
        aggregate."""
