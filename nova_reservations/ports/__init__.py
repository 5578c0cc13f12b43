# SPDX-License-Identifier: Apache-2.0
"""The port to the cloud, which leases use; ``cloud/`` implements it on Nova.

Every method may be repeated after a crash in the middle of it: steps that are
done already are left as they are. All of them may raise CloudUnavailable (try
again later) and, where said, CloudRefused (trying again will not help).
"""

from collections.abc import Mapping
from typing import Any
from typing import Protocol

from nova_reservations.objects import limits
from nova_reservations.ports.aggregates import Aggregates
from nova_reservations.ports.aggregates import GenerationChange
from nova_reservations.ports.aggregates import GenerationChanges
from nova_reservations.ports.aggregates import Members
from nova_reservations.ports.aggregates import Pool
from nova_reservations.ports.calls import Check
from nova_reservations.ports.calls import Order
from nova_reservations.ports.calls import RequestKey
from nova_reservations.ports.hosts import ComputeService
from nova_reservations.ports.hosts import GONE
from nova_reservations.ports.hosts import Hosts
from nova_reservations.ports.hosts import HostVersion
from nova_reservations.ports.made import Made
from nova_reservations.ports.made import Mark
from nova_reservations.ports.made import TAG
from nova_reservations.ports.networks import FloatingIP
from nova_reservations.ports.networks import Network
from nova_reservations.ports.networks import Networks
from nova_reservations.ports.networks import Subnet
from nova_reservations.ports.segments import NetworkPort
from nova_reservations.ports.segments import SegmentNetwork
from nova_reservations.ports.segments import Segments
from nova_reservations.ports.servers import Destinations
from nova_reservations.ports.servers import Flavor
from nova_reservations.ports.servers import MOVABLE
from nova_reservations.ports.servers import Occupancy
from nova_reservations.ports.servers import Outcome
from nova_reservations.ports.servers import PlacedServer
from nova_reservations.ports.servers import Server
from nova_reservations.ports.servers import Servers
from nova_reservations.ports.servers import ServerState
from nova_reservations.ports.slots import KnownFlavor
from nova_reservations.ports.slots import ReservedSlots
from nova_reservations.ports.slots import Slots
from nova_reservations.ports.stacks import Stack
from nova_reservations.ports.stacks import StackResource
from nova_reservations.ports.stacks import Stacks
from nova_reservations.ports.stacks import Standing
from nova_reservations.ports.stacks import Template
from nova_reservations.ports.volumes import Backup
from nova_reservations.ports.volumes import PoolPromise
from nova_reservations.ports.volumes import ReservedPool
from nova_reservations.ports.volumes import ReservedVolumes
from nova_reservations.ports.volumes import Volume
from nova_reservations.ports.volumes import VolumeGroup
from nova_reservations.ports.volumes import VolumePool
from nova_reservations.ports.volumes import VolumeQuota
from nova_reservations.ports.volumes import Volumes
from nova_reservations.ports.volumes import VolumeType

__all__ = [
    'GONE',
    'MOVABLE',
    'TAG',
    'Aggregates',
    'Backup',
    'Check',
    'Cloud',
    'ComputeService',
    'Destinations',
    'Flavor',
    'FloatingIP',
    'GenerationChange',
    'GenerationChanges',
    'HostVersion',
    'Hosts',
    'KnownFlavor',
    'LimitSource',
    'Made',
    'Mark',
    'Members',
    'Network',
    'NetworkPort',
    'Networks',
    'Notifier',
    'Occupancy',
    'Order',
    'Outcome',
    'PlacedServer',
    'Pool',
    'PoolPromise',
    'RequestKey',
    'ReservedPool',
    'ReservedSlots',
    'ReservedVolumes',
    'SegmentNetwork',
    'Segments',
    'Sent',
    'Server',
    'ServerState',
    'Servers',
    'Slots',
    'Stack',
    'StackResource',
    'Stacks',
    'Standing',
    'Subnet',
    'Template',
    'Volume',
    'VolumeGroup',
    'VolumePool',
    'VolumeQuota',
    'VolumeType',
    'Volumes',
]


class Cloud(Protocol):
    """The eight parts of the cloud; code that uses only one may take that
    alone."""

    @property
    def hosts(self) -> Hosts: ...

    @property
    def aggregates(self) -> Aggregates: ...

    @property
    def servers(self) -> Servers: ...

    @property
    def slots(self) -> Slots: ...

    @property
    def networks(self) -> Networks: ...

    @property
    def segments(self) -> Segments: ...

    @property
    def volumes(self) -> Volumes: ...

    @property
    def stacks(self) -> Stacks: ...


class Notifier(Protocol):
    def __call__(self, event_type: str, payload: Mapping[str, Any]) -> None:
        """Emit a notification; never raises."""


class Sent(Protocol):
    def __call__(self) -> bool:
        """Wait for some time until all notifications are sent; return whether
        they are."""


class LimitSource(Protocol):
    def __call__(self, project_id: str) -> limits.Limits:
        """Return the limits of a project.

        :raises: CloudUnavailable
        """
