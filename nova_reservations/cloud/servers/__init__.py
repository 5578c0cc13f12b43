# SPDX-License-Identifier: Apache-2.0
"""Servers in Nova: queries, and requests that change them."""

from functools import partial

from oslo_config import cfg

from nova_reservations import ports
from nova_reservations.cloud import credentials
from nova_reservations.cloud.servers import actions
from nova_reservations.cloud.servers import builds
from nova_reservations.cloud.servers import drain
from nova_reservations.cloud.servers import evacuate
from nova_reservations.cloud.servers import find
from nova_reservations.cloud.servers import forgotten
from nova_reservations.cloud.servers import requests
from nova_reservations.cloud.servers import room
from nova_reservations.cloud.servers import shelving


class Servers:
    """The port ``ports.Servers`` on Nova; names who does each method."""

    def __init__(self, hosts: ports.Hosts, conf: cfg.ConfigOpts) -> None:
        nova = requests.Nova(hosts)
        # Where they are
        self.occupancy = find.occupancy
        self.servers_on = room.servers_on
        self.find_servers = find.find_servers
        self.heard_servers = find.heard_servers
        self.servers_at = find.servers_at
        self.inhabited = find.inhabited
        self.gone_servers = find.gone_servers
        self.let_in = find.let_in
        self.in_flight = builds.in_flight
        self.about_to_move = builds.about_to_move
        self.servers_with_alternates = builds.servers_with_alternates
        self.find_room = partial(room.find_room, hosts)
        # They leave their hosts
        shelves = forgotten.Shelves(nova, conf)
        leaving = actions.Actions(nova, shelves)
        self.release_claims = find.release_claims
        self.delete_servers = leaving.delete_servers
        self.stop_servers = partial(requests.asked, leaving.stop)
        self.shelve_servers = partial(requests.asked, leaving.shelve)
        self.confirm_resizes = partial(requests.asked, leaving.confirm)
        self.migrate_servers = partial(requests.awaited, leaving.migrate)
        # They rest, and come back
        resting = shelving.Shelving(nova, shelves)
        self.unshelve_servers = partial(requests.awaited, resting.unshelve)
        self.snapshot_servers = partial(requests.awaited, resting.snapshot)
        self.save_servers = partial(requests.awaited, resting.save)
        self.suspend_servers = partial(requests.awaited, resting.suspend)
        # They are moved for others
        draining = drain.Drain(nova)
        self.drain_servers = draining.drain_servers
        self.settle_servers = draining.settle_servers
        # Their host is down
        self.evacuate = partial(evacuate.evacuate, nova)
        # For whom
        self.acts_for_projects = credentials.are_configured
        self.check_acting = leaving.check_acting
