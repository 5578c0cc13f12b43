# SPDX-License-Identifier: Apache-2.0
"""Server groups of reservations are not counted by Nova's quotas.

They belong to the project of the lease, because Nova shows groups to their own
project only, and lets only its servers in. But the project has not made them,
and must not lose the groups that it may make itself.

Decision 0065: doc/source/decisions/0065-usable-when-answered
"""

import collections
import functools
from typing import Any

from nova import context as nova_context
from nova.db.api import api as api_db
from nova.db.api import models as api_models
from nova.objects import instance_group
import sqlalchemy as sa
import wrapt

from nova_reservations import hooks
from nova_reservations import objects
from nova_reservations.cloud.slots import slot_flavors


@functools.cache
def install() -> None:
    """Wrap the method by which Nova counts the groups of a project, for both
    of its quota drivers, once per process."""
    wrapt.wrap_function_wrapper(
        instance_group, 'InstanceGroupList.get_counts', _get_counts
    )


def _get_counts(
    wrapped: Any, _: Any, args: Any, kwargs: Any
) -> dict[str, dict[str, int]]:
    counts: dict[str, dict[str, int]] = wrapped(*args, **kwargs)
    asked = hooks.arguments(wrapped, args, kwargs)
    ours = _ours(asked['context'], asked['project_id'])
    counts['project']['server_groups'] -= ours.total()
    if 'user' in counts:
        counts['user']['server_groups'] -= ours[asked['user_id']]
    return counts


def _ours(
    context: nova_context.RequestContext, project_id: str
) -> collections.Counter[str]:
    """Return user -> groups of reservations."""
    group = api_models.InstanceGroup
    with api_db.context_manager.reader.using(context):
        rows = context.session.execute(
            sa.select(group.uuid, group.name, group.user_id).where(
                group.project_id == project_id,
                # A rough filter: see below.
                group.name.startswith(slot_flavors.NAMED, autoescape=True),
            )
        ).all()
    return collections.Counter(
        row.user_id for row in rows if _is_ours(row.uuid, row.name)
    )


def _is_ours(group_id: str, name: str) -> bool:
    """Return whether the group is that of the reservation in its name. Anyone
    can choose the name of a group, but nobody its id."""
    reservation_id = name.removeprefix(slot_flavors.NAMED)
    return (
        objects.is_id(reservation_id)
        and objects.group_id(reservation_id) == group_id
    )
