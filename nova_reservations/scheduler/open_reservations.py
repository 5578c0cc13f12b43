# SPDX-License-Identifier: Apache-2.0
"""Requests that name no reservation, and use an open one by themselves.

One query to placement can't say "there, or anywhere". So such a request is
sent to the slots of one reservation, as if its flavor asked for them; if
that finds no host, it is scheduled once more as it was. The request and the
flavor that Nova stores ask for no slot: moves of the server are sent anew.

Decision 0012: doc/source/decisions/0012-open-reservations
"""

# Nova's objects get their names only when the process registers them.
from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import contextvars
import dataclasses
from typing import Any

from nova import objects as nova_objects
from nova.scheduler import manager
from oslo_log import log
import oslo_messaging
import wrapt

from nova_reservations import bootstrap
from nova_reservations import exception
from nova_reservations import hooks
from nova_reservations import objects
from nova_reservations.cloud import placement
from nova_reservations.cloud import request_groups
from nova_reservations.objects import amounts as quantities

LOG = log.getLogger(__name__)


@dataclasses.dataclass(slots=True)
class Run:
    """A run of the scheduler that is not the last for its request.

    :ivar original: the request as it was, if it was sent to a reservation.
    :ivar recorded: servers that are recorded as created there.
    :ivar forget: takes that back.
    """

    original: nova_objects.RequestSpec | None = None
    recorded: list[str] = dataclasses.field(default_factory=list)
    forget: Callable[[list[str]], None] = lambda _: None

    @property
    def is_sent(self) -> bool:
        return self.original is not None


_run: contextvars.ContextVar[Run | None] = contextvars.ContextVar(
    'run', default=None
)


def run() -> Run | None:
    """Return the run that this is in, unless it is the request's last."""
    return _run.get()


def install() -> None:
    """Wrap select_destinations, once per process: a request that was sent, and
    found no host, is scheduled once more."""
    wrapt.wrap_function_wrapper(
        manager.SchedulerManager, 'select_destinations', _select
    )


def _select(
    wrapped: Callable[..., Any], _: Any, args: Any, kwargs: Any
) -> Any:
    call = hooks.arguments(_select_destinations, args, kwargs)
    if not call['spec_obj'] or not call['instance_uuids']:
        # An old conductor, for which nothing is claimed.
        return wrapped(*args, **kwargs)
    with _first() as first:
        try:
            return wrapped(*args, **kwargs)
        # As which Nova has oslo.messaging hand on that there is no host.
        except oslo_messaging.ExpectedException as refusal:
            if not first.is_sent:
                raise
            try:
                # Or they would end with a reservation that they are not in.
                if first.recorded:
                    first.forget(first.recorded)
            except exception.ReservationsError as error:
                LOG.error('Request refused: %s', error)
                raise refusal from error
    LOG.info('There is no host in the open reservation; others are looked at')
    return wrapped(**{**call, 'spec_obj': first.original})


def _select_destinations(
    context: Any,
    request_spec: Any = None,
    filter_properties: Any = None,
    spec_obj: Any = None,
    instance_uuids: Any = None,
    return_objects: bool = False,
    return_alternates: bool = False,
) -> None:
    """Nova's signature: what oslo.messaging makes of the method has none."""


@contextlib.contextmanager
def _first() -> Iterator[Run]:
    first = Run()
    token = _run.set(first)
    try:
        yield first
    finally:
        _run.reset(token)


class OpenSlots:
    def __init__(self, services: bootstrap.Services) -> None:
        self._open = services.access

    def send(
        self,
        request_spec: nova_objects.RequestSpec,
        exists: Callable[[nova_objects.RequestSpec], bool],
    ) -> bool:
        """Make the request ask for slots of an open reservation, if there is
        one for it and this is not its last run.

        :param exists: whether a request is of a server that is moved
        :raises: DatabaseUnavailable, CloudUnavailable
        """
        current_run = run()
        if current_run is None or current_run.is_sent:
            return False
        reservation_id = self._choice(request_spec, exists)
        if reservation_id is None:
            return False
        current_run.original = request_spec.obj_clone()
        current_run.forget = self._open.forget
        ask_for_slot(request_spec, reservation_id)
        LOG.debug(
            'Request of server %(server)s is sent to reservation %(id)s',
            {'server': request_spec.instance_uuid, 'id': reservation_id},
        )
        return True

    def _choice(
        self,
        request_spec: nova_objects.RequestSpec,
        exists: Callable[[nova_objects.RequestSpec], bool],
    ) -> str | None:
        opened = self._open.open_to(request_spec.project_id)
        if not opened:
            return None
        asked = amounts(request_spec)
        fitting = [
            reservation
            for reservation in opened
            if asked.fits(reservation.slot)
        ]
        if exists(request_spec):
            there = self._open.choice(request_spec.instance_uuid)
            return (
                there
                if any(
                    reservation.reservation_id == there
                    for reservation in fitting
                )
                else None
            )
        wanted = request_spec.num_instances
        fitting = [
            reservation
            for reservation in fitting
            if reservation.slots >= wanted
        ]
        if not fitting:
            return None
        used = placement.usages(request_spec.project_id)
        for reservation in fitting:
            slots = objects.slot_class(reservation.reservation_id)
            taken = used.get(slots, 0) + sum(
                placement.usages(project_id).get(slots, 0)
                for project_id in sorted(reservation.sharers)
            )
            if reservation.slots - taken >= wanted:
                return reservation.reservation_id
        return None


def ask_for_slot(
    request_spec: nova_objects.RequestSpec, reservation_id: str
) -> None:
    """Make nova-scheduler's copy of the request ask for a slot, as if its
    flavor did; what Nova stores does not."""
    flavor = request_spec.flavor
    flavor.extra_specs = {
        **(flavor.extra_specs if 'extra_specs' in flavor else {}),
        f'resources:{objects.slot_class(reservation_id)}': '1',
    }


def amounts(request_spec: nova_objects.RequestSpec) -> quantities.Amounts:
    """Return the amounts, by shape, that a server of the request takes of its
    host, without those of its ports and accelerators, which no slot has."""
    return quantities.Amounts(request_groups.of_request(request_spec).amounts)
