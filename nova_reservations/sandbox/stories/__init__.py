# SPDX-License-Identifier: Apache-2.0
"""The stories that the sandbox can tell, by name."""

from collections.abc import Callable
from collections.abc import Mapping

from nova_reservations.sandbox import story
from nova_reservations.sandbox.stories import clients
from nova_reservations.sandbox.stories import end_actions
from nova_reservations.sandbox.stories import healing
from nova_reservations.sandbox.stories import host_lease
from nova_reservations.sandbox.stories import instance_lease
from nova_reservations.sandbox.stories import lease_types
from nova_reservations.sandbox.stories import metrics
from nova_reservations.sandbox.stories import resources

STORIES: Mapping[str, Callable[[str, story.Timeline], None]] = {
    'host-lease': host_lease.tell,
    'instance-lease': instance_lease.tell,
    'lease-types': lease_types.tell,
    'healing': healing.tell,
    'clients': clients.tell,
    'metrics': metrics.tell,
    'resources': resources.tell,
    'end-actions': end_actions.tell,
}
