# SPDX-License-Identifier: Apache-2.0
"""Audit of pools and volumes: finds what was changed in Cinder without us.

If no pool can be leased, Cinder is not asked.
"""

from collections import defaultdict
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
import functools

from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.db.resources import resources
from nova_reservations.db.upkeep import audit
from nova_reservations.db.upkeep import records
from nova_reservations.objects import pool as pools
from nova_reservations.types.audited import Finding

Pools = Mapping[str, objects.Inventoried]
"""Name -> pool that can be leased."""

Found = Mapping[str, ports.VolumePool]
"""Name -> pool that Cinder has."""

Types = Collection[ports.VolumeType]


class VolumeAudit:
    def __init__(self, volumes: ports.Volumes, known: records.Records) -> None:
        self.volumes = volumes
        self.known = known

    def findings(self) -> Iterator[Finding]:
        """:raises: CloudUnavailable"""
        known = {each.name: each for each in self.known.leasable(pools.VOLUME)}
        if not known:
            return
        types = self.volumes.find_types()
        found = self.volumes.find_pools()
        yield from self._of_pools(known, found)
        yield from self._of_types(known, found, types)
        yield from self._of_leases(known, types)
        yield from self._of_leftovers(types)

    def _of_pools(self, known: Pools, found: Found) -> Iterator[Finding]:
        for name, pool in sorted(known.items()):
            promised = pool.inventories.get(pools.SIZE, 0)
            if name not in found or not found[name].up:
                yield Finding(
                    f'Pool {name} is not in Cinder, or its backend or '
                    'cinder-volume is down or disabled: bring it back, or '
                    'remove the pool'
                )
                continue
            total = found[name].total_gb
            if total is not None and total < promised:
                yield Finding(
                    f'Pool {name} has {total} GiB in Cinder, and leases may '
                    f'have {promised}: set its inventory of {pools.SIZE} to '
                    'what it has'
                )
            for each in self.volumes.find_strangers(name):
                yield Finding(
                    f'Volume {each.id}, which is of no lease, is in pool '
                    f'{name}: move it elsewhere'
                )

    def _of_types(
        self, known: Pools, found: Found, types: Types
    ) -> Iterator[Finding]:
        """Yield findings of volume types that lead to pools to which they
        should not lead, or do not lead to their own pool."""
        for each in types:
            for name in sorted(known.keys() & found):
                leads = each.may_lead_to(found[name])
                should = each.pool_uuid == known[name].resource.uuid
                if leads and not should:
                    yield Finding(
                        f'Volume type {each.name} leads to pool {name}, which '
                        'is for leases: give it extra specs that lead '
                        'elsewhere, or remove the pool'
                    )
                elif should and not leads:
                    yield Finding(
                        f'Volume type {each.name} does not lead to pool '
                        f'{name}: give it back its extra specs'
                    )

    def _of_leases(self, known: Pools, types: Types) -> Iterator[Finding]:
        """Yield findings of what active leases should have and lack."""
        there = {(each.reservation_id, each.pool_uuid): each for each in types}
        find_volumes = functools.cache(self.volumes.find_volumes)
        leased = self.known.leased(pools.VOLUME)
        promised = {
            name: _promised(shares)
            for name, shares in self.known.shares(known.values()).items()
        }
        for each in leased:
            if each.name not in known or not each.works:
                # The pool was added after the first look; or it is down, and
                # nothing can be made there before it is back.
                continue
            pool = known[each.name].resource
            promise = _promise(each, pool, promised[each.name])
            if promise is None:
                continue
            made = there.get((promise.reservation_id, promise.pool.uuid))
            volumes = find_volumes(promise.project_id)
            for problem in self._problems(promise, made, volumes):
                yield Finding(
                    f'Reservation {promise.reservation_id}: {problem}',
                    self.known.made_again(each.lease_id),
                )

    def _problems(
        self,
        wanted: ports.PoolPromise,
        made: ports.VolumeType | None,
        volumes: Collection[ports.Volume],
    ) -> Iterator[str]:
        """:param volumes: all volumes of the project, in any pools"""
        if made is None:
            yield f'it has no volume type in pool {wanted.pool.name}'
        elif made.is_public:
            yield (
                f'volume type {made.name} is public, so that anybody can have '
                'volumes in a pool of leases'
            )
        elif wanted.project_id not in self.volumes.find_access(made):
            yield (
                f'project {wanted.project_id} has no access to volume type '
                f'{made.name}'
            )
        there = [
            volume
            for volume in volumes
            if volume.is_of(wanted.reservation_id, wanted.pool)
        ]
        missing = wanted.missing(there)
        if missing:
            yield (
                f'{missing} of its {wanted.quota.volumes} volumes in pool '
                f'{wanted.pool.name} are not there'
            )

    def _of_leftovers(self, types: Types) -> Iterator[Finding]:
        """Yield findings of volume types of leases that are over. Those of
        another database are left out: only its operators know about them."""
        ids = {each.reservation_id for each in types if each.reservation_id}
        recorded = self.known.recorded(ids)
        left = [
            each
            for each in types
            if each.reservation_id is not None
            and not recorded.get(
                each.reservation_id, each.database != self.known.ours
            )
        ]
        groups = self.volumes.find_groups() if left else ()
        for each in left:
            keeping = [
                f'; first delete group {group.id} of project '
                f'{group.project_id or "unknown"}'
                for group in groups
                if each.id in group.type_ids
            ]
            yield Finding(
                f'Volume type {each.name} is of no lease any more'
                + ''.join(keeping),
                functools.partial(self._delete, each),
            )

    def _delete(self, volume_type: ports.VolumeType) -> None:
        self.volumes.delete_type(volume_type, check=lambda: None)


def _promised(
    shares: Collection[resources.Share],
) -> dict[str, tuple[int, int]]:
    """Return reservation id -> how many volumes it has in a pool, and the GiB
    of each.

    :param shares: of the pool
    """
    amounts: dict[str, dict[str, int]] = defaultdict(dict)
    for each in shares:
        amounts[each.reservation_id][each.resource_class] = each.amount
    return {
        key: (
            (count := its[objects.slot_class(key)]),
            its[pools.SIZE] // count,
        )
        for key, its in amounts.items()
    }


def _promise(
    leased: audit.Leased,
    pool: objects.Resource,
    shares: Mapping[str, tuple[int, int]],
) -> ports.PoolPromise | None:
    """Return what a reservation has of a pool; None: the reservation was added
    or removed during the audit."""
    who = leased.reservation_id, leased.project_id
    if leased.exclusive:
        return ports.ReservedPool(*who, pool, '')
    if leased.reservation_id not in shares:
        return None
    return ports.ReservedVolumes(
        *who, pool, *shares[leased.reservation_id], ''
    )
