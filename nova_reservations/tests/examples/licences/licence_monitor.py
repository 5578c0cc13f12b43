# SPDX-License-Identifier: Apache-2.0
"""The monitor of licences; the core knows nothing of them."""

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import datetime
import pathlib
from typing import Any

from nova_reservations.plugins.monitors import base

EXCHANGE = 'licences'


class LicenceMonitor(base.Monitor):
    """A licence has failed while there is a file that says so; its server
    also tells when it revokes one."""

    resource_type = 'example:licence'

    @property
    def subscriptions(self) -> Sequence[base.Subscription]:
        return [
            base.Subscription(
                'notifications',
                ['licence.revoked'],
                exchange=EXCHANGE,
                priorities=['warn', 'error'],
            )
        ]

    def on_notification(
        self,
        event_type: str,
        payload: Mapping[str, Any],
        now: datetime.datetime,
    ) -> base.Changes:
        return base.Changes(failed=[payload['licence']])

    def check_states(
        self, known: Collection[str], now: datetime.datetime
    ) -> base.Changes:
        folder = pathlib.Path(self.conf.licences.folder)
        revoked = {
            name for name in known if (folder / f'{name}.revoked').exists()
        }
        return base.Changes(revoked, set(known) - revoked)
