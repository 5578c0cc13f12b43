# SPDX-License-Identifier: Apache-2.0
"""Requests that name no reservation, and are sent to an open one.

One query to placement cannot say "in this reservation, or anywhere". So such a
request is first sent to one open reservation: to slots as if its flavor asked
for them, to whole hosts as if it had the hint. If no host is found there, the
request is scheduled again. The request that Nova stores asks for neither, so
each move of the server is sent anew.

Decision 0012: doc/source/decisions/0012-open-reservations

Decision 0048: doc/source/decisions/0048-open-hosts
"""

# Nova's objects get their names only when the process registers them.
from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import contextvars
import dataclasses
from typing import Any

from nova import objects as nova_objects
from nova.scheduler import manager
from oslo_log import log
import oslo_messaging
import wrapt

from nova_reservations import exception
from nova_reservations import hooks
from nova_reservations import objects
from nova_reservations.cloud.placement import claims
from nova_reservations.cloud.placement import placement
from nova_reservations.cloud.placement import request_groups
from nova_reservations.engine import assembly
from nova_reservations.engine.leases import access
from nova_reservations.objects import amounts as quantities

LOG = log.getLogger(__name__)

MOST_TRIED = 4
"""The most open reservations of whole hosts that are tried for one request.
Each try is a run of the scheduler: only that tells which of them has room."""


@dataclasses.dataclass(slots=True)
class Run:
    """A run of the scheduler that is not the last for its request.

    :ivar tried: the reservations that earlier runs have sent the request to.
    :ivar sent: where this run has sent the request; None: nowhere.
    :ivar recorded: servers that this run has recorded as created in the
        reservation.
    :ivar forget: deletes these records.
    """

    tried: frozenset[str] = frozenset()
    sent: Sent | None = None
    recorded: list[str] = dataclasses.field(default_factory=list)
    forget: Callable[[list[str]], None] = lambda _: None

    def is_sent_to(self, reservation_id: str) -> bool:
        return self.sent is not None and self.sent.to == reservation_id


@dataclasses.dataclass(frozen=True, slots=True)
class Sent:
    """:ivar to: the reservation.

    :ivar original: the request before it was sent.
    :ivar is_whole: whether the reservation is of whole hosts.
    :ivar others: whether other reservations remain to be tried.
    """

    to: str
    original: nova_objects.RequestSpec
    is_whole: bool
    others: bool


_run: contextvars.ContextVar[Run | None] = contextvars.ContextVar(
    'run', default=None
)


def run() -> Run | None:
    """Return the current run; None in the last run for a request."""
    return _run.get()


def install() -> None:
    """Wrap select_destinations, once per process: a request that was sent, and
    found no host, is scheduled once more.
    """
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
    tried: frozenset[str] = frozenset()
    while len(tried) < MOST_TRIED:
        with _run_after(tried) as current:
            try:
                found = wrapped(**call)
            # Nova has oslo.messaging wrap NoValidHost in this exception.
            except oslo_messaging.ExpectedException as refusal:
                if current.sent is None:
                    raise
                _take_back(current, refusal)
            else:
                if call['return_objects']:
                    _name(found, current)
                return found
        LOG.info(
            'There is no host in open reservation %s; others are looked at',
            current.sent.to,
        )
        call['spec_obj'] = current.sent.original
        if not current.sent.others:
            break
        tried |= {current.sent.to}
    return wrapped(**call)


def _take_back(run: Run, refusal: oslo_messaging.ExpectedException) -> None:
    """Delete the records of servers that were to be created in the
    reservation: they would end with it without being in it.

    :raises: ExpectedException if the records can't be deleted
    """
    try:
        if run.recorded:
            run.forget(run.recorded)
    except exception.ReservationsError as error:
        LOG.error('Request refused: %s', error)
        raise refusal from error


def _name(found: Sequence[Sequence[nova_objects.Selection]], run: Run) -> None:
    """Write the reservation of whole hosts into the alternates. nova-conductor
    may claim these by itself, and its copy of the request names no
    reservation."""
    if run.sent is None or not run.sent.is_whole:
        return
    for _, *alternates in found:
        for alternate in alternates:
            alternate.allocation_request = claims.named(
                alternate.allocation_request, run.sent.to
            )


def _select_destinations(
    context: Any,
    request_spec: Any = None,
    filter_properties: Any = None,
    spec_obj: Any = None,
    instance_uuids: Any = None,
    return_objects: bool = False,
    return_alternates: bool = False,
) -> None:
    """Repeat Nova's signature: oslo.messaging's wrapper of the method hides
    it."""


@contextlib.contextmanager
def _run_after(tried: frozenset[str]) -> Iterator[Run]:
    current = Run(tried)
    token = _run.set(current)
    try:
        yield current
    finally:
        _run.reset(token)


class OpenReservations:
    def __init__(self, services: assembly.Services) -> None:
        self._open = services.access

    def send(
        self,
        request_spec: nova_objects.RequestSpec,
        exists: Callable[[nova_objects.RequestSpec], bool],
    ) -> bool:
        """Make the request ask for an open reservation, if there is one for it
        and this is not its last run.

        :param exists: whether a request is of a server that is moved
        :raises: DatabaseUnavailable, CloudUnavailable
        """
        current_run = run()
        if current_run is None or current_run.sent is not None:
            return False
        if exists(request_spec):
            fitting = self._of_moved(request_spec)
        else:
            fitting = self._of_new(request_spec, current_run.tried)
        first = next(fitting, None)
        if first is None:
            return False
        current_run.sent = Sent(
            to=first.reservation_id,
            original=request_spec.obj_clone(),
            is_whole=first.slot is None,
            # Enough slots are known to be free. If no host is found all the
            # same, the cause is not a lack of slots, and other reservations
            # would not help.
            others=first.slot is None and next(fitting, None) is not None,
        )
        current_run.forget = self._open.forget
        if first.slot is None:
            _ask_by_hint(request_spec, first.reservation_id)
        else:
            ask_for_slot(request_spec, first.reservation_id)
        LOG.debug(
            'Request of server %(server)s is sent to reservation %(id)s',
            {
                'server': request_spec.instance_uuid,
                'id': first.reservation_id,
            },
        )
        return True

    def _of_moved(
        self, request_spec: nova_objects.RequestSpec
    ) -> Iterator[access.Open]:
        """Yield the open reservation in which the server was created, if it
        can still be there."""
        there = self._open.choice(request_spec.instance_uuid)
        if there is not None:
            yield from _fitting(
                request_spec,
                self._open.open_to(request_spec.project_id, only=there),
            )

    def _of_new(
        self, request_spec: nova_objects.RequestSpec, tried: frozenset[str]
    ) -> Iterator[access.Open]:
        """Yield, in order of preference, the untried reservations in which new
        servers of the request may find room."""
        opened = self._open.open_to(request_spec.project_id)
        wanted = request_spec.num_instances
        used: Mapping[str, int] | None = None
        for reservation in _fitting(request_spec, opened):
            if reservation.reservation_id in tried:
                continue
            if reservation.slot is None:
                yield reservation
            elif reservation.slots >= wanted:
                if used is None:
                    used = placement.usages(request_spec.project_id)
                if _are_free(reservation, wanted, used):
                    yield reservation


def _fitting(
    request_spec: nova_objects.RequestSpec, opened: Iterable[access.Open]
) -> list[access.Open]:
    """Return the reservations of whole hosts, and those with large enough
    slots, in order of preference."""
    asked = amounts(request_spec)
    return in_order(
        asked,
        [
            reservation
            for reservation in opened
            if reservation.slot is None
            or (reservation.slots and asked.fits(reservation.slot))
        ],
    )


def in_order(
    asked: quantities.Amounts, fitting: Sequence[access.Open]
) -> list[access.Open]:
    """Sort reservations for a server: first slots of exactly its size, then
    larger ones, the smallest first, then whole hosts. Equal ones keep their
    order.

    So small servers leave large slots to servers that fit into no other.
    """
    # In reverse order the names are VCPU, MEMORY_MB, DISK_GB.
    names = sorted({name for each in fitting for name in each.slot or ()})
    names.reverse()

    def rank(reservation: access.Open) -> tuple[int, list[int]]:
        slot = reservation.slot
        if slot is None:
            return 2, []
        return not slot.fits(asked), [slot[name] for name in names]

    return sorted(fitting, key=rank)


def _are_free(
    reservation: access.Open, wanted: int, used: Mapping[str, int]
) -> bool:
    """Return whether the wanted number of the reservation's slots is free.

    :param used: what the request's project uses, by resource class
    """
    slots = objects.slot_class(reservation.reservation_id)
    if reservation.slots - used.get(slots, 0) < wanted:
        return False
    if not reservation.shared:
        return True
    # One query for the free slots covers the servers of all sharers.
    left = placement.candidates(f'resources={slots}:1').free.values()
    return sum(host[slots] for host in left) >= wanted


def _ask_by_hint(
    request_spec: nova_objects.RequestSpec, reservation_id: str
) -> None:
    """Make nova-scheduler's copy of the request ask for hosts, as if its user
    did; what Nova stores does not."""
    hints = request_spec.scheduler_hints if _has_hints(request_spec) else {}
    request_spec.scheduler_hints = {**hints, objects.HINT: [reservation_id]}


def _has_hints(request_spec: nova_objects.RequestSpec) -> bool:
    return 'scheduler_hints' in request_spec and bool(
        request_spec.scheduler_hints
    )


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
