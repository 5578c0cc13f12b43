# SPDX-License-Identifier: Apache-2.0
"""Audits of what Neutron has for leases: they find what was changed there
without us.

If nothing of the type can be leased, Neutron is not asked.
"""

import abc
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
import datetime
from typing import ClassVar
from typing import Generic
from typing import TypeVar

from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.db import api
from nova_reservations.db.leases import leases
from nova_reservations.db.resources import conditions
from nova_reservations.db.resources import resources
from nova_reservations.db.upkeep import audit
from nova_reservations.engine import identity
from nova_reservations.engine.audit.findings import Finding
from nova_reservations.engine.audit.findings import written

M = TypeVar('M', bound=ports.Made)


class NeutronAudit(abc.ABC, Generic[M]):
    """:cvar resource_type: the type of the resources that are audited.

    :cvar noun: the name of what leases have in Neutron for one of them.
    """

    resource_type: ClassVar[str]
    noun: ClassVar[str]

    def __init__(self, database: api.Database, cloud: ports.Cloud) -> None:
        self.database = database
        self.cloud = cloud

    @abc.abstractmethod
    def find(self, known: Collection[objects.Inventoried]) -> Mapping[str, M]:
        """Return name of a resource -> what is at its place."""

    @abc.abstractmethod
    def find_marked(self) -> Collection[M]:
        """Return all that has the tag of reservations."""

    @abc.abstractmethod
    def label(self, name: str) -> str:
        """Return what users call the place of a resource."""

    @abc.abstractmethod
    def label_of(self, made: M) -> str:
        """Return what users call the place of something in Neutron."""

    @abc.abstractmethod
    def of_places(
        self, known: Collection[objects.Inventoried]
    ) -> Iterator[Finding]:
        """Yield findings of places that not only leases can have any more."""

    @abc.abstractmethod
    def stranger(self, made: M) -> Finding:
        """Return the finding that something of no lease is at a place for
        leases."""

    @abc.abstractmethod
    def leftover(self, made: M, problem: str) -> Finding:
        """Return the finding that something belongs to a lease that is
        over."""

    def findings(self, now: datetime.datetime) -> Iterator[Finding]:
        """:raises: CloudUnavailable"""
        with self.database.reader() as session:
            known = resources.find(
                session, objects.ResourceQuery(self.resource_type)
            )
        if not known:
            return
        seen = self.find(known)
        yield from self.of_places(known)
        yield from self._of_leases(seen, now)
        with self.database.reader() as session:
            holders = conditions.holders(session, self.resource_type, now)
        for name, made in seen.items():
            # If its project holds the place, it has only lost its tags.
            if (
                made.reservation_id is None
                and made.project_id not in holders.get(name, ())
            ):
                yield self.stranger(made)
        yield from self._of_leftovers(seen)

    def _of_leases(
        self, seen: Mapping[str, M], now: datetime.datetime
    ) -> Iterator[Finding]:
        """Yield findings of what active leases should have and lack."""
        with self.database.reader() as session:
            leased = audit.leased(session, self.resource_type)
        for each in leased:
            found = seen.get(each.name)
            if found is not None and (
                found.project_id != each.project_id
                or (
                    found.is_tagged
                    and found.reservation_id == each.reservation_id
                )
            ):
                # What is another project's has a finding of its own.
                continue
            yield Finding(
                f'{self.noun} {self.label(each.name)} of reservation '
                f'{each.reservation_id} is not in Neutron, or without its '
                'tags',
                written(self.database, audit.regather, each.lease_id, now),
            )

    def _of_leftovers(self, seen: Mapping[str, M]) -> Iterator[Finding]:
        """Yield findings of what belongs to leases that are over.

        What belongs to another database, or to Blazar, is reported only if it
        is in the way, and has no repair: only its owner knows about it.
        """
        marked = {
            each.id: each
            for each in (*seen.values(), *self.find_marked())
            if each.reservation_id is not None
        }
        ids = {each.reservation_id or '' for each in marked.values()}
        with self.database.reader() as session:
            alive = leases.in_nova(session, ids)
            known = audit.reservations(session, ids)
        ours = identity.of(self.database)
        in_the_way = {each.id for each in seen.values()}
        for made in marked.values():
            if made.reservation_id in alive:
                continue
            problem = (
                f'{self.noun} {self.label_of(made)} of reservation '
                f'{made.reservation_id} is of no lease'
            )
            if made.database == ours or made.reservation_id in known:
                yield self.leftover(made, f'{problem} any more')
            elif made.id in in_the_way:
                yield Finding(
                    f'{problem} of this database: see which other one, or '
                    'which Blazar, is in use. If that is gone for ever, '
                    'delete it in Neutron'
                )
