# SPDX-License-Identifier: Apache-2.0
"""Questions to every cell. A cell that does not answer is no empty cell."""

# Nova's objects get their names only when the process registers them.
from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from typing import Any
from typing import TypeVar

from nova import context as nova_context
from nova import objects

from nova_reservations import exception
from nova_reservations.cloud import errors

Result = TypeVar('Result')


def ask(function: Callable[..., list[Result]], *args: Any) -> list[Result]:
    """Call function(context, *args) in each cell; return all they found.

    Cells are read anew each time: Nova's own list is as old as the process,
    and a cell that was added since may hold a server.

    :raises: CloudUnavailable unless all cells have answered
    """
    with errors.translated():
        known = objects.CellMappingList.get_all(
            nova_context.get_admin_context()
        )
    cells = [cell for cell in known if not cell.is_cell0()]
    return ask_each(cells, function, *args)


@errors.translated()
def ask_each(
    cells: Collection[objects.CellMapping],
    function: Callable[..., list[Result]],
    *args: Any,
) -> list[Result]:
    """Call function(context, *args) in these cells; return all they found.

    :raises: CloudUnavailable unless all of them have answered
    """
    context = nova_context.get_admin_context()
    answers = nova_context.scatter_gather_cells(
        context, cells, nova_context.CELL_TIMEOUT, function, *args
    )
    for cell in cells:
        answer = answers[cell.uuid]
        if nova_context.is_cell_failure_sentinel(answer):
            raise exception.CloudUnavailable(
                service=f'Cell {cell.identity}',
                reason=answer
                if isinstance(answer, Exception)
                else 'it did not answer in time',
            )
    return [found for answer in answers.values() for found in answer]
