# SPDX-License-Identifier: Apache-2.0
"""The implementation of the cloud ports (``ports/``) on a real Nova.

Everything here runs with an administrator's context. Each call and each thread
makes a new one, because Nova keeps the transaction and the cell in it.
"""

from typing import Any

from debtcollector import deprecate
from oslo_config import cfg

from nova_reservations.cloud import aggregates
from nova_reservations.cloud import hosts
from nova_reservations.cloud import networks
from nova_reservations.cloud import segments
from nova_reservations.cloud import servers
from nova_reservations.cloud import slots
from nova_reservations.cloud import stacks
from nova_reservations.cloud import volumes
from nova_reservations.cloud.notifier import notify
from nova_reservations.cloud.notifier import sent

__all__ = ['NovaCloud', 'notify', 'sent']


_OLD_NAMES = {
    'survey': 'pool_generations',
    'tenants_of': 'servers_on',
    'is_gathered': 'has_aggregate_hosts',
    'furnish': 'ensure_slots',
    'is_furnished': 'has_slots',
    'admit': 'allow_flavor',
    'clear': 'delete_slots',
    'tenants': 'servers_in_slots',
}


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

    def __getattr__(self, name: str) -> Any:
        """Return a method of a part, for plugins of version 0.1."""
        if not name.startswith('_'):
            new = _OLD_NAMES.get(name, name)
            for part in ('hosts', 'aggregates', 'servers', 'slots'):
                method = getattr(self.__dict__.get(part), new, None)
                if method is not None:
                    deprecate(
                        f'Using cloud.{name} is deprecated',
                        message=f'Use cloud.{part}.{new}.',
                        removal_version='0.3',
                        stacklevel=3,
                    )
                    return method
        raise AttributeError(f'NovaCloud has no {name}')
