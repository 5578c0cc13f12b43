# SPDX-License-Identifier: Apache-2.0
"""nova-conductors, and whether each of them guards its claims.

A nova-conductor that is not guarded, or older than the guard, does not know
what it is asked, and says so at once. A stopped one says nothing.
"""

from collections import defaultdict
from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import dataclasses
import enum
import socket
import threading
from typing import Any

from nova import context as nova_context
from nova import objects
from nova import rpc
import oslo_messaging

from nova_reservations import exception
from nova_reservations.cloud import cells
from nova_reservations.cloud import errors

NAMESPACE = 'nova_reservations'
VERSION = '1.0'
TOPIC = 'conductor'

SECONDS = 5.0
"""For how long each of them, and each host of the bus, is waited for."""

_AMQP = 5672


class Said(enum.Enum):
    GUARDED = enum.auto()
    NOT_GUARDED = enum.auto()
    NOTHING = enum.auto()


@dataclasses.dataclass(frozen=True, slots=True)
class Conductor:
    """:ivar host: as Nova's services name it.

    :ivar cell: the name of its cell.
    :ivar transport: of oslo.messaging, to the bus of the cell.
    """

    host: str
    cell: str
    transport: Any

    def __str__(self) -> str:
        return f'nova-conductor on {self.host} (cell {self.cell})'


@dataclasses.dataclass(frozen=True, slots=True)
class Lost:
    """A host of a message bus that can't be connected to.

    :ivar configured: what has a ``transport_url`` that names it.
    """

    address: str
    reason: str
    configured: Sequence[str]


@errors.translated()
def everywhere() -> list[Conductor]:
    """Return those that Nova's services name in all cells, cell0 as well:
    there are those that all cells share.

    :raises: CloudUnavailable
    """
    every = objects.CellMappingList.get_all(nova_context.get_admin_context())
    answers = cells.ask(
        [(cell, (cell.name or cell.uuid,)) for cell in every], _of_cell
    )
    return sorted(answers.all(), key=lambda each: (each.cell, each.host))


def _of_cell(
    context: nova_context.RequestContext, names: Sequence[str]
) -> list[Conductor]:
    return [
        Conductor(service.host, names[0], context.mq_connection)
        for service in objects.ServiceList.get_by_binary(
            context, 'nova-conductor', include_disabled=True
        )
    ]


def ask(
    asked: Sequence[Conductor], seconds: float = SECONDS
) -> Iterator[tuple[Conductor, Said]]:
    """Ask all at once whether they are guarded; yield what each has said.

    Without a bus they say nothing.

    :raises: cfg.Error if an option of the bus has no valid value
    """
    clients = [_client(each, seconds) for each in asked]
    said = [Said.NOTHING] * len(asked)

    def put(number: int) -> None:
        with contextlib.suppress(exception.CloudUnavailable):
            said[number] = _ask(clients[number])

    # Nothing waits for these threads for longer, not even the process's end:
    # oslo.messaging waits for a lost bus for ever.
    threads = [
        threading.Thread(target=put, args=(number,), daemon=True)
        for number in range(len(asked))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(2 * seconds)
    yield from zip(asked, said, strict=True)


def _client(conductor: Conductor, seconds: float) -> Any:
    return oslo_messaging.get_rpc_client(
        # The conductors that all cells share listen to the bus of nova.conf.
        conductor.transport or rpc.TRANSPORT,
        oslo_messaging.Target(
            topic=TOPIC, namespace=NAMESPACE, version=VERSION
        ),
        serializer=rpc.RequestContextSerializer(None),
    ).prepare(server=conductor.host, timeout=seconds)


@errors.translated()
def _ask(client: Any) -> Said:
    try:
        client.call(nova_context.get_admin_context(), 'is_guarded')
    except oslo_messaging.MessagingTimeout:
        return Said.NOTHING
    # The second is what it is when it comes over a bus.
    except (oslo_messaging.UnsupportedVersion, oslo_messaging.RemoteError):
        return Said.NOT_GUARDED
    return Said.GUARDED


@errors.translated()
def unreachable() -> list[Lost]:
    """Return which hosts of message buses, of nova.conf and of cells, can't
    be connected to.

    :raises: CloudUnavailable
    """
    every = objects.CellMappingList.get_all(nova_context.get_admin_context())
    found: dict[tuple[str, int], list[str]] = defaultdict(list)
    for url, where in (
        (None, '[DEFAULT] in nova.conf'),
        *(
            (cell.transport_url, f'cell {cell.name or cell.uuid}')
            for cell in every
        ),
    ):
        parsed = rpc.get_transport_url(url)
        if parsed.transport in ('rabbit', 'kombu'):
            for host in parsed.hosts:
                found[host.hostname, host.port or _AMQP].append(where)
    lost = []
    for (host, port), configured in found.items():
        try:
            socket.create_connection((host, port), SECONDS).close()
        except OSError as error:
            lost.append(Lost(f'{host}:{port}', str(error), configured))
    return lost
