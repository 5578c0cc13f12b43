# SPDX-License-Identifier: Apache-2.0
"""Reservations that expand into others of the same lease: the whole that was
asked for, and its parts.

Parts are ordinary reservations. Nothing is written here; a resource type may
ask the cloud.

Decision 0056: doc/source/decisions/0056-wholes-and-their-parts
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
from typing import Any

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.engine import resource_types
from nova_reservations.objects import ids
from nova_reservations.objects import states
from nova_reservations.types import base
from nova_reservations.types import complex as complex_types

MOST_RESERVATIONS = 64
"""The most reservations of a lease, with all parts."""

MOST_LETTERS = 64
"""The most characters of the name of a part."""

Review = Callable[[str, Mapping[str, Any]], None]
"""Refuses a request for a resource type if its user may not ask for that."""


def allow(resource_type: str, asked: Mapping[str, Any]) -> None:
    """Refuse nothing: the review where no user's rights have to be checked."""


@dataclasses.dataclass(frozen=True, slots=True)
class New:
    """A reservation that is to be made.

    :ivar name: its name as a part; None: it was asked for itself.
    :ivar asked: the request, with the facts that the cloud has given.
    """

    resource_type: str
    asked: Mapping[str, Any]
    params: dict[str, Any]
    name: str | None = None
    parts: tuple['New', ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Changes:
    """Parts that are added or removed as the whole that has them changes.

    :ivar seen: reservation id -> params of the lease as it was read; empty if
        no reservation with parts changes.
    :ivar removed: ids of the parts that are removed.
    """

    seen: Mapping[str, Mapping[str, Any]] = dataclasses.field(
        default_factory=dict
    )
    added: tuple[objects.Reservation, ...] = ()
    removed: frozenset[str] = frozenset()


NO_CHANGES = Changes()


def find(
    types: resource_types.Types,
    asked: Sequence[tuple[str, Mapping[str, Any]]],
    project_id: str,
    review: Review,
) -> list[New]:
    """Return the reservations that one request asks for, with their parts.

    :param asked: pairs of a resource type and a request of it
    :raises: InvalidInput, CloudUnavailable, and what the review raises
    """
    # Checked before the cloud is asked in vain. A whole has at least one part.
    check_count(sum(1 + _is_complex(types, kind) for kind, _ in asked))
    return _find(types, asked, project_id, review)


def _find(
    types: resource_types.Types,
    asked: Sequence[tuple[str, Mapping[str, Any]]],
    project_id: str,
    review: Review,
) -> list[New]:
    looked_up = look_up(types, asked, project_id)
    return [
        _new(types, resource_type, its, project_id, review)
        for (resource_type, _), its in zip(asked, looked_up, strict=True)
    ]


def look_up(
    types: resource_types.Types,
    asked: Sequence[tuple[str, Mapping[str, Any]]],
    project_id: str,
) -> list[Mapping[str, Any]]:
    """Return the requests, in their order, with the facts that the cloud has
    to give. Each type asks the cloud once for all of its requests.

    :raises: InvalidInput, CloudUnavailable
    """
    found: dict[int, Mapping[str, Any]] = {}
    for resource_type in dict.fromkeys(kind for kind, _ in asked):
        alike = {
            place: its
            for place, (kind, its) in enumerate(asked)
            if kind == resource_type
        }
        answers = types.named(resource_type).look_up_all(
            [*alike.values()], project_id
        )
        found |= zip(alike, answers, strict=True)
    return [found[place] for place in range(len(asked))]


def _is_complex(types: resource_types.Types, resource_type: str) -> bool:
    return isinstance(types.named(resource_type), complex_types.Complex)


def _new(
    types: resource_types.Types,
    resource_type: str,
    looked_up: Mapping[str, Any],
    project_id: str,
    review: Review,
) -> New:
    kind = types.named(resource_type)
    params = kind.validate(looked_up)
    parts: list[New] = []
    if isinstance(kind, complex_types.Complex):
        parts = _parts(types, kind, resource_type, params, project_id, review)
    return New(resource_type, looked_up, params, parts=tuple(parts))


def _parts(
    types: resource_types.Types,
    kind: complex_types.Complex,
    resource_type: str,
    params: Mapping[str, Any],
    project_id: str,
    review: Review,
) -> list[New]:
    wanted = kind.expand(params, project_id)
    _check(types, resource_type, wanted)
    for part in wanted:
        review(part.resource_type, part.asked)
    found = _find(
        types,
        [(part.resource_type, part.asked) for part in wanted],
        project_id,
        review,
    )
    return [
        dataclasses.replace(new, name=part.name)
        for part, new in zip(wanted, found, strict=True)
    ]


def _check(
    types: resource_types.Types,
    resource_type: str,
    wanted: Sequence[complex_types.Part],
) -> None:
    """:raises: InvalidInput"""
    if not wanted:
        raise exception.InvalidInput(
            f'This {resource_type} has nothing that could be reserved'
        )
    if len(wanted) >= MOST_RESERVATIONS:
        raise exception.InvalidInput(
            f'This {resource_type} has {len(wanted)} parts, and a lease can '
            f'have {MOST_RESERVATIONS} reservations: ask for less'
        )
    if len({part.name for part in wanted}) < len(wanted):
        raise exception.InvalidInput(
            f'This {resource_type} has two parts of the same name'
        )
    for part in wanted:
        if not 1 <= len(part.name) <= MOST_LETTERS:
            raise exception.InvalidInput(
                f'This {resource_type} has a part whose name is not of 1 to '
                f'{MOST_LETTERS} characters: {part.name[:MOST_LETTERS]}'
            )
        if _is_complex(types, part.resource_type):
            raise exception.InvalidInput(
                f'A {part.resource_type} can not be part of a {resource_type}'
            )


def reservations(
    lease_id: str, found: Iterable[New], now: datetime.datetime
) -> tuple[objects.Reservation, ...]:
    """Return new reservations: first those that were asked for, then all of
    their parts.

    :raises: InvalidInput if there are too many
    """
    wholes, parts = [], []
    for new in found:
        whole = _reservation(lease_id, new, now)
        wholes.append(whole)
        parts += [
            _reservation(lease_id, part, now, whole.id) for part in new.parts
        ]
    check_count(len(wholes) + len(parts))
    return (*wholes, *parts)


def check_count(count: int) -> None:
    """:raises: InvalidInput"""
    if count > MOST_RESERVATIONS:
        raise exception.InvalidInput(
            f'A lease can have {MOST_RESERVATIONS} reservations, and with '
            f'the parts of some this one has {count} at least: ask for less, '
            'or for several leases'
        )


def _reservation(
    lease_id: str, new: New, now: datetime.datetime, part_of: str | None = None
) -> objects.Reservation:
    return objects.Reservation(
        id=ids.new(),
        lease_id=lease_id,
        resource_type=new.resource_type,
        status=states.Reservation.PENDING,
        params=new.params,
        missing_resources=False,
        resources_changed=False,
        created_at=now,
        updated_at=None,
        part_of=part_of,
        part_name=new.name,
    )


def check_not_alone(seen: objects.Lease, asked: Iterable[str]) -> None:
    """Refuse direct changes of parts: the whole must be changed.

    :param asked: ids of the reservations that somebody wants to change
    :raises: InvalidInput
    """
    known = {item.id: item for item in seen.reservations}
    for reservation_id in asked:
        item = known.get(reservation_id)
        if item is not None and item.part_of is not None:
            raise exception.InvalidInput(
                f'Reservation {item.id} is part of reservation '
                f'{item.part_of}: change that one'
            )


def changed(
    types: resource_types.Types,
    seen: objects.Lease,
    asked: Mapping[str, Mapping[str, Any]],
    now: datetime.datetime,
    review: Review,
) -> tuple[dict[str, Mapping[str, Any]], Changes]:
    """Return reservation id -> request, of the parts that change because their
    whole changes, and the parts that are added or removed.

    :param asked: reservation id -> the changes of its request, with the facts
        that the cloud has given
    :raises: InvalidInput, and what the review raises
    """
    expanded = False
    requests: dict[str, Mapping[str, Any]] = {}
    added: list[objects.Reservation] = []
    removed: set[str] = set()
    for item in seen.reservations:
        kind = types.get(item.resource_type)
        if item.id not in asked or not isinstance(kind, complex_types.Complex):
            continue
        expanded = True
        params = kind.validate({**item.params, **asked[item.id]})
        found = _parts(
            types, kind, item.resource_type, params, seen.project_id, review
        )
        before = seen.parts_of(item.id)
        for new in found:
            old = before.get(new.name or '')
            if old is None or old.resource_type != new.resource_type:
                added.append(_reservation(seen.id, new, now, item.id))
                continue
            del before[old.part_name or '']
            if old.params != new.params:
                requests[old.id] = new.asked
        removed |= {part.id for part in before.values()}
    check_count(len(seen.reservations) + len(added) - len(removed))
    if not expanded:
        return {}, NO_CHANGES
    return requests, Changes(_params(seen), tuple(added), frozenset(removed))


def apply(
    seen: objects.Lease, changes: Changes
) -> tuple[objects.Reservation, ...]:
    """Return the reservations of a lease with the added parts, and without
    the removed ones.

    :raises: InvalidState if a part can not be removed any more
    :raises: Contended if the lease has changed since they were found
    """
    if changes.seen and changes.seen != _params(seen):
        raise exception.Contended
    for item in seen.reservations:
        if item.id in changes.removed and seen.in_nova:
            raise base.refused_change(
                item,
                f'as part {item.part_name} of reservation {item.part_of} it '
                'can not be left out any more: something of the lease is in '
                'Nova',
            )
    status = states.Reservation.PENDING
    if seen.status == states.Lease.ACTIVE:
        status = states.Reservation.ACTIVE
    stay = [
        item for item in seen.reservations if item.id not in changes.removed
    ]
    come = [dataclasses.replace(item, status=status) for item in changes.added]
    return (*stay, *come)


def _params(lease: objects.Lease) -> dict[str, Mapping[str, Any]]:
    return {item.id: item.params for item in lease.reservations}
