# SPDX-License-Identifier: Apache-2.0
"""The common part of all types that lease pools of Cinder."""

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import ClassVar

from oslo_log import log

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.objects import pool as pools
from nova_reservations.objects import requirements
from nova_reservations.objects import states
from nova_reservations.plugins.resource_types import base
from nova_reservations.plugins.resource_types import volume_ends
from nova_reservations.plugins.resource_types import volume_groups

LOG = log.getLogger(__name__)

MOST = 100

NUMBER: Mapping[str, Any] = {
    'type': 'string',
    'pattern': '^[1-9][0-9]{0,6}$',
    'description': 'a whole number from 1 on',
}

AMOUNT: Mapping[str, Any] = {
    'oneOf': [{'type': 'integer', 'minimum': 1, 'maximum': MOST}, NUMBER]
}
"""The schema of what ``amount`` reads."""

VOLUME_TYPE: Mapping[str, Any] = {
    'type': ['string', 'null'],
    'maxLength': 255,
    'description': 'what the pools must have as volume_type; null: any',
}
"""The schema of what ``leading`` reads."""

Types = Sequence[tuple[ports.VolumeType, objects.Resource]]
"""Volume types of a reservation, with the pools that they lead to."""

_CHANGEABLE = frozenset({'amount', 'end_action'})
"""Of what is active."""


class Pools(base.ResourceType):
    """Pools that nobody has volumes in without a lease.

    A pool is led to by no volume type but ours: each reservation has a
    private one in each of its pools. At the start the project gets access to
    it; at the end its volumes leave the pool.

    Decision 0054: doc/source/decisions/0054-volumes
    """

    resource_type: ClassVar[str | None] = pools.VOLUME
    nouns: ClassVar[tuple[str, str]] = 'storage pool', 'storage pools'

    def look_up_all(
        self, asked: Sequence[Mapping[str, Any]], project_id: str
    ) -> Sequence[Mapping[str, Any]]:
        """See that volumes can be made in the project, and that what is
        wanted at the end can be done: once, for however many are asked for.

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

    def ranged(
        self, params: Mapping[str, Any], minimum: int, maximum: int
    ) -> dict[str, Any]:
        return {**params, 'amount': minimum}

    def inspect(
        self, name: str, inventories: Mapping[str, int]
    ) -> Mapping[str, int]:
        """See that a pool is there, and that no volume type leads to it.

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
        """Have its volumes leave their pools, as it was asked for, and delete
        its volume types when they have; what is attached to a server is waited
        for.

        What was made for a start that has failed is deleted.
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
        """Let nothing more be made in pools that have failed, and delete its
        volume types there when they have no volumes: somebody else may have
        them then. What is back is its own again by update()."""
        self.update(booking)
        types = self.find_types(booking.reservation, booking.left)
        if self._close(types, booking):
            # What was let in before has until the next look to be seen.
            return
        for volume_type, _ in self._unused(types, booking):
            self.cloud.volumes.delete_type(volume_type, booking.check)

    def remains(self, booking: base.Booking) -> base.Remains:
        """Return pools where no volume has a volume type of its any more.

        What it has in a pool that has failed stays what it is: nobody but
        its owner knows whether it is of use again. At the end it is deleted.
        """
        if not booking.prepared:
            # A worker may be making a type there still.
            return base.Remains(())
        types = self.find_types(booking.reservation, booking.left)
        there = {pool for _, pool in types}
        unused = self._unused(types, booking)
        groups = self.cloud.volumes.find_groups() if unused else ()
        # These stay until their groups are gone, and keep nobody out.
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
        """Let nobody get anything more by these types; return whether anybody
        could until now."""
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
        """Return those that no volume has, nor can get any more."""
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
        """Delete a volume type that its project has nothing of, nor can get;
        return why others can not have its pool.

        It stays where a group has it that can not be deleted.
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
        """Return the volume types that a reservation has in any of these
        pools."""
        its = {pool.uuid: pool for pool in resources}
        return [
            (each, its[each.pool_uuid])
            for each in self.cloud.volumes.find_types()
            if each.reservation_id == reservation.id and each.pool_uuid in its
        ]

    def find_volumes(self, booking: base.Booking) -> list[ports.Volume]:
        """Return those of its project, in whichever pools."""
        return self.cloud.volumes.find_volumes(booking.lease.project_id)


def _coming(
    volumes: Iterable[ports.Volume],
) -> Iterator[objects.Reason]:
    """Yield why a project that can give none of its volumes a volume type any
    more may still get one of it: access is looked at when Cinder is asked."""
    for volume in volumes:
        if volume.may_get_any_type:
            yield objects.Reason.plain(
                f'Volume {volume.name} is being given another volume type, '
                'which may be the one of the lease'
            )


def _left_behind(
    volumes: Iterable[ports.Volume], pool: objects.Resource
) -> Iterator[objects.Reason]:
    """Yield what Cinder deletes in a pool of what it has copied out of it.

    What is left there is a volume of its own, which has the new type: so it
    is none of the reservation's, and may take long to wipe.
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
    """Return what administrators read of a volume that another project has."""
    return (
        f'volume {volume.id} of project {volume.project_id} has volume type '
        f'{volume_type.name}: delete it, or give it another one'
    )


def its(
    booking: base.Booking,
    volumes: Iterable[ports.Volume],
    *pools: objects.Resource,
) -> list[ports.Volume]:
    """Return the volumes that are the reservation's in some of its pools."""
    return [
        volume
        for volume in volumes
        if volume.is_of(booking.reservation.id, *pools)
    ]


def amount(asked: Mapping[str, Any]) -> int:
    """:raises: InvalidInput"""
    wanted = int(asked.get('amount', 1))
    if not 1 <= wanted <= MOST:
        raise exception.InvalidInput(f'amount must be between 1 and {MOST}')
    return wanted


def leading(volume_type: str | None) -> requirements.Comparison | None:
    """Return what a pool must be for a request that names a volume type; one
    that names none may leave it empty."""
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
