# SPDX-License-Identifier: Apache-2.0
"""The implementation of the cloud ports (``ports/``) on a real Nova.

Everything here runs with an administrator's context. Each call and each thread
makes a new one, because Nova keeps the transaction and the cell in it.
"""

from oslo_config import cfg

from nova_reservations.cloud import servers
from nova_reservations.cloud.hosts import aggregates
from nova_reservations.cloud.hosts import hosts
from nova_reservations.cloud.notifier import notify
from nova_reservations.cloud.notifier import sent
from nova_reservations.cloud.slots import slots
from nova_reservations.types.cinder import client as volumes
from nova_reservations.types.heat import client as stacks
from nova_reservations.types.neutron import networks_client as networks
from nova_reservations.types.neutron import segments_client as segments

__all__ = ['NovaCloud', 'notify', 'sent']


class NovaCloud:
    """The Nova to which this process belongs; it opens no connection until it
    is used."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self.hosts = hosts.Hosts(conf)
        self.aggregates = aggregates.Aggregates()
        self.servers = servers.Servers(self.hosts, conf)
        self.slots = slots.Slots()
        self.networks = networks.Networks()
        self.segments = segments.Segments()
        self.volumes = volumes.Volumes()
        self.stacks = stacks.Stacks()
