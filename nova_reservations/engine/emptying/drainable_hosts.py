# SPDX-License-Identifier: Apache-2.0
"""Drainable hosts: the hosts of an aggregate of the operator. They are given
back when no lease needs them any more."""

import dataclasses
import datetime

from oslo_log import log

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.db import api
from nova_reservations.db import tasks
from nova_reservations.db.holdings import withdrawals
from nova_reservations.db.resources import drainable_hosts
from nova_reservations.db.resources import hosts
from nova_reservations.engine import settings
from nova_reservations.engine import transactions
from nova_reservations.engine.pool import hosts as inventory_engine
from nova_reservations.objects import states

LOG = log.getLogger(__name__)

SOON = datetime.timedelta(seconds=1)
"""The time between two looks at hosts that servers are still leaving."""


def key(lease_id: str, host: objects.Resource) -> ports.RequestKey:
    """Return the key under which servers are moved off a host for a lease.

    The key needs the host, too: a server that was moved for a lease may have
    to be moved for it once more, off the host that it was moved to.
    """
    return ports.RequestKey(f'{lease_id} {host.uuid}')


@dataclasses.dataclass(eq=False)
class DrainableHosts:
    database: api.Database
    cloud: ports.Cloud
    inventory: inventory_engine.Hosts
    options: settings.Settings

    def can_be_emptied(self) -> bool:
        """Return whether this Nova is configured to empty hosts at all."""
        return (
            self.options.best_effort_aggregate is not None
            and self.cloud.servers.acts_for_projects()
        )

    def follow(self, now: datetime.datetime) -> None:
        """Make the hosts of the aggregate drainable, except those of the pool.

        :raises: CloudUnavailable
        """
        self._follow(self._members(), now)

    def refresh(self, now: datetime.datetime) -> None:
        """Follow the aggregate, and read the facts that may have changed.

        :raises: CloudUnavailable
        """
        members = self._members()
        self._follow(members, now)
        with self.database.reader() as session:
            changed = [
                drainable.resource.id
                for drainable in drainable_hosts.find(session)
                if drainable.provider_generation
                != members.generations.get(drainable.resource.uuid)
            ]
        self.inventory.refresh_changed(changed, now)

    def _follow(self, members: ports.Members, now: datetime.datetime) -> None:
        with self.database.reader() as session:
            known = drainable_hosts.find(session)
            new = members.hosts - {
                drainable.resource.name for drainable in known
            }
            if new:
                new -= hosts.pool(session)
        unmirrored = [
            drainable.resource
            for drainable in known
            if drainable.resource.uuid not in members.generations
        ]
        # Another machine may have the name: it is learnt at the next look.
        gone = (
            self.cloud.hosts.without_provider(unmirrored) if unmirrored else ()
        )
        for drainable in known:
            if drainable.fenced_for is None and (
                drainable.resource.name not in members.hosts
                or drainable.resource.name in gone
            ):
                self._forget(drainable)
        for name in sorted(new):
            self._learn(name, now)

    def _members(self) -> ports.Members:
        name = self.options.best_effort_aggregate
        members = self.cloud.aggregates.find_members(name) if name else None
        if name and members is None:
            LOG.warning(
                'There is no aggregate %s, which [reservations] '
                'best_effort_aggregate names',
                name,
            )
        return members or ports.Members(frozenset(), {})

    def _learn(self, name: str, now: datetime.datetime) -> None:
        found = [
            host
            for host in self.cloud.hosts.find_hosts(name)
            if host.name == name
        ]
        if len(found) != 1:
            # A service host with several nodes (Ironic), or with none yet.
            return
        for facts in self.cloud.hosts.facts(found):
            try:
                with self.database.writer() as session:
                    hosts.insert(
                        session, facts, {}, now, states.Role.DRAINABLE
                    )
            except exception.Conflict:
                # Another worker was first, or an operator enrols it.
                continue
            LOG.info('Host %s can be emptied for leases', name)

    def _forget(self, drainable: drainable_hosts.DrainableHost) -> None:
        try:
            with self.database.writer() as session:
                withdrawals.remove_drainable_host(session, drainable)
        except (exception.Conflict, exception.HostInUse) as error:
            LOG.debug(
                'Host %s stays known: %s', drainable.resource.name, error
            )
            return
        LOG.info(
            'Host %s is no longer emptied for leases', drainable.resource.name
        )

    def mend(self) -> None:
        """Set the trait of the pool on those drainable hosts that are fenced,
        and remove it from the others.

        A worker that was suspended, and resumes after another worker has
        finished, may set or remove the trait wrongly. A host that a
        reservation has in Nova stays closed: the database may have been
        restored, and lack its lease.

        :raises: CloudUnavailable
        """
        with self.database.reader() as session:
            known = drainable_hosts.find(session)
        if not known:
            return
        marked = self.cloud.hosts.pool_generations()
        wrong = [
            drainable
            for drainable in known
            if (drainable.resource.uuid in marked)
            != bool(drainable.fenced_for)
        ]
        if not wrong:
            return
        in_use = set().union(
            *self.cloud.aggregates.lease_aggregates().values()
        )
        for drainable in wrong:
            if not drainable.fenced_for and drainable.resource.name in in_use:
                continue
            self._mark(drainable.resource, bool(drainable.fenced_for))
            # A lease may have fenced or left the host in the meantime.
            with self.database.reader() as session:
                host = hosts.by_uuid(session, drainable.resource.uuid)
            if host is not None and host.fenced_for != drainable.fenced_for:
                self._mark(drainable.resource, bool(host.fenced_for))

    def _mark(self, host: objects.Resource, fenced: bool) -> None:
        LOG.warning(
            'Host %(name)s is %(fenced)s, and its provider is marked so',
            {
                'name': host.name,
                'fenced': 'fenced' if fenced else 'not fenced any more',
            },
        )
        if fenced:
            self.cloud.aggregates.mark(host)
        else:
            self.cloud.aggregates.unmark(host)

    def give_back(self, now: datetime.datetime) -> None:
        """Open drainable hosts that no lease needs to everybody, as soon as
        the moves of their servers are over."""
        with self.database.reader() as session:
            unneeded = drainable_hosts.unneeded(session)
        left = False
        for drainable in unneeded:
            try:
                left |= not self._give_back(drainable, now)
            except exception.ClaimLost:
                LOG.debug('Host %s is given back', drainable.resource.name)
            except (
                exception.CloudUnavailable,
                exception.CloudRefused,
            ) as error:
                left = True
                LOG.warning(
                    'Host %(name)s is not given back yet: %(reason)s',
                    {'name': drainable.resource.name, 'reason': error},
                )
        if left:
            with self.database.writer() as session:
                tasks.hurry(session, drainable_hosts.TASK, now + SOON)

    def _give_back(
        self, drainable: drainable_hosts.DrainableHost, now: datetime.datetime
    ) -> bool:
        """Return False if the host must be looked at again."""
        host = drainable.resource
        assert drainable.fenced_for is not None
        lease_id = drainable.fenced_for

        def check() -> None:
            with self.database.reader() as session:
                for current in drainable_hosts.unneeded(session, host.id):
                    if current.fenced_for == lease_id:
                        return
            raise exception.ClaimLost(id=lease_id, worker='this worker')

        occupancy = self.cloud.servers.occupancy([host])[host.name]
        waiting = self.cloud.servers.settle_servers(
            occupancy.servers,
            ports.Order(key(lease_id, host), check, now),
        )
        if waiting:
            return False
        check()
        self.cloud.aggregates.unmark(host)
        transactions.write(
            self.database, drainable_hosts.unfence, host.id, lease_id, now
        )
        LOG.info(
            'Host %(name)s is given back by lease %(lease)s',
            {'name': host.name, 'lease': lease_id},
        )
        return True
