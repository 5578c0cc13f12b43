# SPDX-License-Identifier: Apache-2.0
"""An event action of another package: writes on the wall of each server's
users that their lease ends."""

import pathlib

from oslo_config import cfg

from nova_reservations import exception
from nova_reservations import ports
from nova_reservations.plugins.event_actions import base as event_action
from nova_reservations.types import base

OPTS = [cfg.StrOpt('wall', help='The folder that the screens show.')]


class Wall(event_action.EventAction):
    """One file for each server, which a screen shows until it is gone."""

    def __init__(self, cloud: ports.Cloud, conf: cfg.ConfigOpts) -> None:
        super().__init__(cloud, conf)
        conf.register_opts(OPTS, group='example')

    def validate(self) -> None:
        if self.conf.example.wall is None:
            raise exception.InvalidInput('There is no wall; ask the operator')

    def run(self, occasion: event_action.Occasion) -> base.Waiting | None:
        """Have it written once, and wait until each screen has shown it."""
        shown = [self._write(occasion, server) for server in occasion.servers]
        if not all(shown):
            return base.Waiting('Waiting for the screens')
        return None

    def _write(
        self, occasion: event_action.Occasion, server: ports.Server
    ) -> bool:
        wall = pathlib.Path(self.conf.example.wall)
        name = f'{occasion.id} {server.uuid}'.replace('/', ' ')
        note, seen = wall / f'{name}.txt', wall / f'{name}.seen'
        if not note.exists():
            # Another worker may have taken over.
            occasion.booking.check()
            lease = occasion.booking.lease
            note.write_text(f'{lease.name} ends at {lease.end_date}\n')
        return seen.exists()
