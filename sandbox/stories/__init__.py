# SPDX-License-Identifier: Apache-2.0
"""The stories that the sandbox can tell, by name."""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping

from sandbox import ini
from sandbox import layout as lo
from sandbox import story
from sandbox.stories import addresses
from sandbox.stories import cells
from sandbox.stories import clients
from sandbox.stories import default_reservation
from sandbox.stories import end_actions
from sandbox.stories import from_outside
from sandbox.stories import governed
from sandbox.stories import healing
from sandbox.stories import host_lease
from sandbox.stories import instance_lease
from sandbox.stories import lease_types
from sandbox.stories import metrics
from sandbox.stories import networks
from sandbox.stories import planning
from sandbox.stories import resources
from sandbox.stories import server_lease
from sandbox.stories import stack
from sandbox.stories import tasks
from sandbox.stories import volumes

STORIES: Mapping[str, Callable[[str, story.Timeline], None]] = {
    'host-lease': host_lease.tell,
    'instance-lease': instance_lease.tell,
    'server-lease': server_lease.tell,
    'default-reservation': default_reservation.tell,
    'lease-types': lease_types.tell,
    'planning': planning.tell,
    'healing': healing.tell,
    'person': tasks.tell,
    'clients': clients.tell,
    'metrics': metrics.tell,
    'resources': resources.tell,
    'end-actions': end_actions.tell,
    'cells': cells.tell,
    'addresses': addresses.tell,
    'networks': networks.tell,
    'volumes': volumes.tell,
    'stack': stack.tell,
    'governed': governed.tell,
    'resources-from-outside': from_outside.tell,
}

CONF: Mapping[str, ini.Sections] = {
    'default-reservation': default_reservation.CONF,
    'cells': cells.CONF,
    'governed': governed.CONF,
    'resources-from-outside': from_outside.CONF,
    'volumes': volumes.CONF,
}
"""Story -> options of nova.conf that it needs in addition."""

CELLS: Mapping[str, int] = {'cells': 2}
"""Story -> the minimum number of cells, for stories that need several."""

REAL: Mapping[str, Collection[str]] = {
    'addresses': ('neutron',),
    'clients': ('heat', 'neutron'),
    'networks': ('neutron',),
    'volumes': ('cinder',),
    'stack': ('heat', 'neutron', 'cinder'),
}
"""Story -> the optional services that it needs."""

PACKAGES: Mapping[str, Callable[[lo.Layout], None]] = {
    'governed': from_outside.install,
    'resources-from-outside': from_outside.install,
}
"""Story -> installs a package that Nova must find when it starts."""
