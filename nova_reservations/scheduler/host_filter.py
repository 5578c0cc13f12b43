# SPDX-License-Identifier: Apache-2.0
"""The host filter, by which Nova loads our code into nova-scheduler.

Nova imports this module when it makes its scheduler manager, before it forks.
So nothing may be opened here that the workers would share.
"""

# Nova's objects get their names only when the process registers them.
from __future__ import annotations

from collections.abc import Iterable

from nova import exception as nova_exception
from nova import objects
import nova.conf
from nova.scheduler import filters
from nova.scheduler import host_manager
from oslo_log import log

from nova_reservations import bootstrap
from nova_reservations import conf
from nova_reservations import exception
from nova_reservations import hooks
from nova_reservations.cloud import time_limits
from nova_reservations.db import migration
from nova_reservations.scheduler import claim
from nova_reservations.scheduler import connections
from nova_reservations.scheduler import loop
from nova_reservations.scheduler import open_reservations
from nova_reservations.scheduler import request_filter
from nova_reservations.scheduler.consumers import host_states

CONF = nova.conf.CONF
LOG = log.getLogger(__name__)


class ReservationFilter(filters.BaseHostFilter):
    """Apply to Nova's list of hosts the same restriction as to the placement
    query.

    ===============  ==================  =====================
    host             with a reservation  without
    ===============  ==================  =====================
    of the           passes              is refused
    reservation
    of the pool      is refused          is refused
    any other        is refused          passes
    ===============  ==================  =====================
    """

    # A rebuild stays where the server is.
    RUN_ON_REBUILD = False

    def __init__(self) -> None:
        services = bootstrap.build(CONF)
        migration.check(services.database)
        services.database.dispose()
        self._reserved_hosts = request_filter.install(services)

    def filter_all(
        self,
        filter_obj_list: Iterable[host_manager.HostState],
        spec_obj: objects.RequestSpec,
    ) -> list[host_manager.HostState]:
        """Judge all hosts by one look at the database.

        This is the second look, after placement has answered: since the
        request filter's look a lease may have ended, or a host been enrolled.
        """
        try:
            admission = self._reserved_hosts.admissions.resolve(spec_obj)
        except (
            exception.ReservationsError,
            nova_exception.RequestFilterFailed,
        ) as error:
            LOG.error('Request refused: %s', error)
            return []
        return [
            host for host in filter_obj_list if admission.admits(host.host)
        ]


def _check_enabled() -> None:
    if ReservationFilter.__name__ not in CONF.filter_scheduler.enabled_filters:
        raise exception.FilterNotEnabled(
            f'{ReservationFilter.__name__} is in [filter_scheduler] '
            'available_filters, but not in enabled_filters: it must be in '
            'both, or reserved hosts would be open to all.'
        )


hooks.check('scheduler')
_check_enabled()
conf.register_opts(CONF)
time_limits.install()
time_limits.install_for_bus()
claim.install()
open_reservations.install()
host_states.install()
connections.install()
loop.install()
