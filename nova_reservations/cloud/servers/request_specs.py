# SPDX-License-Identifier: Apache-2.0
"""Flavors and hints that Nova has stored with servers, and reads again when
it schedules them anew.

Flavors are in each server's cell, and with the request that it was created
by; hints are in the request alone. Searches bypass Nova's objects, because
those load one server at a time; changes are made through them.
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

_AT_ONCE = 500


def naming(text: str, servers: Collection[str]) -> list[str]:
    """Return those of the servers of which a flavor is stored that has the
    text in it: two queries for hundreds of servers."""
    uuids = sorted(servers)
    found: set[str] = set()
    for first in range(0, len(uuids), _AT_ONCE):
        some = uuids[first : first + _AT_ONCE]
        found.update(cells.ask(cells.of_servers(some), _in_cell, text).all())
        found.update(_in_requests(text, some))
    return sorted(found)


def hinted(hint: str, value: str, servers: Collection[str]) -> set[str]:
    """Return those of the servers that were asked for with the hint: one
    query for hundreds of servers."""
    uuids = sorted(servers)
    found: set[str] = set()
    for first in range(0, len(uuids), _AT_ONCE):
        found.update(_hinted(hint, value, uuids[first : first + _AT_ONCE]))
    return found


def _hinted(hint: str, value: str, uuids: list[str]) -> list[str]:
    spec = api_models.RequestSpec
    context = nova_context.get_admin_context()
    with api_db.context_manager.reader.using(context):
        rows = context.session.execute(
            sa.select(spec.instance_uuid, spec.spec).where(
                spec.instance_uuid.in_(uuids),
                # Most that have it anywhere have it as the hint.
                spec.spec.contains(value, autoescape=True),
            )
        ).all()
    return [row.instance_uuid for row in rows if value in _hint(row, hint)]


def _hint(row: sa.Row[tuple[str, str]], hint: str) -> list[str]:
    """Return the values of a hint; Nova stores a list, also of one."""
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
    """Take extra specs off what is stored of the server's flavor.

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
    """Return whether it had any of them."""
    if not flavor.extra_specs.keys() & keys:
        return False
    flavor.extra_specs = {
        key: value
        for key, value in flavor.extra_specs.items()
        if key not in keys
    }
    return True
