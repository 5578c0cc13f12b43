# SPDX-License-Identifier: Apache-2.0
"""Servers that Nova is building or moving: they may have alternates, which
nova-conductor takes without asking nova-scheduler; or a host that somebody
has named, and forced.

Or nobody goes on with them, because a nova-conductor was killed.
"""

# Nova's objects get their names only when the process registers them.
from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence

from nova import context as nova_context
from nova import exception as nova_exception
from nova import objects as nova_objects
from nova.compute import task_states
from nova.compute import vm_states
from nova.db.api import api as api_db
from nova.db.api import models
import sqlalchemy as sa

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.cloud import cells
from nova_reservations.cloud import errors
from nova_reservations.cloud.servers import find

BY_FORCE = [task_states.MIGRATING, task_states.REBUILDING]
"""The tasks of a server that is moved past the scheduler, from the beginning
until its host builds it. A server that is rebuilt on its host has one, too."""

ACCEPTED = 'accepted'
UNDER_WAY = [ACCEPTED, 'pre-migrating', 'queued', 'preparing', 'running']


@errors.translated()
def in_flight(
    hosts: Collection[objects.Resource],
) -> Mapping[str, Collection[str]]:
    # First: what gets its cell meanwhile is found there.
    unplaced = _unplaced()
    cells_of = {host.name: _cell_of(host) for host in hosts}
    placed = {
        cell.uuid: cells.ask_each(
            [cell], _in_cell, {host.name for host in hosts}
        )
        for cell in {cell.uuid: cell for cell in cells_of.values()}.values()
    }
    return {
        name: unplaced.union(placed[cell.uuid])
        for name, cell in cells_of.items()
    }


def building_servers(
    reservation_id: str, project_id: str
) -> Sequence[ports.Server]:
    with errors.translated():
        unplaced = _unplaced(models.BuildRequest.project_id == project_id)
    ours = find.let_in(
        reservation_id, unplaced.union(cells.ask(_of_project, project_id))
    )
    # Nova may know no more of one than a record in a cell.
    known = find.find_servers(ours)
    return [
        known[uuid]
        for uuid in sorted(known)
        if known[uuid].state == vm_states.BUILDING
    ]


def _unplaced(*which: sa.ColumnElement[bool]) -> frozenset[str]:
    """Return the servers that are to be built, and have no cell yet."""
    request, mapping = models.BuildRequest, models.InstanceMapping
    context = nova_context.get_admin_context()
    with api_db.context_manager.reader.using(context):
        return frozenset(
            context.session.scalars(
                sa.select(request.instance_uuid)
                .outerjoin(
                    mapping, mapping.instance_uuid == request.instance_uuid
                )
                .where(
                    request.instance_uuid.is_not(None),
                    mapping.cell_id.is_(None),
                    *which,
                )
            )
        )


def _cell_of(host: objects.Resource) -> nova_objects.CellMapping:
    try:
        return nova_objects.HostMapping.get_by_host(
            nova_context.get_admin_context(), host.name
        ).cell_mapping
    except nova_exception.HostMappingNotFound as error:
        raise exception.CloudRefused(
            what=f'Host {host.name}', reason='Nova has it in no cell'
        ) from error


def _of_project(
    context: nova_context.RequestContext, project_id: str
) -> list[str]:
    return [
        instance.uuid
        for instance in find.instances(
            context, project_id=[project_id], vm_state=[vm_states.BUILDING]
        )
    ]


def _in_cell(
    context: nova_context.RequestContext, hosts: Collection[str]
) -> list[str]:
    found = (
        *find.instances(context, vm_state=[vm_states.BUILDING]),
        *find.instances(context, task_state=[task_states.RESIZE_PREP]),
        *(
            moving
            for moving in find.instances(context, task_state=BY_FORCE)
            if _may_move_to(context, moving.uuid, hosts)
        ),
    )
    return [instance.uuid for instance in found]


def _may_move_to(
    context: nova_context.RequestContext, server: str, hosts: Collection[str]
) -> bool:
    """Return whether somebody may have forced a server onto one of the hosts.

    Nova writes what it does first, and then where to; it does not write
    whether that was forced. What is on its way further than that has claimed
    its host, and is seen there.
    """
    moves = nova_objects.MigrationList.get_by_filters(
        context, {'instance_uuid': server, 'status': UNDER_WAY}
    )
    return not moves or any(
        move.status == ACCEPTED and move.dest_compute in hosts
        for move in moves
    )
