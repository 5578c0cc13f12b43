# SPDX-License-Identifier: Apache-2.0
"""Monitor of storage pools, by what Cinder's scheduler knows of them."""

from collections.abc import Collection
import datetime

from nova_reservations.objects import pool as pools
from nova_reservations.plugins.monitors import base


class VolumeMonitor(base.Monitor):
    """A pool is down if its backend reports so. It is also down if the
    cinder-volume service of the backend is down or disabled, because Cinder
    then puts no volumes there."""

    resource_type = pools.VOLUME

    def check_states(
        self, known: Collection[str], now: datetime.datetime
    ) -> base.Changes:
        up = {
            name
            for name, pool in self.cloud.volumes.find_pools().items()
            if pool.up
        }
        return base.Changes(
            recovered=up.intersection(known), down=set(known) - up
        )
