# SPDX-License-Identifier: Apache-2.0
"""The cells of a Nova with several cells. The connections of each cell to its
database and its message bus can be cut, without those of the others."""

from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses

import sqlalchemy.engine

from sandbox import broker
from sandbox import layout as lo
from sandbox import proxies


@dataclasses.dataclass(frozen=True)
class Wires:
    """The connections by which all programs, including the cell's own, reach a
    cell."""

    database: proxies.Wire
    bus: proxies.Wire


@contextlib.contextmanager
def lent(
    count: int, name: str, database_url: str, transport_url: str
) -> Iterator[tuple[tuple[lo.Cell, ...], Mapping[str, Wires]]]:
    """Yield so many cells, and name of a cell -> its wires.

    A single cell has no database or bus of its own, and no wires.

    :param name: the name of the sandbox
    :param database_url: the server on which their databases are created
    :param transport_url: the broker on which their virtual hosts are created
    :raises Unexpected: if these can't be created
    """
    if count == 1:
        yield lo.ONE_CELL, {}
        return
    cells = []
    wires = {}
    with contextlib.ExitStack() as stack:
        for cell, hosts in lo.hosts_of_cells(count).items():
            bus = stack.enter_context(
                broker.lent(transport_url, f'{name}-{cell}', alone=False)
            )
            wires[cell] = Wires(
                stack.enter_context(_wire(database_url, 3306)),
                stack.enter_context(_wire(bus, 5672)),
            )
            cells.append(
                lo.Cell(
                    cell,
                    hosts,
                    f'nova_{cell}',
                    through(wires[cell].database, database_url),
                    through(wires[cell].bus, bus),
                )
            )
        yield tuple(cells), wires


@contextlib.contextmanager
def _wire(url: str, port: int) -> Iterator[proxies.Wire]:
    server = sqlalchemy.engine.make_url(url)
    with contextlib.closing(
        proxies.Wire(server.host or '127.0.0.1', server.port or port)
    ) as wire:
        yield wire


def through(wire: proxies.Wire, url: str) -> str:
    """Return the URL by which a server is reached through a wire."""
    return (
        sqlalchemy.engine.make_url(url)
        .set(host='127.0.0.1', port=wire.port)
        .render_as_string(hide_password=False)
    )
