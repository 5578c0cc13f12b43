# SPDX-License-Identifier: Apache-2.0
"""Volumes, as Cinder has them, and the volume types of reservations."""

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import datetime
from typing import Any
from typing import ClassVar
from typing import Protocol

from nova_reservations import objects
from nova_reservations.ports.calls import Check

_SCOPE = 'capabilities'
"""The scope of extra specs that Cinder's scheduler compares. It also compares
those without a scope, and ignores those of other scopes."""

_OPERATORS = ('<', '=', '!', '>', 's=', 's!', 's<', 's>')
"""The beginnings of extra specs that are more than a plain value."""


@dataclasses.dataclass(frozen=True, slots=True)
class VolumePool:
    """A pool of a backend.

    :ivar name: as Cinder writes it: HOST@BACKEND#POOL.
    :ivar capabilities: what volume types can ask of it.
    :ivar total_gb: None: Cinder does not know.
    :ivar used_gb: allocated to its volumes, as Cinder has it.
    """

    name: str
    capabilities: Mapping[str, Any]
    total_gb: int | None
    used_gb: int
    up: bool

    @property
    def key(self) -> tuple[str, str]:
        """The name of the backend, and of the pool in it, by which our volume
        types ask for it."""
        return (
            str(self.capabilities.get('volume_backend_name', '')),
            str(self.capabilities.get('pool_name', '')),
        )


@dataclasses.dataclass(frozen=True, slots=True)
class VolumeType:
    """:ivar reservation_id: the reservation whose volumes have it; None: it is
        none of our types.

    :ivar pool_uuid: of the resource, a pool, where these volumes are.
    :ivar database: the name of our database for which it was made; None: it is
        unknown.
    """

    id: str
    name: str
    is_public: bool
    specs: Mapping[str, str] = dataclasses.field(default_factory=dict)
    reservation_id: str | None = None
    pool_uuid: str | None = None
    database: str | None = None

    def may_lead_to(self, pool: VolumePool) -> bool:
        """Return whether Cinder's scheduler may put a volume of the type into
        the pool: it may unless one of the extra specs surely forbids it.

        A spec with a comparison counts as if it allowed that: whoever wants to
        keep a type away uses plain values, as for volume_backend_name.
        """
        return all(
            _may_be(pool.capabilities, key, wanted)
            for key, wanted in self.specs.items()
        )


def _may_be(capabilities: Mapping[str, Any], key: str, wanted: str) -> bool:
    scope, _, inner = key.rpartition(':')
    if scope not in ('', _SCOPE):
        return True
    if inner not in capabilities:
        return False
    if wanted.startswith(_OPERATORS):
        return True
    there = capabilities[inner]
    return wanted in there if isinstance(there, list) else wanted == there


@dataclasses.dataclass(frozen=True, slots=True)
class VolumeQuota:
    """The most that a project may have of a volume type; -1: as much as there
    is room for.

    :ivar gigabytes: of its volumes and their snapshots together.
    """

    volumes: int
    gigabytes: int
    snapshots: int


@dataclasses.dataclass(frozen=True, slots=True)
class ReservedPool:
    """A pool that a reservation has as a whole.

    :ivar database: the name of ours.
    """

    quota: ClassVar[VolumeQuota] = VolumeQuota(-1, -1, -1)

    reservation_id: str
    project_id: str
    pool: objects.Resource
    database: str

    def missing(self, there: 'Collection[Volume]') -> int:
        """Return 0: the project makes what it wants to have there."""
        return 0


@dataclasses.dataclass(frozen=True, slots=True)
class ReservedVolumes:
    """The volumes that a reservation has in a pool, and no more of them.

    :ivar database: the name of ours.
    """

    reservation_id: str
    project_id: str
    pool: objects.Resource
    count: int
    size_gb: int
    database: str

    @property
    def quota(self) -> VolumeQuota:
        return VolumeQuota(self.count, self.count * self.size_gb, 0)

    def missing(self, there: 'Collection[Volume]') -> int:
        """Return how many volumes are not there; the project may have made
        others in their place, of other sizes."""
        room = self.count * self.size_gb - sum(each.size_gb for each in there)
        return max(0, min(self.count - len(there), room // self.size_gb))


PoolPromise = ReservedPool | ReservedVolumes
"""What a reservation was promised of a pool."""


@dataclasses.dataclass(frozen=True, slots=True)
class Volume:
    """:ivar status: in Cinder's words.

    :ivar changed_at: when Cinder has last changed it, by Cinder's clock.
    :ivar servers: those that it is attached to.
    :ivar project_id: its project; None: Cinder does not tell.
    :ivar reservation_id: the reservation whose volume type it has; None: it
        has none of our types.
    :ivar pool_uuid: of the resource to which the type leads.
    :ivar may_get_any_type: it is being retyped, and Cinder does not tell to
        which volume type.
    :ivar pool: where it is; None: nowhere yet, or Cinder does not tell.
    """

    id: str
    name: str
    status: str
    size_gb: int
    changed_at: datetime.datetime
    servers: tuple[str, ...] = ()
    project_id: str | None = None
    reservation_id: str | None = None
    pool_uuid: str | None = None
    may_get_any_type: bool = False
    pool: str | None = None

    def is_of(self, reservation_id: str, *pools: objects.Resource) -> bool:
        """Return whether it has the reservation's volume type for one of these
        pools."""
        return self.reservation_id == reservation_id and any(
            self.pool_uuid == pool.uuid for pool in pools
        )


@dataclasses.dataclass(frozen=True, slots=True)
class VolumeGroup:
    """A group of volumes. Cinder looks up the volume types that it may have as
    an administrator, whoever makes the group.

    :ivar project_id: None: Cinder does not tell.
    :ivar type_ids: of the volume types that its volumes may have.
    :ivar status: in Cinder's words.
    :ivar is_older: it was made by the older API of consistency groups.
    """

    id: str
    project_id: str | None
    type_ids: frozenset[str]
    status: str
    is_older: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Backup:
    """:ivar status: in Cinder's words."""

    id: str
    status: str
    description: str


class Volumes(Protocol):
    """The part of Cinder that volumes of leases need.

    Each reservation has a private volume type for each of its pools, which
    leads to that pool alone. Nobody else sees it.
    """

    def acts_for(self, project_id: str) -> bool:
        """Return whether volumes can be made in the project, because
        ``[service_user]`` has a role there."""

    def acts_everywhere(self) -> bool:
        """Return whether ``[service_user]`` has an inherited role: in all
        projects of a domain, or below one."""

    def find_pools(self) -> Mapping[str, VolumePool]:
        """Return name -> pool, of those whose service is up."""

    def find_types(self) -> Collection[VolumeType]:
        """Return all volume types."""

    def ensure_type(self, promise: PoolPromise, check: Check) -> None:
        """Make the volume type of the reservation, and let the project, and
        nobody else, have volumes of that type within its quota. Changes by
        others are undone: a type made public, another quota, lost access.

        :raises: CloudRefused
        """

    def find_access(self, volume_type: VolumeType) -> Collection[str]:
        """Return the projects that have access to a private type."""

    def find_volumes(self, project_id: str) -> list[Volume]:
        """Return the project's volumes, whatever type they have, in the order
        in which they were made."""

    def find_volumes_of(self, volume_type: VolumeType) -> Collection[Volume]:
        """Return all volumes of a type, of all projects."""

    def find_groups(self) -> Collection[VolumeGroup]:
        """Return all groups of volumes, of all projects."""

    def delete_group(self, group: VolumeGroup, check: Check) -> str | None:
        """Begin to delete a group that has no volumes; return why Cinder does
        not; None if it does. One that is gone is fine."""

    def find_strangers(self, pool: str) -> Collection[Volume]:
        """Return the volumes in a pool whose volume type is of no reservation,
        of all projects, without those that are being deleted."""

    def create_volume(
        self, volumes: ReservedVolumes, name: str, check: Check
    ) -> None:
        """Create a volume of the type, as the project.

        :raises: CloudRefused if [service_user] has no role in the project, or
            a quota is used up: so no more than the count are ever made
        """

    def delete_volume(self, volume: Volume, check: Check) -> str | None:
        """Begin to delete a volume, with its snapshots; return why Cinder
        does not. One that is gone is fine."""

    def retype_volume(
        self, volume: Volume, volume_type: str, check: Check
    ) -> str | None:
        """Begin to move a volume to where its new volume type leads; return
        why Cinder does not. Cinder may also find out later that it can not:
        the volume then has its former type and place, but a new changed_at."""

    def find_snapshots(self, volume: Volume, project_id: str) -> list[str]:
        """Return the ids of the snapshots of a volume that the project
        has."""

    def makes_backups(self) -> bool:
        """Return whether a cinder-backup is up."""

    def find_backups(self, volume: Volume) -> list[Backup]: ...

    def create_backup(
        self, volume: Volume, project_id: str, description: str, check: Check
    ) -> str | None:
        """Begin to back up a volume, as the project; return why Cinder does
        not. The backup has the volume's name."""

    def close_type(
        self, volume_type: VolumeType, project_id: str, check: Check
    ) -> None:
        """Let the project create nothing more by the type; make it private,
        if somebody has made it public."""

    def delete_type(self, volume_type: VolumeType, check: Check) -> bool:
        """Delete a volume type; return whether it is gone: not while any
        volume has it, or a group names it."""
