# SPDX-License-Identifier: Apache-2.0
"""Servers: found, and changed by requests to Nova."""

from nova_reservations.cloud.servers import actions
from nova_reservations.cloud.servers import builds
from nova_reservations.cloud.servers import drain
from nova_reservations.cloud.servers import evacuate
from nova_reservations.cloud.servers import room
from nova_reservations.cloud.servers import shelving


class Servers(
    actions.Acting,
    builds.Building,
    drain.Draining,
    evacuate.Evacuating,
    room.Placing,
    shelving.Shelving,
):
    """The port ``ports.Servers`` on Nova; each module has a part of it."""
