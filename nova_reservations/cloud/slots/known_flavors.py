# SPDX-License-Identifier: Apache-2.0
"""Nova's flavors, with what their servers request from placement.

Decision 0010: doc/source/decisions/0010-slots-in-placement
"""

# Nova's objects get their names only when the process registers them.
from __future__ import annotations

from nova import exception as nova_exception
from nova import objects as nova_objects

from nova_reservations import exception
from nova_reservations import ports
from nova_reservations.cloud.placement import request_groups

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
    """Return the flavor with what Nova would request from placement for it.

    :raises: CloudRefused
    """
    try:
        asked = request_groups.of_flavor(flavor)
    except nova_exception.NovaException as error:
        raise exception.CloudRefused(
            what=f'Flavor {flavor.flavorid}', reason=error
        ) from error
    if asked.uncountable is not None:
        raise exception.CloudRefused(
            what=f'Flavor {flavor.flavorid}',
            reason=f'{asked.uncountable}: that can not be reserved',
        )
    return ports.KnownFlavor(
        id=flavor.flavorid,
        name=flavor.name,
        is_public=flavor.is_public,
        flavor=ports.Flavor(
            **{ours: flavor[nova] for nova, ours in SIZES.items()}
        ),
        amounts=dict(sorted(asked.amounts.items())),
        required=asked.required,
        forbidden=asked.forbidden,
    )
