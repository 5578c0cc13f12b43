# SPDX-License-Identifier: Apache-2.0
"""Seats of licences: a type of resource that the core knows nothing of."""

from collections.abc import Mapping
import pathlib
from typing import Any
from typing import ClassVar

from oslo_config import cfg

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.objects import demand
from nova_reservations.objects import requirements
from nova_reservations.types import base

NAME = 'example:licence'
# Clients that know no other type send everything as text.
SEATS = {'enum': [*range(1, 11), *map(str, range(1, 11))]}


class Licence(base.ResourceType):
    """Seats of any licences; files say who may use how many of which."""

    update_schema: ClassVar = {
        'type': 'object',
        'properties': {
            'seats': SEATS,
            'resource_properties': {'type': 'string', 'maxLength': 4096},
        },
        'additionalProperties': False,
    }
    schema: ClassVar = {**update_schema, 'required': ['seats']}

    def __init__(self, cloud: ports.Cloud, conf: cfg.ConfigOpts) -> None:
        super().__init__(cloud, conf)
        conf.register_opt(cfg.StrOpt('folder'), group='licences')

    def validate(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        params = {'resource_properties': '', **asked}
        params['seats'] = int(asked['seats'])
        self.demand(params)
        return params

    def demand(self, params: Mapping[str, Any]) -> demand.Share:
        required = requirements.parse(
            params['resource_properties'], facts=requirements.OF_OTHERS
        )
        seat = {'SEATS': 1}
        return demand.Share(NAME, params['seats'], seat, None, required)

    def start(self, booking: base.Booking) -> None:
        for licence in booking.resources:
            if (self._folder / f'{licence.name}.barred').exists():
                raise exception.CloudRefused(
                    what=f'The licence {licence.name}', reason='it is barred'
                )
            booking.check()
            seats = booking.slots[licence.id]
            line = f'{booking.lease.project_id}: {seats}'
            self._file(booking, licence).write_text(line)

    def end(self, booking: base.Booking) -> base.Waiting | None:
        for licence in booking.resources:
            file = self._file(booking, licence)
            if file.with_suffix('.in-use').exists():
                return base.Waiting(f'Somebody works with {licence.name}')
            booking.check()
            file.unlink(missing_ok=True)
        return None

    def heal(self, booking: base.Booking) -> None:
        super().heal(booking)
        for licence in booking.left:
            booking.check()
            self._file(booking, licence).unlink(missing_ok=True)

    @property
    def _folder(self) -> pathlib.Path:
        return pathlib.Path(self.conf.licences.folder)

    def _file(
        self, booking: base.Booking, licence: objects.Resource
    ) -> pathlib.Path:
        name = f'{licence.name}.{booking.reservation.id}'
        return self._folder / name
