# SPDX-License-Identifier: Apache-2.0
"""What leases want of the cloud (``ports.py``), on a real Nova.

Everything here runs with an administrator's context, a fresh one for each
call and each thread: Nova keeps transactions and the cell in it.
"""

from oslo_config import cfg

from nova_reservations import ports
from nova_reservations.cloud import aggregates
from nova_reservations.cloud import hosts
from nova_reservations.cloud import slots
from nova_reservations.cloud.notifier import notify
from nova_reservations.cloud.servers import actions
from nova_reservations.cloud.servers import builds
from nova_reservations.cloud.servers import drain
from nova_reservations.cloud.servers import find
from nova_reservations.cloud.servers import room
from nova_reservations.cloud.servers import shelving

__all__ = ['NovaCloud', 'notify']


class NovaCloud(
    aggregates.Aggregates,
    builds.Building,
    drain.Draining,
    hosts.Hosts,
    actions.Leaving,
    shelving.Resting,
    find.Servers,
    slots.Slots,
    room.Tenants,
):
    """The Nova that this process is of; opens nothing until it is used."""

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        moved: ports.Moved,
        identity: ports.Identity,
    ) -> None:
        aggregates.Aggregates.__init__(self, moved, identity)
        hosts.Hosts.__init__(self, conf)
        find.Servers.__init__(self)
        room.Tenants.__init__(self, conf)
