# SPDX-License-Identifier: Apache-2.0
"""Queries to cells: only to those concerned, in threads of our own.

Nova queries cells with a pool of five threads per process, which its own
scheduling needs. Five queries to a cell that hangs would block all cells.

Decision 0029: doc/source/decisions/0029-ask-only-the-cells-concerned
"""

# Nova's objects get their names only when the process registers them.
from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import Generic
from typing import TypeAlias
from typing import TypeVar

from nova import context as nova_context
from nova import objects
from nova.db.api import api as api_db
from nova.db.api import models
import sqlalchemy as sa

from nova_reservations import exception
from nova_reservations.cloud import errors
from nova_reservations.cloud import lines
from nova_reservations.cloud import parallel

Result = TypeVar('Result')

Concerned: TypeAlias = 'Sequence[tuple[objects.CellMapping, Sequence[str]]]'
"""Cells, each with the hosts or servers to query it for."""

AT_ONCE = 500
"""The maximum number of names in one query."""

_LINES = lines.Lines()
"""One line per cell for the whole process, as Nova's connections are."""


@dataclasses.dataclass(frozen=True, slots=True)
class Answers(Generic[Result]):
    """Answers of cells.

    :ivar found: the answers of all cells that did answer.
    :ivar unheard: the names for which cells that did not answer were queried.
    :ivar errors: the errors of these cells.
    """

    found: Sequence[Result]
    unheard: frozenset[str]
    errors: Sequence[exception.CloudUnavailable]

    def all(self) -> Sequence[Result]:
        """:raises: CloudUnavailable unless all cells have answered"""
        for error in self.errors:
            raise error
        return self.found


def ask(
    concerned: Concerned,
    function: Callable[
        [nova_context.RequestContext, Sequence[str]], Sequence[Result]
    ],
) -> Answers[Result]:
    """Call function(context, names) in each of the cells.

    An exception is raised, unless it means that the cell does not answer.
    """
    context = nova_context.get_admin_context()

    def put(
        question: tuple[objects.CellMapping, Sequence[str]],
    ) -> Sequence[Result] | exception.CloudUnavailable:
        cell, names = question
        try:
            # A wrong cell mapping must only affect this cell.
            with (
                errors.translated(),
                nova_context.target_cell(context, cell) as targeted,
            ):
                return _LINES.to(cell.uuid, cell.identity).ask(
                    targeted, function, names
                )
        except exception.CloudUnavailable as error:
            return error

    found: list[Result] = []
    unheard: set[str] = set()
    silent = []
    for (_, names), answer in parallel.pairs(put, concerned):
        if isinstance(answer, exception.CloudUnavailable):
            silent.append(answer)
            unheard |= set(names)
        else:
            found += answer
    return Answers(found, frozenset(unheard), silent)


@errors.translated()
def everywhere(names: Sequence[str] = ()) -> Concerned:
    """Return the cells in which Nova schedules servers.

    They are read each time: Nova's own list is as old as the process, and a
    cell that was added since then may hold a server.
    """
    return [
        (cell, names)
        for cell in _known().values()
        if not cell.disabled and not cell.is_cell0()
    ]


@errors.translated()
def of_hosts(hosts: Collection[str]) -> Concerned:
    """Return the cells to which Nova has mapped these hosts. A host without a
    mapping may be in any enabled cell, so it is looked for in all of them."""
    mapped = mapped_hosts(hosts)
    unmapped = sorted(set(hosts) - mapped.keys())
    return together(by_cell(mapped), everywhere(unmapped) if unmapped else [])


@errors.translated()
def mapped_hosts(
    hosts: Collection[str] | None = None,
) -> dict[str, objects.CellMapping]:
    """Return service host -> its cell, without hosts that are not mapped.

    :param hosts: only these; None: all
    """
    mapping = models.HostMapping
    return _mapped(mapping.host, mapping.cell_id, hosts)


@errors.translated()
def of_servers(servers: Collection[str]) -> Concerned:
    """Return the cells of these servers, among them cell0, which has the
    servers that found no host, and disabled cells."""
    mapping = models.InstanceMapping
    return by_cell(_mapped(mapping.instance_uuid, mapping.cell_id, servers))


@errors.translated()
def of_projects(projects: Collection[str]) -> Concerned:
    """Return the cells that have servers of these projects."""
    mapping = models.InstanceMapping
    context = nova_context.get_admin_context()
    with api_db.context_manager.reader.using(context):
        ids = set(
            context.session.scalars(
                sa.select(mapping.cell_id)
                .distinct()
                .where(
                    mapping.project_id.in_(projects),
                    mapping.cell_id.is_not(None),
                )
            )
        )
    known = _known() if ids else {}
    return [
        (known[cell_id], ()) for cell_id in sorted(ids) if cell_id in known
    ]


@errors.translated()
def find(uuid: str) -> objects.CellMapping | None:
    """Return the cell; None if Nova knows none with this UUID."""
    known = _known().values()
    return next((cell for cell in known if cell.uuid == uuid), None)


def batches(
    names: Collection[str], at_once: int = AT_ONCE
) -> Iterator[list[str]]:
    """Yield the names in their order, as many at a time as one query has."""
    ordered = sorted(names)
    for first in range(0, len(ordered), at_once):
        yield ordered[first : first + at_once]


def together(*groups: Concerned) -> Concerned:
    """Return each cell of the groups once, with all of its names."""
    cells: dict[str, objects.CellMapping] = {}
    names: dict[str, set[str]] = defaultdict(set)
    for group in groups:
        for cell, some in group:
            cells[cell.uuid] = cell
            names[cell.uuid].update(some)
    return [(cell, sorted(names[uuid])) for uuid, cell in cells.items()]


def by_cell(cell_of: Mapping[str, objects.CellMapping]) -> Concerned:
    """Return the cells, each with the names that are mapped to it."""
    return together([(cell, [name]) for name, cell in cell_of.items()])


def _mapped(
    name: sa.ColumnElement[str],
    cell_id: sa.ColumnElement[int],
    names: Collection[str] | None,
) -> dict[str, objects.CellMapping]:
    every = sa.select(name, cell_id)
    asked = None if names is None else set(names)
    questions = (
        [every]
        if asked is None
        else [every.where(name.in_(some)) for some in batches(asked)]
    )
    rows: list[tuple[str, int]] = []
    context = nova_context.get_admin_context()
    with api_db.context_manager.reader.using(context):
        for question in questions:
            rows += context.session.execute(question).all()
    known = _known() if rows else {}
    return {
        found: known[cell]
        for found, cell in rows
        # Some databases ignore the case of names.
        if (asked is None or found in asked) and cell in known
    }


def _known() -> dict[int, objects.CellMapping]:
    return {
        cell.id: cell
        for cell in objects.CellMappingList.get_all(
            nova_context.get_admin_context()
        )
    }
