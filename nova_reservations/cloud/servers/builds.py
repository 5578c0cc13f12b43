# SPDX-License-Identifier: Apache-2.0
"""Servers that Nova is building or moving.

They may land on a host without another check by nova-scheduler: on one of
their alternates, which nova-conductor takes by itself, or on a host that an
administrator has forced. A server may also stay in such a state for ever,
because its nova-conductor was killed.
"""

# Nova's objects get their names only when the process registers them.
from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence

from nova import context as nova_context
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
"""The task states of a server that is moved to a forced host, until that host
builds it. A server that is rebuilt on its own host has one of them, too."""

ACCEPTED = 'accepted'

PREPARING = 'pre-migrating'
"""The status of a resize or cold migration until a host has accepted it; also
after a host has failed to, while nova-conductor tries an alternate."""

UNDER_WAY = [ACCEPTED, PREPARING, 'queued', 'preparing', 'running']


@errors.translated()
def in_flight(
    hosts: Collection[objects.Resource],
) -> Mapping[str, Collection[str]]:
    # Before the cells are queried: a server that gets its cell in between is
    # found in the cell.
    unplaced = _unplaced()
    names = {host.name for host in hosts}
    cells_of = cells.mapped_hosts(names)
    for name in sorted(names - cells_of.keys()):
        raise exception.CloudRefused(
            what=f'Host {name}', reason='Nova has it in no cell'
        )
    placed = {
        cell.uuid: cells.ask([(cell, some)], _in_cell).all()
        for cell, some in cells.by_cell(cells_of)
    }
    return {
        name: unplaced.union(placed[cell.uuid])
        for name, cell in cells_of.items()
    }


def about_to_move(servers: Collection[str]) -> frozenset[str]:
    concerned = cells.of_servers(servers)
    return frozenset(cells.ask(concerned, _about_to_move).all())


def servers_with_alternates(
    reservation_id: str,
    project_ids: Collection[str],
    hosts: Collection[objects.Resource],
    recorded: Collection[str] = (),
) -> Sequence[ports.Server]:
    with errors.translated():
        unplaced = _unplaced(models.BuildRequest.project_id.in_(project_ids))
    projects = list(project_ids)
    placed = cells.ask(
        cells.of_hosts([host.name for host in hosts]),
        lambda context, _: _with_alternates(context, project_id=projects),
    ).all()
    found = unplaced.union(instance.uuid for instance in placed)
    ours = found.intersection(recorded).union(
        find.let_in(reservation_id, found)
    )
    # Leave out servers of which Nova has no more than a stale record.
    known = find.find_servers(ours)
    return [
        known[uuid]
        for uuid in sorted(known)
        if known[uuid].has_alternates or known[uuid].is_being_deleted
    ]


def _unplaced(*which: sa.ColumnElement[bool]) -> frozenset[str]:
    """Return the servers that have a build request, and no cell yet."""
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


def _with_alternates(
    context: nova_context.RequestContext, **filters: list[str]
) -> list[find.Instance]:
    # The task DELETING hides, but does not stop, what was under way before.
    deleted = find.instances(
        context, task_state=[task_states.DELETING], **filters
    )
    moving = _about_to_move(context, [instance.uuid for instance in deleted])
    return [
        *find.instances(context, vm_state=[vm_states.BUILDING], **filters),
        *find.instances(
            context, task_state=[task_states.RESIZE_PREP], **filters
        ),
        *(instance for instance in deleted if instance.uuid in moving),
    ]


def _about_to_move(
    context: nova_context.RequestContext, servers: Collection[str]
) -> list[str]:
    if not servers:
        return []
    # Nova can query the migrations of one server, or of all, but not of
    # several.
    preparing = nova_objects.MigrationList.get_by_filters(
        context, {'status': [PREPARING]}
    )
    return sorted(
        {migration.instance_uuid for migration in preparing}.intersection(
            servers
        )
    )


def _in_cell(
    context: nova_context.RequestContext, hosts: Collection[str]
) -> list[str]:
    found = (
        *_with_alternates(context),
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

    Nova first writes the task state and later the migration with its
    destination, and does not record whether the host was forced. After that
    the server has an allocation of the host, and is found by it.
    """
    moves = nova_objects.MigrationList.get_by_filters(
        context, {'instance_uuid': server, 'status': UNDER_WAY}
    )
    return not moves or any(
        move.status == ACCEPTED and move.dest_compute in hosts
        for move in moves
    )
