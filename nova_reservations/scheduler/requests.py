# SPDX-License-Identifier: Apache-2.0
"""The reservation that a request to nova-scheduler asks for."""

# Nova's objects get their names only when the process registers them.
from __future__ import annotations

import dataclasses
from typing import Any

from nova import context as nova_context
from nova import exception as nova_exception
from nova import objects as nova_objects
from nova.scheduler import utils

from nova_reservations import objects
from nova_reservations.cloud import errors
from nova_reservations.cloud.slots import slot_flavors
from nova_reservations.objects import ids
from nova_reservations.scheduler.consumers import base as consumers

HINT = objects.HINT
CARRIED = 'lease_params'
"""The hint of servers with a lease of their own. Our part of the API has
replaced its value by the id of the reservation."""


@dataclasses.dataclass(frozen=True, slots=True)
class NamedReservation:
    """The reservation that a request names.

    :ivar reservation: the value of the hint, or the id in the flavor; None:
        no reservation.
    :ivar in_slot: whether the flavor names it, and so takes a slot; else a
        hint does.
    """

    reservation: Any
    in_slot: bool


def bind_no_host(request_spec: nova_objects.RequestSpec) -> None:
    """Take the key by which clients of Blazar find flavors of reservations off
    nova-scheduler's copy of the request; what Nova stores keeps it.

    AggregateInstanceExtraSpecsFilter would look for an aggregate that has it.
    """
    flavor = request_spec.flavor
    specs = flavor.extra_specs if 'extra_specs' in flavor else {}
    if ids.is_like(specs.get(slot_flavors.BLAZAR_SPEC, '')):
        flavor.extra_specs = {
            key: value
            for key, value in specs.items()
            if key != slot_flavors.BLAZAR_SPEC
        }


def asked(request_spec: nova_objects.RequestSpec) -> NamedReservation:
    """Return the reservation that a request asks for, by hint or by flavor.

    The flavor's extra specs count, not only its id: whoever makes flavors can
    give any of them the extra spec that takes a slot.

    :raises: RequestFilterFailed if the request names two
    """
    hint = request_spec.get_scheduler_hint(HINT)
    found = slots_asked(request_spec.flavor)
    if len(found) > 1 or (
        hint is not None and any(hint != name for name in found)
    ):
        raise refusal(
            'A server can be in one reservation only: hint and flavor name '
            'several.'
        )
    if found:
        return NamedReservation(found.pop(), in_slot=True)
    return NamedReservation(hint, in_slot=False)


def slots_asked(flavor: nova_objects.Flavor) -> set[str]:
    """Return the reservations of which a server of the flavor takes slots."""
    request = utils.ResourceRequest
    keys = map(request.XS_KEYPAT.match, consumers.extra_specs(flavor))
    found = {
        objects.slots_of(match[3])
        for match in keys
        if match and match[1] == request.XS_RES_PREFIX
    }
    return {reservation_id for reservation_id in found if reservation_id}


@errors.translated()
def exists(request_spec: nova_objects.RequestSpec) -> bool:
    """Return whether the server is in a cell already, so that the request is a
    move."""
    try:
        mapping = nova_objects.InstanceMapping.get_by_instance_uuid(
            nova_context.get_admin_context(), request_spec.instance_uuid
        )
    except nova_exception.InstanceMappingNotFound:
        return False
    return mapping.cell_mapping is not None


def refusal(reason: str) -> nova_exception.RequestFilterFailed:
    """Return the exception after which Nova schedules the request nowhere."""
    return nova_exception.RequestFilterFailed(reason=reason)
