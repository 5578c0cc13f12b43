# SPDX-License-Identifier: Apache-2.0
"""The pool and the aggregates of reservations, in Nova and in placement.

Nova's database and placement are both changed, for many hosts at once. Nova's
own AggregateAPI takes one host at a time, and casts each to all schedulers. So
hosts are written to Nova's tables in one transaction, which bypasses Nova's
objects: ``Aggregate`` reads all of its hosts before it adds one, so that the
cost of a lease would grow with the square of its hosts. Our aggregates have
no availability zone: Nova would refuse to add a host with servers.
"""

# Nova's objects get their names only when the process registers them.
from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import functools

from nova import context as nova_context
from nova import exception as nova_exception
from nova import objects as nova_objects
from nova.db.api import api as api_db
from nova.db.api import models
from nova.objects import aggregate as nova_aggregate
from nova.scheduler import rpcapi
from oslo_db import api as oslo_db_api
from oslo_db import exception as db_exc
from oslo_log import log
import sqlalchemy as sa

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.cloud import errors
from nova_reservations.cloud import parallel
from nova_reservations.cloud.placement import placement
from nova_reservations.ports import fences

LOG = log.getLogger(__name__)

POOL = 'freepool'
POOL_KEY = 'reservations:pool'
RESERVATION_KEY = 'reservations:reservation'
DATABASE_KEY = 'reservations:database'

_EXISTS = (nova_exception.AggregateNameExists, db_exc.DBDuplicateEntry)
"""Nova checks the name of an aggregate before it writes: two creations can
race."""


class Aggregates:
    # The pool

    @errors.translated()
    def ensure_pool(self) -> None:
        placement.ensure_trait()
        _pool()

    def mark(self, host: objects.Resource) -> None:
        if not placement.set_trait(host.uuid, present=True):
            raise exception.CloudRefused(
                what=f'Host {host.name}',
                reason=f'placement has no provider {host.uuid}',
            )

    def unmark(self, host: objects.Resource) -> None:
        placement.set_trait(host.uuid, present=False)

    @errors.translated()
    def join_pool(self, host: objects.Resource) -> None:
        pool = _pool()
        _add_hosts(pool.id, [host.name])
        if not placement.set_member(host.uuid, pool.uuid, present=True):
            raise exception.CloudRefused(
                what=f'Host {host.name}',
                reason=f'placement has no provider {host.uuid}',
            )
        self._tell_schedulers_of_pool(pool.uuid)

    @errors.translated()
    def leave_pool(self, host: objects.Resource) -> None:
        pool = _find_pool()
        if pool is None:
            return
        placement.set_member(host.uuid, pool.uuid, present=False)
        _remove_hosts(pool.id, [host.name])
        self._tell_schedulers_of_pool(pool.uuid)

    @errors.translated()
    def find_pool(self) -> ports.Pool | None:
        found = _find_pool()
        if found is None:
            return None
        whole = _whole(found.uuid)
        return ports.Pool(
            whole.uuid, frozenset(whole.hosts), whole.availability_zone
        )

    @errors.translated()
    def find_members(self, aggregate: str) -> ports.Members | None:
        for known in nova_objects.AggregateList.get_all(
            nova_context.get_admin_context()
        ):
            if aggregate in (known.name, known.uuid):
                return ports.Members(
                    frozenset(known.hosts), placement.generations(known.uuid)
                )
        return None

    def provider_aggregates(
        self, hosts: Collection[objects.Resource]
    ) -> Mapping[str, Collection[str]]:
        found = parallel.pairs(
            lambda host: placement.aggregates(host.uuid), hosts
        )
        return {host.name: aggregates for host, aggregates in found}

    # Reservations

    @errors.translated()
    def set_aggregate_hosts(
        self,
        reservation_id: str,
        project_id: str,
        hosts: Collection[objects.Resource],
        check: ports.Check,
        database: str,
    ) -> ports.GenerationChanges:
        aggregate = _ensure(reservation_id, project_id, database, check)
        wanted, present = {host.name for host in hosts}, {*aggregate.hosts}
        check()
        _remove_hosts(aggregate.id, present - wanted)
        _add_hosts(aggregate.id, wanted - present)
        changes = placement.set_members(
            reservation_id, [host.uuid for host in hosts], check
        )
        # As the database has it now: if two workers add hosts at the same
        # time, neither of them knows all hosts.
        self._cast('update_aggregates', aggregates=[_whole(reservation_id)])
        return changes

    @errors.translated()
    def has_aggregate_hosts(
        self, reservation_id: str, hosts: Collection[objects.Resource]
    ) -> bool:
        aggregate = _find(reservation_id)
        return aggregate is not None and set(aggregate.hosts) == {
            host.name for host in hosts
        }

    @errors.translated()
    def lacking(self, reservation_id: str, project_id: str) -> Sequence[str]:
        aggregate = _find(reservation_id)
        if aggregate is None:
            return ()
        wanted = _metadata(reservation_id, project_id)
        known = aggregate.metadata
        if wanted.items() <= known.items() and DATABASE_KEY in known:
            return ()
        return ('the metadata of its aggregate was changed',)

    @errors.translated()
    def remove_aggregate_hosts(
        self,
        reservation_id: str,
        hosts: Collection[objects.Resource],
        check: ports.Check,
    ) -> ports.GenerationChanges:
        changes = _remove_members(
            reservation_id, [host.uuid for host in hosts], check
        )
        aggregate = _find(reservation_id)
        if aggregate is None:
            return changes
        leaving = {host.name for host in hosts}.intersection(aggregate.hosts)
        if leaving:
            check()
            _remove_hosts(aggregate.id, leaving)
            aggregate.hosts = sorted(set(aggregate.hosts) - leaving)
            self._cast('update_aggregates', aggregates=[aggregate])
        return changes

    @errors.translated()
    def delete_aggregate(
        self, reservation_id: str, check: ports.Check
    ) -> ports.GenerationChanges | None:
        # Placement first: after a crash Nova's aggregate is still there, and
        # the rest is found by it.
        changes = placement.set_members(reservation_id, [], check)
        aggregate = _find(reservation_id)
        if aggregate is None:
            return changes or None
        check()
        _remove_hosts(aggregate.id, aggregate.hosts)
        try:
            aggregate.destroy()
        except nova_exception.AggregateNotFound:
            return changes
        self._cast('delete_aggregate', aggregate=aggregate)
        return changes

    @errors.translated()
    def lease_aggregates(self) -> Mapping[str, Collection[str]]:
        return {
            aggregate.uuid: frozenset(aggregate.hosts)
            for aggregate in nova_objects.AggregateList.get_by_metadata_key(
                nova_context.get_admin_context(), RESERVATION_KEY
            )
            # Leave out aggregates of others that were given our metadata key.
            if aggregate.name == aggregate.uuid
        }

    @errors.translated()
    def origins(self) -> Mapping[str, str | None]:
        # First, because leases may start meanwhile: an aggregate gets both
        # keys in one transaction.
        found = self.lease_aggregates()
        # An aggregate that is found by a metadata key has only this key in
        # its metadata.
        names: dict[str, str] = {
            aggregate.uuid: aggregate.metadata[DATABASE_KEY]
            for aggregate in nova_objects.AggregateList.get_by_metadata_key(
                nova_context.get_admin_context(), DATABASE_KEY
            )
        }
        return {uuid: names.get(uuid) for uuid in found}

    @errors.translated()
    def sign(self, reservation_id: str, database: str) -> None:
        aggregate = _find(reservation_id)
        if aggregate is not None:
            fences.current()()
            _set_metadata(aggregate, {DATABASE_KEY: database})

    def _tell_schedulers_of_pool(self, uuid: str) -> None:
        """Cast the pool only if it has metadata of others.

        Nova's filters and weighers use nothing but the metadata of a host's
        aggregates, and the message has all enrolled hosts. If somebody adds
        metadata later, Nova's API casts the aggregate itself.
        """
        pool = _whole(uuid)
        if pool.metadata.keys() - {POOL_KEY}:
            self._cast('update_aggregates', aggregates=[pool])

    def _cast(self, method: str, **arguments: object) -> None:
        """Send a message to all schedulers, which cache aggregates for Nova's
        filters.

        Our own code does not use these caches, so no lease waits for the
        message bus: by default a cast would, for ever.
        """
        client = self._schedulers.client.prepare(
            fanout=True, version='4.1', retry=0
        )
        context = nova_context.get_admin_context()
        try:
            with errors.translated():
                client.cast(context, method, **arguments)
        except exception.CloudUnavailable as error:
            LOG.warning('Schedulers are not told of aggregates: %s', error)

    @functools.cached_property
    def _schedulers(self) -> rpcapi.SchedulerAPI:
        return rpcapi.SchedulerAPI()


def _find_pool() -> nova_objects.Aggregate | None:
    for aggregate in nova_objects.AggregateList.get_by_metadata_key(
        nova_context.get_admin_context(), POOL_KEY
    ):
        return aggregate
    return None


def _whole(uuid: str) -> nova_objects.Aggregate:
    """Return the aggregate with all of its metadata: one that was found by a
    metadata key has only this key."""
    return nova_objects.Aggregate.get_by_uuid(
        nova_context.get_admin_context(), uuid
    )


def _pool() -> nova_objects.Aggregate:
    """Return the pool's aggregate; create it, or adopt one with its name."""
    pool = _find_pool()
    if pool is not None:
        return pool
    pool = nova_objects.Aggregate(
        nova_context.get_admin_context(),
        name=POOL,
        metadata={POOL_KEY: 'true'},
    )
    try:
        pool.create()
    except _EXISTS:
        everything = nova_objects.AggregateList.get_all(
            nova_context.get_admin_context()
        )
    else:
        return pool
    for aggregate in everything:
        if aggregate.name == POOL and not aggregate.availability_zone:
            _set_metadata(aggregate, {POOL_KEY: 'true'})
            return aggregate
    raise exception.CloudRefused(
        what=f'Aggregate {POOL}',
        reason='there is one by this name that has an availability zone, '
        'which hosts would get by joining it: rename it, or remove that',
    )


def _metadata(reservation_id: str, project_id: str) -> dict[str, str]:
    return {
        RESERVATION_KEY: reservation_id,
        'reservations:owner': project_id,
        'blazar:owner': project_id,
    }


def _ensure(
    reservation_id: str, project_id: str, database: str, check: ports.Check
) -> nova_objects.Aggregate:
    metadata = {
        **_metadata(reservation_id, project_id),
        DATABASE_KEY: database,
    }
    aggregate = _find(reservation_id)
    check()
    if aggregate is None:
        try:
            # Without Nova's notifications, which would hold up the start of a
            # lease while the message bus is down.
            # Decision 0005: doc/source/decisions/0005-uuid-of-the-aggregate
            nova_aggregate._aggregate_create_in_db(
                nova_context.get_admin_context(),
                {'name': reservation_id, 'uuid': reservation_id},
                metadata=metadata,
            )
            return _whole(reservation_id)
        except _EXISTS as error:
            # Another worker has created it, or somebody else uses the name.
            aggregate = _find(reservation_id)
            if aggregate is None:
                raise exception.CloudRefused(
                    what=f'Aggregate {reservation_id}',
                    reason='another one has this name, or this id',
                ) from error
    lost = dict(metadata.items() - aggregate.metadata.items())
    if lost:
        _set_metadata(aggregate, lost)
    return aggregate


def _set_metadata(
    aggregate: nova_objects.Aggregate, values: Mapping[str, str]
) -> None:
    """Add to an aggregate's metadata, without notifications, too."""
    nova_aggregate._metadata_add_to_db(
        nova_context.get_admin_context(), aggregate.id, dict(values)
    )


def _find(uuid: str) -> nova_objects.Aggregate | None:
    try:
        return _whole(uuid)
    except nova_exception.AggregateNotFound:
        return None


@oslo_db_api.wrap_db_retry(
    max_retries=5,
    retry_interval=0,
    retry_on_deadlock=True,
    # Another worker has added one of the hosts at the same moment.
    exception_checker=lambda error: isinstance(error, db_exc.DBDuplicateEntry),
)
def _add_hosts(aggregate_id: int, hosts: Collection[str]) -> None:
    """Add the hosts that are not in the aggregate yet.

    :raises: HostRefused if some of them are mapped to no cell
    """
    member, mapping = models.AggregateHost, models.HostMapping
    context = nova_context.get_admin_context()
    with api_db.context_manager.writer.using(context):
        session = context.session
        # Compared in Python: some databases ignore the case of names.
        known = session.scalars(
            sa.select(mapping.host).where(mapping.host.in_(hosts))
        )
        unknown = set(hosts).difference(known)
        if unknown:
            raise exception.HostRefused(
                unknown, 'Nova has no such compute host'
            )
        present = session.scalars(
            sa.select(member.host).where(
                member.aggregate_id == aggregate_id, member.host.in_(hosts)
            )
        )
        missing = sorted(set(hosts).difference(present))
        if missing:
            session.execute(
                sa.insert(member),
                [
                    {'aggregate_id': aggregate_id, 'host': host}
                    for host in missing
                ],
            )


def _remove_members(
    aggregate: str, providers: Collection[str], check: ports.Check
) -> ports.GenerationChanges:
    """Take these providers out of the aggregate in placement; return how that
    has changed their generations."""
    check = parallel.checked_together(check)
    leaving = sorted(placement.generations(aggregate).keys() & set(providers))
    changes = parallel.pairs(
        lambda each: placement.leave_aggregate(each, aggregate, check),
        leaving,
    )
    return {
        provider: change
        for provider, change in changes
        if change is not None and change.before != change.after
    }


@oslo_db_api.wrap_db_retry(
    max_retries=5, retry_interval=0, retry_on_deadlock=True
)
def _remove_hosts(aggregate_id: int, hosts: Collection[str]) -> None:
    """Remove those of the hosts that are in the aggregate."""
    member = models.AggregateHost
    context = nova_context.get_admin_context()
    with api_db.context_manager.writer.using(context):
        context.session.execute(
            sa.delete(member)
            .where(member.aggregate_id == aggregate_id, member.host.in_(hosts))
            .execution_options(synchronize_session=False)
        )
