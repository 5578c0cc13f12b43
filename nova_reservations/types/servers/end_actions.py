# SPDX-License-Identifier: Apache-2.0
"""End actions on the servers of a reservation, for all resource types.

A resource type finds the servers of a reservation, and calls ``leave`` with
them again and again, until there are none.
"""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
import datetime
from typing import Any

from oslo_config import cfg

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.types import base

Servers = Collection[ports.Server]

Told = dict[str, objects.Reason]
"""Server UUID -> what becomes of it."""

_plain = objects.Reason.plain

DELETE = 'delete'
SHELVE = 'shelve'
MIGRATE = 'migrate'

_MINUTES = {
    'oneOf': [
        {'type': 'integer', 'minimum': 0, 'maximum': 1440},
        {
            'type': 'string',
            'pattern': '^[0-9]{1,4}$',
            'description': 'a whole number of minutes',
        },
        {'type': 'null'},
    ]
}

PROPERTIES: Mapping[str, Any] = {
    'end_action': {'type': ['string', 'null'], 'maxLength': 64},
    'end_grace': _MINUTES,
}
"""The part of a reservation's schema that ``validate`` understands."""

REVERT = datetime.timedelta(minutes=10)
"""A resize whose revert takes longer counts as given up by its host."""

_REVERTING = 'resize_reverting'

RETRY = datetime.timedelta(minutes=1)
"""The time between two attempts at an action that has failed in Nova."""


def validate(
    asked: Mapping[str, Any], cloud: ports.Cloud, conf: cfg.ConfigOpts
) -> dict[str, Any]:
    """Return the params of the end action.

    :raises: InvalidInput
    """
    allowed = conf.reservations.allowed_end_actions
    default = DELETE if DELETE in allowed else allowed[0]
    action = asked.get('end_action') or default
    if action not in allowed:
        raise exception.InvalidInput(
            f'end_action {action} is not offered here; choose one of: '
            f'{", ".join(allowed)}'
        )
    if action != DELETE and not cloud.servers.acts_for_projects():
        raise exception.InvalidInput(
            f'end_action {action} can not be offered: this Nova has no '
            '[service_user]; ask the operator'
        )
    grace = int(asked.get('end_grace') or 0)
    if grace > conf.reservations.max_end_grace:
        raise exception.InvalidInput(
            f'end_grace can be {conf.reservations.max_end_grace} minutes '
            'at most'
        )
    return {'end_action': action, 'end_grace': grace}


def grace(params: Mapping[str, Any]) -> datetime.timedelta:
    """Return how long servers have to shut down after the end."""
    return datetime.timedelta(minutes=params.get('end_grace', 0))


def leave(
    servers: Servers, booking: base.Booking, cloud: ports.Cloud
) -> Mapping[str, objects.Reason]:
    """Remove servers from their hosts by the end action of the reservation.

    Each server goes on independently of the others. Call it again after a
    crash, and as long as there are servers. A server that has been moved away
    stays where it is; its open resize is confirmed, because it can't come back
    any more.

    :returns: server UUID -> what becomes of the server, or what is in the
        way; a phrase that continues a sentence after the server's name
    """
    reservation = booking.reservation
    # Servers that their user, or an earlier call, has asked Nova to delete.
    deleted = [server for server in servers if server.is_being_deleted]
    told = delete(deleted, booking, cloud)
    told |= _let_go(
        [
            server
            for server in servers
            if is_between(server, booking.now) and server.uuid not in told
        ],
        booking,
        cloud,
    )
    stopping = [
        server
        for server in servers
        if booking.ending < grace(reservation.params)
        and server.state == ports.ServerState.ACTIVE
        and server.uuid not in told
    ]
    refused = cloud.servers.stop_servers(stopping, booking.order())
    told |= told_of(stopping, refused, 'does not stop: ', 'is to stop')
    leaving = [server for server in servers if server.uuid not in told]
    action = reservation.params.get('end_action', DELETE)
    return told | _ACTIONS[action](leaving, booking, cloud)


def is_between(server: ports.Server, now: datetime.datetime) -> bool:
    """Return whether a server counts elsewhere, or will in a moment: it has
    been moved away, or a resize to here is being reverted.

    Decision 0063: doc/source/decisions/0063-who-counts-it-has-it
    """
    if server.task == _REVERTING:
        written_at = server.written_at or now
        return now - written_at < REVERT
    return bool(server.moved_to)


def _let_go(
    servers: Servers, booking: base.Booking, cloud: ports.Cloud
) -> Told:
    resized = [
        server
        for server in servers
        if server.state == ports.ServerState.RESIZED and server.task is None
    ]
    refused = cloud.servers.confirm_resizes(resized, booking.order())
    told = {server.uuid: _plain('is being moved out') for server in servers}
    return told | told_of(
        resized,
        refused,
        'was moved out, and its resize can not be confirmed: ',
        'was moved out, and its resize is being confirmed',
    )


def delete(
    servers: Servers, booking: base.Booking, cloud: ports.Cloud
) -> Told:
    refused = cloud.servers.delete_servers(
        servers, booking.check, now=booking.now
    )
    return told_of(
        servers, refused, 'can not be deleted: ', 'is being deleted'
    )


def _shelve(
    servers: Servers, booking: base.Booking, cloud: ports.Cloud
) -> Told:
    refused = cloud.servers.shelve_servers(servers, last_order(booking))
    return told_of(
        servers, refused, 'can not be shelved: ', 'is being shelved'
    )


def _migrate(
    servers: Servers, booking: base.Booking, cloud: ports.Cloud
) -> Told:
    """Migrate servers; shelve those for which no other host has room."""
    outcome = cloud.servers.migrate_servers(servers, booking.order())
    stranded = [server for server in servers if server.uuid in outcome.failed]
    shelved = _shelve(stranded, booking, cloud) if stranded else {}
    told = {server.uuid: _plain('is being migrated') for server in servers}
    return told | {
        **outcome.waiting,
        **shelved,
    }


def last_order(booking: base.Booking) -> ports.Order:
    """Return an order that is another one for each attempt at the end."""
    return booking.order(booking.ending // RETRY)


def told_of(
    servers: Servers,
    refused: Mapping[str, objects.Reason],
    refusal: str,
    progress: str,
) -> Told:
    """Return what becomes of servers of which Nova has refused some.

    :param refusal: what is said before the reason
    :param progress: what is said of the others
    """
    return {
        server.uuid: refused[server.uuid].after(refusal)
        if server.uuid in refused
        else _plain(progress)
        for server in servers
    }


_ACTIONS: Mapping[
    str, Callable[[Servers, base.Booking, ports.Cloud], Told]
] = {DELETE: delete, SHELVE: _shelve, MIGRATE: _migrate}
