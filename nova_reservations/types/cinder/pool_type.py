# SPDX-License-Identifier: Apache-2.0
"""The common part of all types that lease storage pools of Cinder."""

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from oslo_log import log

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.db.upkeep import records
from nova_reservations.objects import pool as pools
from nova_reservations.objects import requirements
from nova_reservations.objects import states
from nova_reservations.types import audited
from nova_reservations.types import base
from nova_reservations.types import checked
from nova_reservations.types import schemas
from nova_reservations.types.cinder import volume_audit
from nova_reservations.types.cinder import volume_ends
from nova_reservations.types.cinder import volume_groups

LOG = log.getLogger(__name__)

MOST = 100

PROPERTIES: Mapping[str, Any] = {
    'amount': schemas.whole_number(MOST, digits=7),
    'volume_type': {
        'type': ['string', 'null'],
        'maxLength': 255,
        'description': 'what the pools must have as volume_type; null: any',
    },
    'end_action': {'enum': list(volume_ends.NAMES)},
}
"""The part of a reservation's schema that ``common()`` reads."""

Types = Sequence[tuple[ports.VolumeType, objects.Resource]]
"""Volume types of a reservation, each with its pool."""

_CHANGEABLE = frozenset({'amount', 'end_action'})
"""Params that may change while a reservation is active."""


class Pools(audited.Audited, checked.Checked):
    """Pools in which nobody has volumes without a lease.

    No volume type but ours leads to such a pool. Each reservation has a
    private volume type for each of its pools. At the start the project gets
    access to the volume type; at the end its volumes leave the pool.

    Decision 0054: doc/source/decisions/0054-volumes
    """

    resource_type = pools.VOLUME
    check_name = 'Volumes'
    nouns = 'storage pool', 'storage pools'

    def look_up_all(
        self, asked: Sequence[Mapping[str, Any]], project_id: str
    ) -> Sequence[Mapping[str, Any]]:
        """Check, once for all reservations of the request, that volumes can
        be created in the project and that the end actions are possible.

        :raises: InvalidInput, CloudUnavailable
        """
        if not self.cloud.volumes.acts_for(project_id):
            raise exception.InvalidInput(
                'Volumes can not be made in this project: [service_user] of '
                'Nova has no role in it; ask the operator'
            )
        for action in {each.get('end_action') for each in asked}:
            volume_ends.check(action, self.cloud, self.conf)
        return asked

    def setup_failures(self) -> Iterator[str]:
        """Yield why volumes can't be created, or kept at the end."""
        try:
            self.cloud.volumes.acts_everywhere()
            known = {each.name for each in self.cloud.volumes.find_types()}
        except exception.CloudUnavailable as error:
            yield str(error)
            return
        kept = self.conf.reservations.kept_volume_type
        if kept and kept not in known:
            yield (
                f'Cinder has no volume type {kept}, which [reservations] '
                'kept_volume_type names.'
            )

    def setup_warnings(self) -> Iterator[str]:
        """Yield a warning if volumes can't be created in most projects."""
        if not self.cloud.volumes.acts_everywhere():
            yield (
                'The user in [service_user] has no role that projects '
                'inherit, so that volumes can be leased in no project but '
                'those in which it has one: openstack role add --inherited '
                '--domain DOMAIN --user USER member'
            )

    def audit(self, known: records.Records) -> Iterator[audited.Finding]:
        return volume_audit.VolumeAudit(self.cloud.volumes, known).findings()

    def check_active_change(
        self, reservation: objects.Reservation, params: Mapping[str, Any]
    ) -> None:
        before = reservation.params
        if params['amount'] < before['amount']:
            raise base.refused_change(
                reservation, 'it can not give anything back before its end'
            )
        changed = {name for name in params if params[name] != before[name]}
        if not changed <= _CHANGEABLE:
            raise base.refused_change(
                reservation,
                'it has what it asked for: only amount can be raised, and '
                'end_action changed',
            )

    def inspect(
        self, name: str, inventories: Mapping[str, int]
    ) -> Mapping[str, int]:
        """Check that a pool exists, that no volume type of others leads to
        it, and that it has no volumes.

        :raises: InvalidInput, CloudUnavailable
        """
        found = self.cloud.volumes.find_pools()
        pool = _named(name, found)
        twins = [
            each.name
            for each in found.values()
            if each.key == pool.key and each.name != name
        ]
        if twins:
            raise exception.InvalidInput(
                f'Pool {name} has the same volume_backend_name and pool_name '
                f'as {", ".join(sorted(twins))}, so that no volume type leads '
                'to it alone: change volume_backend_name in cinder.conf'
            )
        for each in self.cloud.volumes.find_types():
            if each.reservation_id is None and each.may_lead_to(pool):
                raise exception.InvalidInput(
                    f'Volume type {each.name} leads to pool {name}, so that '
                    'others can have volumes there: give it extra specs, '
                    'such as volume_backend_name, that lead elsewhere'
                )
        if pool.used_gb:
            raise exception.InvalidInput(
                f'Pool {name} has volumes of {pool.used_gb} GiB: move them to '
                'another one'
            )
        return {pools.SIZE: _size(pool, inventories)}

    def check_larger(self, name: str, inventories: Mapping[str, int]) -> None:
        _size(_named(name, self.cloud.volumes.find_pools()), inventories)

    def end(self, booking: base.Booking) -> base.Waiting | None:
        """Have the volumes leave their pools by the end action, and then
        delete the volume types; volumes that are attached to a server are
        waited for.

        Volumes that were created for a failed start are deleted.
        """
        action = booking.reservation.params['end_action']
        if booking.reservation.status != states.Reservation.ACTIVE:
            action = volume_ends.DELETE
        types = self.find_types(booking.reservation, booking.resources)
        was_open = self._close(types, booking)
        volumes = self.find_volumes(booking)
        coming = list(_coming(volumes))
        if was_open or not booking.settled:
            coming.append(
                objects.Reason.plain(
                    'Waiting for volumes that are on their way'
                )
            )
        waits = {
            pool: [
                volume_ends.leave(
                    volume, action, booking, self.cloud, self.conf
                )
                for volume in its(booking, volumes, pool)
            ]
            or coming
            or list(_left_behind(volumes, pool))
            or self._release(volume_type, booking)
            for volume_type, pool in types
        }
        booking.vacated.extend(
            pool for pool in booking.resources if not waits.get(pool)
        )
        reasons = [why for of_pool in waits.values() for why in of_pool]
        return base.Waiting.on(reasons) if reasons else None

    def heal(self, booking: base.Booking) -> None:
        """Let no more volumes be created in failed pools, and delete the
        reservation's volume types there when they have no volumes; then other
        reservations may have these pools. If a pool recovers before that,
        update() gives the project access again."""
        self.update(booking)
        types = self.find_types(booking.reservation, booking.left)
        if self._close(types, booking):
            # A request that Cinder has let in before may still make a volume.
            # The next look sees that volume.
            return
        for volume_type, _ in self._unused(types, booking):
            self.cloud.volumes.delete_type(volume_type, booking.check)

    def remains(self, booking: base.Booking) -> base.Remains:
        """Return as vacated the pools where no volume has a volume type of
        the reservation any more.

        Volumes in a failed pool are left as they are, because only their owner
        knows whether they are still of use. They are handled at the end.
        """
        if not booking.prepared:
            # A worker may still be creating a volume type there.
            return base.Remains(())
        types = self.find_types(booking.reservation, booking.left)
        there = {pool for _, pool in types}
        unused = self._unused(types, booking)
        groups = self.cloud.volumes.find_groups() if unused else ()
        # Cinder keeps a volume type that a group names. That does not keep
        # others from having the pool.
        kept = {key for group in groups for key in group.type_ids}
        return base.Remains(
            (
                *(pool for pool in booking.left if pool not in there),
                *(pool for each, pool in unused if each.id in kept),
            ),
            movable=any(each.id not in kept for each, _ in unused),
        )

    def usage(
        self,
        lease: objects.Lease,
        reservation: objects.Reservation,
        resources: Collection[objects.Resource],
        servers: Collection[str],
    ) -> Mapping[str, Any]:
        return {
            'volumes': sorted(
                volume.id
                for volume in self.cloud.volumes.find_volumes(lease.project_id)
                if volume.is_of(reservation.id, *resources)
            )
        }

    def _close(self, types: Types, booking: base.Booking) -> bool:
        """Remove all access to these volume types; return whether anybody had
        access until now."""
        was_open = False
        for volume_type, _ in types:
            projects = set(self.cloud.volumes.find_access(volume_type))
            if volume_type.is_public:
                projects.add(booking.lease.project_id)
            for project_id in projects:
                was_open = True
                self.cloud.volumes.close_type(
                    volume_type, project_id, booking.check
                )
        return was_open

    def _unused(self, types: Types, booking: base.Booking) -> Types:
        """Return the types that no volume has, or can get any more."""
        volumes = self.find_volumes(booking) if types else []
        if any(_coming(volumes)):
            return []
        unused = []
        for volume_type, pool in types:
            if its(booking, volumes, pool) or any(_left_behind(volumes, pool)):
                continue
            others = self.cloud.volumes.find_volumes_of(volume_type)
            if not others:
                unused.append((volume_type, pool))
                continue
            LOG.warning(
                'Reservation %(id)s can not leave pool %(pool)s: %(others)s',
                {
                    'id': booking.reservation.id,
                    'pool': pool.name,
                    'others': '; '.join(
                        _of_another(volume, volume_type) for volume in others
                    ),
                },
            )
        return unused

    def _release(
        self, volume_type: ports.VolumeType, booking: base.Booking
    ) -> list[objects.Reason]:
        """Delete a volume type of which its project has no volumes, and can
        get none; return why others can not have its pool.

        The type stays if it is named by a group that can not be deleted.
        """
        volumes = self.cloud.volumes
        if volumes.delete_type(volume_type, booking.check):
            return []
        others = volumes.find_volumes_of(volume_type)
        if others:
            return [
                objects.Reason(
                    'Another project has a volume of its volume type: an '
                    'administrator has to look at it',
                    _of_another(volume, volume_type),
                )
                for volume in others
            ]
        waits = volume_groups.remove(volume_type, booking, self.cloud)
        if not waits:
            volumes.delete_type(volume_type, booking.check)
        return waits

    def find_types(
        self,
        reservation: objects.Reservation,
        resources: Collection[objects.Resource],
    ) -> Types:
        """Return the volume types that a reservation has for these pools."""
        its = {pool.uuid: pool for pool in resources}
        return [
            (each, its[each.pool_uuid])
            for each in self.cloud.volumes.find_types()
            if each.reservation_id == reservation.id and each.pool_uuid in its
        ]

    def find_volumes(self, booking: base.Booking) -> list[ports.Volume]:
        """Return the volumes of the project, in all pools."""
        return self.cloud.volumes.find_volumes(booking.lease.project_id)


def _coming(
    volumes: Iterable[ports.Volume],
) -> Iterator[objects.Reason]:
    """Yield reasons why a project without access to a volume type may still
    get a volume of it: Cinder checks access when it accepts a retype, not when
    it carries it out."""
    for volume in volumes:
        if volume.may_get_any_type:
            yield objects.Reason.plain(
                f'Volume {volume.name} is being given another volume type, '
                'which may be the one of the lease'
            )


def _left_behind(
    volumes: Iterable[ports.Volume], pool: objects.Resource
) -> Iterator[objects.Reason]:
    """Yield reasons for the sources of migrations that Cinder still deletes
    in a pool.

    After a migration Cinder has the old copy as a volume of its own, with the
    new volume type. So it does not count as one of the reservation's volumes,
    and wiping it may take long.
    """
    for volume in volumes:
        if (
            volume.status == 'deleting'
            and volume.pool == pool.name
            and volume.reservation_id is None
        ):
            yield objects.Reason.plain(
                f'What volume {volume.name} has left in the pool of leases '
                'is being deleted'
            )


def _of_another(volume: ports.Volume, volume_type: ports.VolumeType) -> str:
    """Return the text for administrators about a volume of another project."""
    return (
        f'volume {volume.id} of project {volume.project_id} has volume type '
        f'{volume_type.name}: delete it, or give it another one'
    )


def its(
    booking: base.Booking,
    volumes: Iterable[ports.Volume],
    *pools: objects.Resource,
) -> list[ports.Volume]:
    """Return the volumes of the reservation in the given pools."""
    return [
        volume
        for volume in volumes
        if volume.is_of(booking.reservation.id, *pools)
    ]


def common(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the params that both types have.

    :raises: InvalidInput
    """
    amount = int(asked.get('amount', 1))
    if not 1 <= amount <= MOST:
        raise exception.InvalidInput(f'amount must be between 1 and {MOST}')
    return {
        'amount': amount,
        'volume_type': asked.get('volume_type'),
        'end_action': asked.get('end_action') or volume_ends.DELETE,
    }


def leading(volume_type: str | None) -> requirements.Comparison | None:
    """Return the requirement on pools for a request that names a volume type;
    none if the name is missing or empty."""
    if not volume_type:
        return None
    return requirements.Comparison('==', pools.VOLUME_TYPE, volume_type)


def _named(
    name: str, found: Mapping[str, ports.VolumePool]
) -> ports.VolumePool:
    """:raises: InvalidInput"""
    if name not in found:
        raise exception.InvalidInput(
            f'Cinder has no pool {name} that is up; there are: '
            f'{", ".join(sorted(found)) or "none"}'
        )
    return found[name]


def _size(pool: ports.VolumePool, inventories: Mapping[str, int]) -> int:
    """Return how many GiB of a pool can be leased.

    :raises: InvalidInput
    """
    if inventories.keys() - {pools.SIZE}:
        raise exception.InvalidInput(
            f'A pool has an inventory of {pools.SIZE}, and no other'
        )
    given = inventories.get(pools.SIZE, pool.total_gb)
    if given is None:
        raise exception.InvalidInput(
            f'Cinder does not know how large pool {pool.name} is: say so by '
            f'an inventory of {pools.SIZE}'
        )
    if pool.total_gb is not None and given > pool.total_gb:
        raise exception.InvalidInput(
            f'Pool {pool.name} has {pool.total_gb} GiB: {given} are more'
        )
    return given
