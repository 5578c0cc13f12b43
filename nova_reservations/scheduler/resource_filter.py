# SPDX-License-Identifier: Apache-2.0
"""The filter by consumers' figures; needs neither leases nor a database.

Naming it in ``[filter_scheduler] available_filters`` also loads the consumers
into nova-scheduler.
"""

# Nova's objects get their names only when the process registers them.
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from nova import objects
import nova.conf
from nova.scheduler import filters
from nova.scheduler import host_manager
from nova.scheduler import utils
from oslo_log import log

from nova_reservations import conf
from nova_reservations import exception
from nova_reservations import hooks
from nova_reservations.scheduler.consumers import host_states
from nova_reservations.scheduler.consumers import needs

LOG = log.getLogger(__name__)


class ResourceFilter(filters.BaseHostFilter):
    """Pass hosts that have enough of each resource that is tracked.

    ====================  ===================  ==================
    the host reports      the flavor asks by   a consumer takes
                          ``reservations:``    it from the flavor
    ====================  ===================  ==================
    enough of it          passes               passes
    too little            is refused           is refused
    nothing of it         is refused           passes
    ====================  ===================  ==================
    """

    # A rebuild stays where the server is, and takes no more than it has.
    RUN_ON_REBUILD = False

    def filter_all(
        self,
        filter_obj_list: Iterable[host_manager.HostState],
        spec_obj: objects.RequestSpec,
    ) -> list[host_manager.HostState]:
        """Judge all hosts by one look at the flavor."""
        hosts = list(filter_obj_list)
        consumers = host_states.consumers()
        if utils.request_is_rebuild(spec_obj):
            return hosts
        try:
            asked = needs.of(spec_obj.flavor, consumers)
        except exception.InvalidInput as error:
            LOG.error('No host for %s: %s', spec_obj.flavor.flavorid, error)
            return []
        passed = []
        refusals: Counter[str] = Counter()
        for host in hosts:
            refusal = needs.refusal(host, asked, consumers)
            if refusal is None:
                passed.append(host)
            else:
                refusals[refusal.resource] += 1
                LOG.debug('%s is refused: %s', host, refusal)
        if hosts and not passed:
            LOG.info(
                'No host has enough for server %(server)s; refused for: '
                '%(refusals)s',
                {
                    'server': spec_obj.instance_uuid,
                    'refusals': ', '.join(
                        f'{name} ({count})'
                        for name, count in refusals.most_common()
                    ),
                },
            )
        return passed


hooks.check('scheduler')
conf.register_opts(nova.conf.CONF)
host_states.install()
