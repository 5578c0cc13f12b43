# SPDX-License-Identifier: Apache-2.0
"""What leases want of the cloud (``ports.py``), on a real Nova.

Everything here runs with an administrator's context, a fresh one for each
call and each thread: Nova keeps transactions and the cell in it.
"""

from oslo_config import cfg

from nova_reservations import ports
from nova_reservations.cloud import aggregates
from nova_reservations.cloud import building
from nova_reservations.cloud import draining
from nova_reservations.cloud import hosts
from nova_reservations.cloud import leaving
from nova_reservations.cloud import resting
from nova_reservations.cloud import servers
from nova_reservations.cloud import slots
from nova_reservations.cloud import tenants
from nova_reservations.cloud.notifier import notify

__all__ = ['NovaCloud', 'notify']


class NovaCloud(
    aggregates.Aggregates,
    building.Building,
    draining.Draining,
    hosts.Hosts,
    leaving.Leaving,
    resting.Resting,
    servers.Servers,
    slots.Slots,
    tenants.Tenants,
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
        servers.Servers.__init__(self)
        tenants.Tenants.__init__(self, conf)
