# SPDX-License-Identifier: Apache-2.0
"""Frozen values that leave the database; live rows never do.

Decision 0027: doc/source/decisions/0027-rooms-and-words
"""

from nova_reservations.objects.allocation import Access
from nova_reservations.objects.allocation import Allocation
from nova_reservations.objects.allocation import AllocationQuery
from nova_reservations.objects.allocation import Condition
from nova_reservations.objects.allocation import HeldResources
from nova_reservations.objects.allocation import Holding
from nova_reservations.objects.allocation import Named
from nova_reservations.objects.allocation import Occupant
from nova_reservations.objects.host import CapacityPoint
from nova_reservations.objects.host import Host
from nova_reservations.objects.host import HostFacts
from nova_reservations.objects.host import HostQuery
from nova_reservations.objects.host import Inventory
from nova_reservations.objects.host import Property
from nova_reservations.objects.host import Resource
from nova_reservations.objects.idempotency import IdempotencyKey
from nova_reservations.objects.inventoried import Inventoried
from nova_reservations.objects.inventoried import ResourceQuery
from nova_reservations.objects.lease import Event
from nova_reservations.objects.lease import Lease
from nova_reservations.objects.lease import LeasedServer
from nova_reservations.objects.lease import LeaseQuery
from nova_reservations.objects.lease import OpenReservation
from nova_reservations.objects.lease import Reservation
from nova_reservations.objects.message import Message
from nova_reservations.objects.names import group_id
from nova_reservations.objects.names import HINT
from nova_reservations.objects.names import HOST
from nova_reservations.objects.names import is_id
from nova_reservations.objects.names import OPEN
from nova_reservations.objects.names import SERVER
from nova_reservations.objects.names import slot_class
from nova_reservations.objects.names import SLOTS
from nova_reservations.objects.names import slots_of
from nova_reservations.objects.names import TARGETED
from nova_reservations.objects.reasons import few
from nova_reservations.objects.reasons import plural
from nova_reservations.objects.reasons import Reason
from nova_reservations.objects.sharing import NOBODY
from nova_reservations.objects.sharing import Sharers

__all__ = (
    'HINT',
    'HOST',
    'NOBODY',
    'OPEN',
    'SERVER',
    'SLOTS',
    'TARGETED',
    'Access',
    'Allocation',
    'AllocationQuery',
    'CapacityPoint',
    'Condition',
    'Event',
    'HeldResources',
    'Holding',
    'Host',
    'HostFacts',
    'HostQuery',
    'IdempotencyKey',
    'Inventoried',
    'Inventory',
    'Lease',
    'LeaseQuery',
    'LeasedServer',
    'Message',
    'Named',
    'Occupant',
    'OpenReservation',
    'Property',
    'Reason',
    'Reservation',
    'Resource',
    'ResourceQuery',
    'Sharers',
    'few',
    'group_id',
    'is_id',
    'plural',
    'slot_class',
    'slots_of',
)
