# SPDX-License-Identifier: Apache-2.0
"""Servers that run only in a window of time: they are shelved until its start,
unshelved then, and saved, suspended or deleted at its end.

Each function looks at the state of the servers, asks Nova for the next step,
and is called again as long as it returns Waiting. Nova's instance actions tell
which steps were already begun, by any worker.

Decision 0014: doc/source/decisions/0014-a-server-is-shelved
"""

from collections.abc import Collection
from collections.abc import Mapping
import datetime

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.objects import states
from nova_reservations.types import base
from nova_reservations.types.servers import end_actions

CREATE_IMAGE = 'create_image'
SUSPEND = 'suspend'
DELETE = 'delete'

ENDINGS = (CREATE_IMAGE, SUSPEND, DELETE)
"""End actions, in the order in which they are done."""

_OFFLOADED = ports.ServerState.SHELVED_OFFLOADED
_SHELVES = frozenset({ports.ServerState.SHELVED, _OFFLOADED})

_plain = objects.Reason.plain

_GONE = base.Waiting('Its servers are gone')
"""The periodic task that looks for deleted servers ends the lease."""


def shelve(booking: base.Booking, cloud: ports.Cloud) -> base.Waiting | None:
    """Shelve the servers, so that they are on no host until the start.

    :raises: Hopeless if none of them could be built
    """
    servers = _sound(booking, cloud)
    if not servers:
        return _GONE
    told = {
        server.uuid: _plain('is being built')
        if server.state == ports.ServerState.BUILDING
        else _plain('is being shelved')
        for server in servers
        if not _is_offloaded(server)
    }
    try:
        outcome = _shelve(
            [
                server
                for server in servers
                if server.uuid in told
                and server.state != ports.ServerState.BUILDING
            ],
            _order(booking, booking.now),
            cloud,
        )
    except exception.CloudRefused as error:
        return base.Waiting(error.public)
    return _waiting(servers, told | {**outcome.failed})


def unshelve(
    booking: base.Booking,
    cloud: ports.Cloud,
    timeout: datetime.timedelta,
    hosts: Collection[str] | None = None,
) -> base.Waiting | None:
    """Unshelve the servers; leave one that its user has changed as it is.

    :param timeout: for how long after the start this is tried
    :param hosts: the hosts on which servers are unshelved; a server that runs
        elsewhere is shelved first. None: any host.
    :raises: CloudRefused if none of them could be unshelved in time;
        Hopeless if none of them could be built
    """
    servers = _sound(booking, cloud)
    if not servers:
        return _GONE
    deadline = _began(booking) + timeout
    late = booking.now >= deadline
    # From the deadline on the key stays the same, so that at most one more
    # attempt is made.
    order = _order(booking, min(booking.now, deadline))
    try:
        outcome = _call_back(servers, hosts, order, cloud)
    except exception.CloudRefused as error:
        if late:
            raise
        return base.Waiting(error.public)
    waiting = _waiting(servers, {**outcome.waiting, **outcome.failed})
    if waiting is None or outcome.waiting or not late:
        return waiting
    if len(outcome.failed) < len(servers):
        # Servers that run are worth more to their owner than a lease in ERROR.
        return None
    raise exception.ServersRefused(
        what='Unshelving servers at the start',
        reason=waiting.why.whole,
        told=waiting.reason,
    )


def end(
    booking: base.Booking,
    cloud: ports.Cloud,
    in_the_way: Collection[str] = (),
) -> base.Waiting | None:
    """Run the end actions of the lease on its servers.

    :param in_the_way: UUIDs of servers that have to go even if the lease is
        in ERROR
    """
    status = booking.reservation.status
    wanted = booking.reservation.params['on_end']
    ids = booking.reservation.living
    if status == states.Reservation.ERROR:
        # The other servers are left as they are, for their owner to look at.
        ids = tuple(uuid for uuid in ids if uuid in in_the_way)
    if status == states.Reservation.DELETED:
        # Nova has refused the request for these servers, possibly after the
        # lease was given up. Delete whatever it has made of them.
        wanted = [DELETE]
        ids = tuple(server.uuid for server in booking.reservation.servers)
    servers = tuple(cloud.servers.find_servers(ids).values())
    told: dict[str, objects.Reason] = {}
    for action in ENDINGS:
        if action not in wanted:
            continue
        # Each server goes on as soon as its own previous action is over.
        ready = [
            server
            for server in servers
            if server.uuid not in told
            and (action == DELETE or not _is_worthless(server, wanted))
        ]
        try:
            told |= _act(action, ready, booking, cloud, CREATE_IMAGE in wanted)
        except exception.CloudRefused as error:
            return base.Waiting(error.public)
    return _waiting(servers, told)


def _call_back(
    servers: Collection[ports.Server],
    hosts: Collection[str] | None,
    order: ports.Order,
    cloud: ports.Cloud,
) -> ports.Outcome:
    """Unshelve shelved servers; shelve those that run on a wrong host.

    :raises: CloudRefused
    """
    building = {
        server.uuid: _plain('is being built')
        for server in servers
        if server.state == ports.ServerState.BUILDING
    }
    astray = {
        server.uuid
        for server in servers
        if hosts is not None
        and server.host
        and server.host not in hosts
        and server.state not in (ports.ServerState.BUILDING, _OFFLOADED)
    }
    leaving = _shelve(
        [server for server in servers if server.uuid in astray],
        order,
        cloud,
    )
    coming = cloud.servers.unshelve_servers(
        [
            server
            for server in servers
            if _is_shelved(server) and server.uuid not in astray
        ],
        order,
    )
    return ports.Outcome(
        {**coming.waiting, **leaving.waiting, **building},
        {**coming.failed, **leaving.failed},
    )


def _shelve(
    servers: Collection[ports.Server],
    order: ports.Order,
    cloud: ports.Cloud,
) -> ports.Outcome:
    """:raises: CloudRefused"""
    refused = cloud.servers.shelve_servers(servers, order)
    return ports.Outcome(
        {
            server.uuid: _plain('is being shelved')
            for server in servers
            if server.uuid not in refused
        },
        {
            uuid: reason.after('can not be shelved: ')
            for uuid, reason in refused.items()
        },
    )


def _act(
    action: str,
    servers: Collection[ports.Server],
    booking: base.Booking,
    cloud: ports.Cloud,
    keep_images: bool,
) -> dict[str, objects.Reason]:
    """Ask Nova for the next step of an end action; return what the servers
    wait for.

    :raises: CloudRefused
    """
    order = end_actions.last_order(booking)
    if action == CREATE_IMAGE:
        return _said(cloud.servers.save_servers(servers, order), 'saved')
    if action == SUSPEND:
        return _said(
            cloud.servers.suspend_servers(servers, order), 'suspended'
        )
    refused = cloud.servers.delete_servers(
        servers, booking.check, keep_images=keep_images, now=booking.now
    )
    return end_actions.told_of(
        servers, refused, 'can not be deleted: ', 'is being deleted'
    )


def _said(outcome: ports.Outcome, what: str) -> dict[str, objects.Reason]:
    waits = {
        uuid: reason.after(f'waits to be {what}: ')
        for uuid, reason in outcome.waiting.items()
    }
    fails = {
        uuid: reason.after(f'can not be {what}: ')
        for uuid, reason in outcome.failed.items()
    }
    return waits | fails


def _sound(
    booking: base.Booking, cloud: ports.Cloud
) -> tuple[ports.Server, ...]:
    """Return the servers that exist, or are being built, without those in
    ERROR.

    :raises: Hopeless if all servers are in ERROR
    """
    servers = cloud.servers.find_servers(booking.reservation.living).values()
    sound = tuple(
        server for server in servers if server.state != ports.ServerState.ERROR
    )
    if servers and not sound:
        raise exception.Hopeless(
            what='Making the servers',
            reason='; '.join(
                f'server {server.uuid}: {server.fault or "Nova failed at it"}'
                for server in list(servers)[:20]
            ),
        )
    return sound


def _is_offloaded(server: ports.Server) -> bool:
    """Return whether a server is on no host.

    Nova sets the state a moment before it takes the server off its host."""
    return server.state == _OFFLOADED and not (server.task or server.host)


def _is_shelved(server: ports.Server) -> bool:
    return server.state in _SHELVES or (server.task or '').startswith(
        'shelving'
    )


def _is_worthless(server: ports.Server, wanted: Collection[str]) -> bool:
    """Return whether nothing of a server needs to be kept: it is being
    deleted, by its user or after it was saved; or it is to be deleted, and has
    never run."""
    return server.is_being_deleted or (
        server.state == ports.ServerState.BUILDING and DELETE in wanted
    )


def _order(booking: base.Booking, now: datetime.datetime) -> ports.Order:
    age = now - booking.lease.created_at
    return booking.order(age // end_actions.RETRY)


def _began(booking: base.Booking) -> datetime.datetime:
    """Return when the start was begun, which may be after the start date."""
    start = booking.lease.event(states.EventType.START)
    if start is not None and start.status == states.Event.IN_PROGRESS:
        return start.updated_at or booking.lease.start_date
    return booking.lease.start_date


def _waiting(
    servers: Collection[ports.Server], told: Mapping[str, objects.Reason]
) -> base.Waiting | None:
    reasons = [
        told[server.uuid].after(f'server {server.uuid} ({server.condition}) ')
        for server in servers
        if server.uuid in told
    ]
    return base.Waiting.on(reasons) if reasons else None
