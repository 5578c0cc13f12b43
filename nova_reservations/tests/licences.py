# SPDX-License-Identifier: Apache-2.0
"""A type of resource that the core knows nothing of, as an example."""

from collections.abc import Mapping
import pathlib
from typing import Any
from typing import ClassVar

from oslo_config import cfg

from nova_reservations import demand
from nova_reservations import ports
from nova_reservations.plugins import base

NAME = 'example:licence'
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

    def _files(self, booking: base.Booking) -> list[pathlib.Path]:
        folder = pathlib.Path(self.conf.licences.folder)
        key = booking.reservation.id
        return [folder / f'{each.name}.{key}' for each in booking.resources]
