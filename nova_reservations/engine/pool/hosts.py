# SPDX-License-Identifier: Apache-2.0
"""Enrolled hosts: their properties and capacity, and their facts, which are
kept up to date."""

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import datetime

from oslo_log import log

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.db import api
from nova_reservations.db import pages
from nova_reservations.db.holdings import allocations
from nova_reservations.db.leases import freed_capacity
from nova_reservations.db.resources import hosts
from nova_reservations.db.resources import properties as properties_db
from nova_reservations.db.resources import resources as rows
from nova_reservations.engine import resource_types
from nova_reservations.engine import settings
from nova_reservations.engine import transactions
from nova_reservations.engine.healing import monitoring
from nova_reservations.engine.outlook import capacity
from nova_reservations.engine.pool import enrolment
from nova_reservations.engine.pool import lost_hosts
from nova_reservations.engine.pool import resources

LOG = log.getLogger(__name__)

AT_ONCE = 500
"""The number of hosts whose facts are read at once; the availability zones are
read once for them all."""


@dataclasses.dataclass(eq=False)
class Hosts:
    database: api.Database
    cloud: ports.Cloud
    options: settings.Settings
    types: resource_types.Types
    monitors: monitoring.Monitoring
    counts: capacity.Capacity

    def __post_init__(self) -> None:
        self.capacity = self.counts.find
        self.enrolment = enrolment.Enrolment(
            self.database, self.cloud, self.options
        )

    def get(self, host_id: int) -> objects.Host:
        """:raises: NotFound"""
        with self.database.reader() as session:
            return hosts.get(session, host_id)

    def find(self, query: objects.HostQuery) -> list[objects.Host]:
        with self.database.reader() as session:
            return hosts.find(session, query)

    def is_enrolled(self, name: str) -> bool:
        """Return whether name is an enrolled service host or hypervisor."""
        with self.database.reader() as session:
            return hosts.is_enrolled(session, name)

    def update(
        self,
        host_id: int,
        properties: Mapping[str, str | None],
        now: datetime.datetime,
    ) -> objects.Host:
        """Change the operator's properties of the host, and read its facts.

        A property that a present or future lease was planned with can not be
        changed.

        :param properties: a value of None takes the property away
        :raises: NotFound, HostInUse, Contended, CloudUnavailable
        """
        host = transactions.retry(
            lambda _: self._describe(host_id, properties, now)
        )
        self.refresh_facts({host.facts.uuid: host}, now)
        return self.get(host_id)

    def _describe(
        self,
        host_id: int,
        properties: Mapping[str, str | None],
        now: datetime.datetime,
    ) -> objects.Host:
        with self.database.writer() as session:
            # First, so that no booking comes between the reads and the commit.
            rows.change(session, host_id, updated_at=now)
            host = hosts.get(session, host_id)
            wanted = resources.differing(
                host.properties, properties
            ) & self.types.compared(properties_db.holders(session, host_id))
            if wanted:
                raise exception.HostInUse(
                    host=host.facts.service_host,
                    reason='leases were planned with '
                    f'{", ".join(sorted(wanted))}',
                )
            properties_db.assign(session, host_id, properties, now)
            freed_capacity.freed(session, now, [host_id])
            return host

    def private_properties(self) -> set[str]:
        with self.database.reader() as session:
            return properties_db.private(session)

    def set_private(
        self, name: str, private: bool, now: datetime.datetime
    ) -> objects.Property:
        """:raises: NotFound"""
        with self.database.writer() as session:
            return properties_db.set_private(session, name, private, now)

    def refresh(self, now: datetime.datetime) -> int:
        """Read the facts of hosts that may have changed; return how many
        had.

        :raises: CloudUnavailable
        """
        with self.database.reader() as session:
            known = hosts.marks(session)
        versions = self.cloud.hosts.pool_generations(
            trees=any(mark.tree for mark in known.values())
        )
        changed = [
            mark.id
            for uuid, mark in known.items()
            if uuid in versions and _may_differ(versions[uuid], mark)
        ]
        lost_hosts.look(
            self.database,
            self.cloud,
            self.monitors,
            [mark.id for uuid, mark in known.items() if uuid not in versions],
            now,
        )
        return self.refresh_changed(self._at_rest(changed, now), now)

    def _at_rest(
        self, host_ids: Collection[int], now: datetime.datetime
    ) -> list[int]:
        """Return the hosts without those of leases at which workers are
        working: a worker records what it has changed itself when it is done,
        and what then differs is seen by the next refresh."""
        in_hand: set[int] = set()
        with self.database.reader() as session:
            for page in pages.of(host_ids, AT_ONCE):
                in_hand |= allocations.in_hand(session, page, now)
        return [each for each in host_ids if each not in in_hand]

    def refresh_changed(
        self, host_ids: Collection[int], now: datetime.datetime
    ) -> int:
        """Read the facts of these hosts, some at a time; return how many had
        changed.

        If a cell does not answer, the facts of the other cells' hosts are read
        nevertheless.
        """
        count = 0
        for page in pages.of(host_ids, AT_ONCE):
            with self.database.reader() as session:
                found = hosts.get_all(session, page)
            for cell, of_cell in self._by_cell(found).items():
                try:
                    count += self.refresh_facts(of_cell, now)
                except exception.CloudUnavailable as error:
                    LOG.warning(
                        'The facts of hosts of cell %(cell)s may be old: '
                        '%(reason)s',
                        {'cell': cell or 'unknown', 'reason': error},
                    )
        return count

    def _by_cell(
        self, found: Collection[objects.Host]
    ) -> Mapping[str, dict[str, objects.Host]]:
        """Return cell -> UUID of each of its hosts -> the host."""
        cells = self.cloud.hosts.cells_of(
            {host.resource.name for host in found}
        )
        by_cell: dict[str, dict[str, objects.Host]] = {}
        for host in found:
            cell = cells.get(host.resource.name, '')
            by_cell.setdefault(cell, {})[host.facts.uuid] = host
        return by_cell

    def refresh_facts(
        self, changed: Mapping[str, objects.Host], now: datetime.datetime
    ) -> int:
        """Read the facts of these hosts, by UUID; return how many had
        changed.

        :raises: CloudUnavailable
        """
        ids = [host.id for host in changed.values()]
        with self.database.reader() as session:
            held = allocations.held(session, ids)
        found = self.cloud.hosts.facts(
            [host.resource for host in changed.values()],
            # Servers on held hosts are a lease's, and will go with it.
            as_if_empty=[
                uuid for uuid, host in changed.items() if host.id in held
            ],
        )
        different = transactions.write(
            self.database, _set_generations, changed, found, held
        )
        for facts in different:
            host_id = changed[facts.uuid].id
            try:
                transactions.write(
                    self.database, _set_facts, host_id, facts, now
                )
            except exception.Contended:
                LOG.warning(
                    'Host %(old)s (host %(id)d) is %(name)s by now, and '
                    'another host has that name: remove one of them',
                    {
                        'old': changed[facts.uuid].facts.service_host,
                        'id': host_id,
                        'name': facts.service_host,
                    },
                )
                continue
            LOG.info(
                'The facts of host %(name)s have changed',
                {'name': facts.service_host},
            )
        return len(different)


def _set_facts(
    session: api.Session,
    host_id: int,
    facts: objects.HostFacts,
    now: datetime.datetime,
) -> None:
    hosts.set_facts(session, host_id, facts, now)
    freed_capacity.freed(session, now, [host_id])


def _set_generations(
    session: api.Session,
    known: Mapping[str, objects.Host],
    found: Collection[objects.HostFacts],
    were_held: Collection[int],
) -> list[objects.HostFacts]:
    """Record the generations of hosts of which nothing that matters has
    changed; return the facts of the others.

    :param were_held: ids of hosts whose facts were read as if empty
    """
    same, different = {}, []
    held = allocations.held(session, [host.id for host in known.values()])
    for facts in found:
        host = known[facts.uuid]
        if host.id in held:
            facts = _as_if_empty(facts)
        elif host.id in were_held:
            # The lease has just ended: the host is read again next time.
            continue
        if _matter(facts) == _matter(host.facts):
            same[host.id] = (facts.provider_generation, facts.tree)
        else:
            different.append(facts)
    hosts.set_provider_generations(session, same)
    return different


def _may_differ(version: ports.HostVersion, mark: hosts.Mark) -> bool:
    """Return whether a host's facts may have changed since they were read.

    :param mark: the host's versions at that time
    """
    return (
        version.provider_generation != mark.provider_generation
        or version.availability_zone not in (None, mark.availability_zone)
        or version.cell not in (None, mark.cell)
        or version.tree not in (None, mark.tree)
        or version.aggregates not in (None, mark.aggregates)
    )


def _matter(facts: objects.HostFacts) -> objects.HostFacts:
    return dataclasses.replace(facts, provider_generation=0, tree='')


def _as_if_empty(facts: objects.HostFacts) -> objects.HostFacts:
    # Decision 0006: doc/source/decisions/0006-free-means-outside-of-leases
    capacity = {
        inventory.resource_class: inventory.capacity
        for inventory in facts.inventories
    }
    return dataclasses.replace(
        facts,
        free_memory_mb=capacity.get('MEMORY_MB', facts.free_memory_mb),
        free_disk_gb=capacity.get('DISK_GB', facts.free_disk_gb),
    )
