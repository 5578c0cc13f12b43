# SPDX-License-Identifier: Apache-2.0
"""Flavors and scheduler hints that Nova has stored for servers, and reads when
it schedules them again.

A server's flavor is stored in its cell and in its request spec; hints are in
the request spec only. Searches bypass Nova's objects, because these load one
server at a time. Changes are made through Nova's objects.
"""

# Nova's objects get their names only when the process registers them.
from __future__ import annotations

from collections.abc import Collection

from nova import context as nova_context
from nova import objects
from nova.db.api import api as api_db
from nova.db.api import models as api_models
from nova.db.main import api as main_db
from nova.db.main import models as main_models
from oslo_serialization import jsonutils
import sqlalchemy as sa

from nova_reservations.cloud import cells


def naming(text: str, servers: Collection[str]) -> list[str]:
    """Return the servers with a stored flavor that contains the text, by two
    queries per 500 servers."""
    found: set[str] = set()
    for some in cells.batches(servers):
        in_cells = cells.ask(
            cells.of_servers(some),
            lambda context, uuids: _in_cell(context, uuids, text),
        )
        found.update(in_cells.all())
        found.update(_in_requests(text, some))
    return sorted(found)


def hinted(hint: str, value: str, servers: Collection[str]) -> set[str]:
    """Return the servers whose request had the hint, by one query per 500
    servers."""
    found: set[str] = set()
    for some in cells.batches(servers):
        found.update(_hinted(hint, value, some))
    return found


def _hinted(hint: str, value: str, uuids: list[str]) -> list[str]:
    spec = api_models.RequestSpec
    context = nova_context.get_admin_context()
    with api_db.context_manager.reader.using(context):
        rows = context.session.execute(
            sa.select(spec.instance_uuid, spec.spec).where(
                spec.instance_uuid.in_(uuids),
                # A rough filter: the hint itself is compared below.
                spec.spec.contains(value, autoescape=True),
            )
        ).all()
    return [row.instance_uuid for row in rows if value in _hint(row, hint)]


def _hint(row: sa.Row[tuple[str, str]], hint: str) -> list[str]:
    """Return the values of a hint; Nova stores a list even for one value."""
    stored = jsonutils.loads(row.spec)['nova_object.data']
    return (stored.get('scheduler_hints') or {}).get(hint) or []


def _in_cell(
    context: nova_context.RequestContext, uuids: Collection[str], text: str
) -> list[str]:
    extra = main_models.InstanceExtra
    with main_db.get_context_manager(context).reader.using(context):
        return list(
            context.session.scalars(
                sa.select(extra.instance_uuid).where(
                    extra.instance_uuid.in_(uuids),
                    extra.deleted == 0,
                    extra.flavor.contains(text, autoescape=True),
                )
            )
        )


def _in_requests(text: str, uuids: list[str]) -> list[str]:
    spec = api_models.RequestSpec
    context = nova_context.get_admin_context()
    with api_db.context_manager.reader.using(context):
        return list(
            context.session.scalars(
                sa.select(spec.instance_uuid).where(
                    spec.instance_uuid.in_(uuids),
                    spec.spec.contains(text, autoescape=True),
                )
            )
        )


def forget(server: str, keys: Collection[str]) -> None:
    """Remove extra specs from the stored flavors of a server.

    :raises: InstanceMappingNotFound, InstanceNotFound, RequestSpecNotFound:
        Nova's own
    """
    context = nova_context.get_admin_context()
    mapping = objects.InstanceMapping.get_by_instance_uuid(context, server)
    with nova_context.target_cell(context, mapping.cell_mapping) as cell:
        instance = objects.Instance.get_by_uuid(
            cell, server, expected_attrs=['flavor']
        )
        if _drop(instance.flavor, keys):
            instance.save()
    spec = objects.RequestSpec.get_by_instance_uuid(
        nova_context.get_admin_context(), server
    )
    if _drop(spec.flavor, keys):
        spec.save()


def _drop(flavor: objects.Flavor, keys: Collection[str]) -> bool:
    """Remove extra specs; return whether the flavor had any of them."""
    if not flavor.extra_specs.keys() & keys:
        return False
    flavor.extra_specs = {
        key: value
        for key, value in flavor.extra_specs.items()
        if key not in keys
    }
    return True
