# SPDX-License-Identifier: Apache-2.0
"""A strategy of another package: leaves the servers of some projects where
they are, and counts only those that run."""

import pathlib

from oslo_config import cfg

from nova_reservations.plugins.drain_strategies import base

OPTS = [
    cfg.ListOpt('undisturbed', default=[], help='The ids of these projects.')
]


class Quietest(base.DrainStrategy):
    def __init__(self, conf: cfg.ConfigOpts) -> None:
        super().__init__(conf)
        conf.register_opts(OPTS, group='example')

    def cost(self, drainable: base.DrainableHost) -> base.Cost | None:
        undisturbed = self.conf.example.undisturbed
        if any(
            placed.server.project_id in undisturbed
            for placed in drainable.servers
        ):
            return None
        return (
            sum(
                placed.server.state == 'active' for placed in drainable.servers
            ),
        )


def install(directory: pathlib.Path) -> None:
    """Do what pip does, in a folder that is on the path."""
    package = directory / 'quietest-1.dist-info'
    package.mkdir()
    (package / 'METADATA').write_text(
        'Metadata-Version: 2.1\nName: quietest\nVersion: 1\n'
    )
    (package / 'entry_points.txt').write_text(
        '[nova_reservations.drain.strategies]\n'
        'quietest = nova_reservations.tests.examples.quietest:Quietest\n'
    )
