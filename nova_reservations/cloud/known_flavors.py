# SPDX-License-Identifier: Apache-2.0
"""Flavors that Nova has, and what servers of them ask placement for.

Decision 0010: doc/source/decisions/0010-slots-in-placement
"""

# Nova's objects get their names only when the process registers them.
from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping

from nova import context as nova_context
from nova import exception as nova_exception
from nova import objects as nova_objects
from nova.scheduler import utils

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports

SIZES = {
    'vcpus': 'vcpus',
    'memory_mb': 'memory_mb',
    'root_gb': 'root_gb',
    'ephemeral_gb': 'ephemeral_gb',
    'swap': 'swap_mb',
    'rxtx_factor': 'rxtx_factor',
    'extra_specs': 'extra_specs',
}
"""Nova's name of each size -> ours."""


def known(flavor: nova_objects.Flavor) -> ports.KnownFlavor:
    """Say what the flavor asks placement for, as Nova reckons it.

    :raises: CloudRefused
    """
    try:
        request = utils.ResourceRequest.from_request_spec(
            nova_objects.RequestSpec(
                context=nova_context.get_admin_context(), flavor=flavor
            )
        )
    except nova_exception.NovaException as error:
        raise exception.CloudRefused(
            what=f'Flavor {flavor.flavorid}', reason=error
        ) from error
    groups = [request.get_request_group(ident) for ident in _idents(flavor)]
    amounts = {
        name: int(units)
        for name, units in sorted(request.merged_resources().items())
        if int(units)
    }
    _check_countable(flavor, groups, amounts)
    return ports.KnownFlavor(
        id=flavor.flavorid,
        name=flavor.name,
        is_public=flavor.is_public,
        flavor=ports.Flavor(
            **{ours: flavor[nova] for nova, ours in SIZES.items()}
        ),
        amounts=amounts,
        required=frozenset().union(
            *(group.required_traits for group in groups)
        ),
        forbidden=frozenset().union(
            *(group.forbidden_traits for group in groups)
        ),
    )


def _idents(flavor: nova_objects.Flavor) -> Iterator[str | None]:
    """Yield the names of the request groups; None is the one without."""
    keys = (
        utils.ResourceRequest.XS_KEYPAT.match(key)
        for key in flavor.extra_specs
    )
    yield None
    yield from sorted({match[2] for match in keys if match and match[2]})


def _check_countable(
    flavor: nova_objects.Flavor,
    groups: list[nova_objects.RequestGroup],
    amounts: Mapping[str, int],
) -> None:
    """:raises: CloudRefused"""
    reason = None
    classes = [name for group in groups for name in group.resources]
    twice = sorted({name for name in classes if classes.count(name) > 1})
    if twice:
        reason = f'it asks for {", ".join(twice)} in several groups'
    elif len(groups) > 2 and flavor.extra_specs.get('group_policy') == (
        'isolate'
    ):
        reason = 'its groups must be on different providers of a host'
    elif any(objects.slots_of(name) for name in classes):
        reason = 'it is of a reservation itself'
    elif not amounts:
        reason = 'it asks placement for nothing'
    if reason:
        raise exception.CloudRefused(
            what=f'Flavor {flavor.flavorid}',
            reason=f'{reason}: that can not be reserved',
        )
