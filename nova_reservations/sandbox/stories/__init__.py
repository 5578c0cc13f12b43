# SPDX-License-Identifier: Apache-2.0
"""The stories that the sandbox can tell, by name."""

from collections.abc import Callable
from collections.abc import Mapping

from nova_reservations.sandbox import config
from nova_reservations.sandbox import story
from nova_reservations.sandbox.stories import clients
from nova_reservations.sandbox.stories import default_reservation
from nova_reservations.sandbox.stories import end_actions
from nova_reservations.sandbox.stories import healing
from nova_reservations.sandbox.stories import host_lease
from nova_reservations.sandbox.stories import instance_lease
from nova_reservations.sandbox.stories import lease_types
from nova_reservations.sandbox.stories import metrics
from nova_reservations.sandbox.stories import resources
from nova_reservations.sandbox.stories import server_lease

STORIES: Mapping[str, Callable[[str, story.Timeline], None]] = {
    'host-lease': host_lease.tell,
    'instance-lease': instance_lease.tell,
    'server-lease': server_lease.tell,
    'default-reservation': default_reservation.tell,
    'lease-types': lease_types.tell,
    'healing': healing.tell,
    'clients': clients.tell,
    'metrics': metrics.tell,
    'resources': resources.tell,
    'end-actions': end_actions.tell,
}

CONF: Mapping[str, config.Sections] = {
    'default-reservation': default_reservation.CONF,
}
"""What nova.conf has for the stories that want it otherwise."""
