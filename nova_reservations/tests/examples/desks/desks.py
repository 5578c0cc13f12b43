# SPDX-License-Identifier: Apache-2.0
"""Desks of an office: each is a file with the reservation that has it."""

from collections.abc import Iterator
from collections.abc import Mapping
import pathlib
from typing import Any
from typing import ClassVar

from nova_reservations import exception
from nova_reservations.db.upkeep import records
from nova_reservations.objects import demand
from nova_reservations.types import audited
from nova_reservations.types import base
from nova_reservations.types import enrols

NAME = 'example:desk'


class Desk(audited.Audited, enrols.Enrols):
    schema: ClassVar = {'type': 'object', 'additionalProperties': False}
    update_schema: ClassVar = schema
    enrolled_by: ClassVar = 'office-desks'
    office: ClassVar = pathlib.Path('/srv/office')

    def validate(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        return {}

    def demand(self, params: Mapping[str, Any]) -> demand.Demand:
        return demand.Demand(NAME, 1, 1, None)

    def enrol(self, asked: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
        if not (self.office / asked['desk']).exists():
            raise exception.InvalidInput(f'No desk {asked["desk"]} is there')
        return asked['desk'], {'room': asked['room']}

    def check_unused(self, name: str) -> None:
        if user := (self.office / name).read_text():
            raise exception.InvalidState(
                kind='Desk', id=name, status='in use', reason=f'{user} has it'
            )

    def start(self, booking: base.Booking) -> None:
        for desk in booking.resources:
            booking.check()
            (self.office / desk.name).write_text(booking.reservation.id)

    def end(self, booking: base.Booking) -> None:
        for desk in booking.resources:
            if (self.office / desk.name).read_text() == booking.reservation.id:
                booking.check()
                (self.office / desk.name).write_text('')

    def audit(self, known: records.Records) -> Iterator[audited.Finding]:
        for each in known.leased(NAME):
            if (self.office / each.name).read_text() != each.reservation_id:
                yield audited.Finding(
                    f'Desk {each.name} is not with lease {each.lease_id}',
                    known.made_again(each.lease_id),
                )
