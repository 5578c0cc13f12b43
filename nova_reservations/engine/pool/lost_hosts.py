# SPDX-License-Identifier: Apache-2.0
"""Enrolled hosts that Nova or placement no longer have as they were enrolled.

A nova-compute may still report by the name of such a host: that of another
machine, which was put in its place. So a lost host counts as failed whatever
its monitor sees, until it can be used again, or is added again.

Decision 0062: doc/source/decisions/0062-lost-hosts
"""

from collections.abc import Collection
import datetime

from oslo_log import log

from nova_reservations import ports
from nova_reservations.db import api
from nova_reservations.db.resources import hosts
from nova_reservations.engine.healing import monitoring

LOG = log.getLogger(__name__)


def look(
    database: api.Database,
    cloud: ports.Cloud,
    monitors: monitoring.Monitoring,
    unmarked: Collection[int],
    now: datetime.datetime,
) -> None:
    """Look whether these hosts are lost, and whether those that were can be
    used again.

    :param unmarked: ids of hosts of the pool that have no provider with the
        trait of the pool
    :raises: CloudUnavailable, Contended
    """
    with database.reader() as session:
        suspects = hosts.get_all(session, {*unmarked, *hosts.lost(session)})
    if not suspects:
        return
    lost = cloud.hosts.unusable([host.resource for host in suspects])
    found: dict[str, str | None] = {}
    for host in suspects:
        name = host.facts.service_host
        if name in lost:
            found[name] = lost[name]
        elif host.lost is not None and host.reservable:
            found[name] = None
        elif host.lost is None and host.reservable:
            LOG.warning(
                'Host %(name)s (host %(id)d) has lost the trait of the pool: '
                '"nova-reservations-manage host add %(name)s" gives it back',
                {'name': name, 'id': host.id},
            )
    if found:
        monitors.set_lost(found, now)
