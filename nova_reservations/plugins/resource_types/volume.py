# SPDX-License-Identifier: Apache-2.0
"""Volumes: the resource type ``virtual:volume``."""

from collections.abc import Collection
from collections.abc import Mapping
from typing import Any
from typing import ClassVar

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.objects import demand
from nova_reservations.objects import pool as pools
from nova_reservations.objects import requirements
from nova_reservations.objects import states
from nova_reservations.plugins.resource_types import base
from nova_reservations.plugins.resource_types import volume_ends

MOST = 100
LARGEST = 1 << 20
"""GiB."""

_NUMBER = {
    'type': 'string',
    'pattern': '^[1-9][0-9]{0,6}$',
    'description': 'a whole number from 1 on',
}
_PROPERTIES = {
    'size_gb': {
        'oneOf': [
            {'type': 'integer', 'minimum': 1, 'maximum': LARGEST},
            _NUMBER,
        ]
    },
    'amount': {
        'oneOf': [{'type': 'integer', 'minimum': 1, 'maximum': MOST}, _NUMBER]
    },
    'volume_type': {
        'type': ['string', 'null'],
        'maxLength': 255,
        'description': 'what the pools of the volumes must have as '
        'volume_type; null: any',
    },
    'end_action': {'enum': list(volume_ends.NAMES)},
}

_FIXED = ('size_gb', 'volume_type')
"""What can't be changed while there are volumes."""


class Volume(base.ResourceType):
    """Volumes of one size, in pools that nobody has without a lease.

    A pool is led to by no volume type but ours: each reservation has a
    private one in each of its pools, with a quota of what it was promised.
    At the start the project gets access to it, and its volumes; at the end
    they leave the pool.

    Decision 0054: doc/source/decisions/0054-volumes
    """

    nouns: ClassVar[tuple[str, str]] = 'storage pool', 'storage pools'
    schema: ClassVar[Mapping[str, Any]] = {
        'type': 'object',
        'properties': _PROPERTIES,
        'required': ['size_gb'],
        'additionalProperties': False,
    }
    update_schema: ClassVar[Mapping[str, Any]] = {
        'type': 'object',
        'properties': _PROPERTIES,
        'additionalProperties': False,
    }

    def look_up(
        self, asked: Mapping[str, Any], project_id: str
    ) -> Mapping[str, Any]:
        """See that volumes can be made in the project, and that what is
        wanted at the end can be done.

        :raises: InvalidInput, CloudUnavailable
        """
        if not self.cloud.volumes.acts_for(project_id):
            raise exception.InvalidInput(
                'Volumes can not be made in this project: [service_user] of '
                'Nova has no role in it; ask the operator'
            )
        volume_ends.check(asked.get('end_action'), self.cloud, self.conf)
        return asked

    def validate(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        size, amount = int(asked['size_gb']), int(asked.get('amount', 1))
        if not (1 <= size <= LARGEST and 1 <= amount <= MOST):
            raise exception.InvalidInput(
                f'size_gb must be between 1 and {LARGEST}, and amount '
                f'between 1 and {MOST}'
            )
        return {
            'size_gb': size,
            'amount': amount,
            'volume_type': asked.get('volume_type'),
            'end_action': asked.get('end_action') or volume_ends.DELETE,
        }

    def check_active_change(
        self, reservation: objects.Reservation, params: Mapping[str, Any]
    ) -> None:
        before = reservation.params
        if params['amount'] < before['amount']:
            why = 'it can not give volumes back before its end'
        elif any(params[name] != before[name] for name in _FIXED):
            why = (
                'its volumes are there: only their amount can be raised, and '
                'end_action changed'
            )
        else:
            return
        raise base.refused_change(reservation, why)

    def demand(self, params: Mapping[str, Any]) -> demand.Share:
        wanted = params['volume_type']
        return demand.Share(
            pools.VOLUME,
            params['amount'],
            {pools.SIZE: params['size_gb']},
            requirements=requirements.Comparison(
                '==', pools.VOLUME_TYPE, wanted
            )
            if wanted
            else None,
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
        pool = found.get(name)
        if pool is None:
            raise exception.InvalidInput(
                f'Cinder has no pool {name} that is up; there are: '
                f'{", ".join(sorted(found)) or "none"}'
            )
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

    def start(self, booking: base.Booking) -> base.Waiting | None:
        """Create what is not there yet, and wait until Cinder has made it."""
        making = []
        for volume in self._make(booking):
            if volume.status == 'creating':
                making.append(
                    objects.Reason.plain(f'Volume {volume.name} is being made')
                )
            elif volume.status == 'error':
                raise exception.CloudRefused(
                    what=f'Volume {volume.name}',
                    reason='Cinder could not make it, and says why in '
                    f'its messages of volume {volume.id}',
                )
        return base.Waiting.on(making) if making else None

    def update(self, booking: base.Booking) -> None:
        self._make(booking)

    def end(self, booking: base.Booking) -> base.Waiting | None:
        """Have its volumes leave their pools, as it was asked for, and delete
        its volume types when they have; what is attached to a server is waited
        for.

        What was made for a start that has failed is deleted.
        """
        action = booking.reservation.params['end_action']
        if booking.reservation.status != states.Reservation.ACTIVE:
            action = volume_ends.DELETE
        its = {pool.uuid: pool for pool in booking.resources}
        waits: dict[objects.Resource, list[objects.Reason]] = {}
        for each in self.cloud.volumes.find_types():
            pool = its.get(each.pool_uuid or '')
            if pool and each.reservation_id == booking.reservation.id:
                waits.setdefault(pool, []).extend(
                    self._empty(each, pool, action, booking)
                )
        booking.vacated.extend(
            pool for pool in booking.resources if not waits.get(pool)
        )
        reasons = [why for of_pool in waits.values() for why in of_pool]
        return base.Waiting.on(reasons) if reasons else None

    def remains(self, booking: base.Booking) -> base.Remains:
        """Return pools where it has no volume any more.

        What it has in a pool that has failed stays what it is: nobody but
        its owner knows whether it is of use again. At the end it is deleted.
        """
        return base.Remains(
            tuple(
                pool for pool in booking.left if not self._find(booking, pool)
            )
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
                for pool in resources
                for volume in self.cloud.volumes.find_volumes(
                    lease.project_id, reservation.id, pool
                )
            )
        }

    def _make(self, booking: base.Booking) -> list[ports.Volume]:
        """Create what is not there yet; return what there is."""
        params = booking.reservation.params
        there = []
        for pool in booking.resources:
            wanted = ports.ReservedVolumes(
                booking.reservation.id,
                booking.lease.project_id,
                pool,
                booking.slots[pool.id],
                params['size_gb'],
                booking.database,
            )
            self.cloud.volumes.ensure_type(wanted, booking.check)
            known = self._find(booking, pool)
            for _ in range(wanted.missing(known)):
                self.cloud.volumes.create_volume(
                    wanted, booking.lease.name, booking.check
                )
            there += self._find(booking, pool)
        return there

    def _empty(
        self,
        volume_type: ports.VolumeType,
        pool: objects.Resource,
        action: str,
        booking: base.Booking,
    ) -> list[objects.Reason]:
        """Do the next step of an end in a pool; return why it is not over."""
        self.cloud.volumes.close_type(
            volume_type, booking.lease.project_id, booking.check
        )
        reasons = [
            volume_ends.leave(volume, action, booking, self.cloud, self.conf)
            for volume in self._find(booking, pool)
        ]
        if not reasons and not self.cloud.volumes.delete_type(
            volume_type, booking.check
        ):
            reasons.append(
                objects.Reason.plain('Another project has a volume of it')
            )
        return reasons

    def _find(
        self, booking: base.Booking, pool: objects.Resource
    ) -> list[ports.Volume]:
        return self.cloud.volumes.find_volumes(
            booking.lease.project_id, booking.reservation.id, pool
        )


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
