# SPDX-License-Identifier: Apache-2.0
"""A type of resource that the core knows nothing of, as an example."""

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import datetime
import pathlib
from typing import Any
from typing import ClassVar

from oslo_config import cfg

from nova_reservations import ports
from nova_reservations.objects import demand
from nova_reservations.plugins.monitors import base as monitor
from nova_reservations.plugins.resource_types import base

NAME = 'example:licence'
EXCHANGE = 'licences'
# Clients that know no other type send everything as text.
SEATS = {'enum': [*range(1, 11), *map(str, range(1, 11))]}


class Licence(base.ResourceType):
    """Licences of some software; a file says who may use which."""

    update_schema: ClassVar[Mapping[str, Any]] = {
        'type': 'object',
        'properties': {'seats': SEATS},
        'additionalProperties': False,
    }
    schema: ClassVar[Mapping[str, Any]] = {
        **update_schema,
        'required': ['seats'],
    }

    def __init__(self, cloud: ports.Cloud, conf: cfg.ConfigOpts) -> None:
        super().__init__(cloud, conf)
        conf.register_opt(cfg.StrOpt('folder'), group='licences')

    def validate(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        return {'seats': int(asked['seats'])}

    def demand(self, params: Mapping[str, Any]) -> demand.Demand:
        return demand.Demand(NAME, params['seats'], params['seats'])

    def start(self, booking: base.Booking) -> None:
        for file in self._files(booking):
            booking.check()
            file.write_text(booking.lease.project_id)

    def end(self, booking: base.Booking) -> base.Waiting | None:
        for file in self._files(booking):
            if file.with_suffix('.in-use').exists():
                return base.Waiting(f'Somebody works with {file.stem}')
            booking.check()
            file.unlink(missing_ok=True)
        return None

    def heal(self, booking: base.Booking) -> None:
        super().heal(booking)
        for file in self._files_of(booking, booking.left):
            booking.check()
            file.unlink(missing_ok=True)

    def _files(self, booking: base.Booking) -> list[pathlib.Path]:
        return self._files_of(booking, booking.resources)

    def _files_of(
        self, booking: base.Booking, resources: base.Resources
    ) -> list[pathlib.Path]:
        folder = pathlib.Path(self.conf.licences.folder)
        key = booking.reservation.id
        return [folder / f'{each.name}.{key}' for each in resources]


class LicenceMonitor(monitor.Monitor):
    """A licence has failed while there is a file that says so; its server
    also tells when it revokes one."""

    resource_type = NAME

    @property
    def subscriptions(self) -> Sequence[monitor.Subscription]:
        return [
            monitor.Subscription(
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
    ) -> monitor.Changes:
        return monitor.Changes(failed=[payload['licence']])

    def check_states(
        self, known: Collection[str], now: datetime.datetime
    ) -> monitor.Changes:
        folder = pathlib.Path(self.conf.licences.folder)
        revoked = {
            name for name in known if (folder / f'{name}.revoked').exists()
        }
        return monitor.Changes(revoked, set(known) - revoked)
