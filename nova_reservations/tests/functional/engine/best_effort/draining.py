# SPDX-License-Identifier: Apache-2.0
"""Leases whose hosts are being emptied, and what their region shows."""

from nova_reservations import objects
from nova_reservations.db.resources import hosts as host_rows


def fill_pool(region):
    """Lease the whole pool."""
    return region.lease(end=200)


def host(region, name):
    (found,) = region.hosts.find(objects.HostQuery(name=name))
    return found


def pool(region):
    with region.database.reader() as session:
        return host_rows.pool(session)


def assert_given_back(region, *names):
    assert region.fenced() == set()
    assert not region.cloud.marked & set(names)
    assert not pool(region) & set(names)
    assert findings(region) == []


def findings(region):
    return [
        each.problem for each in region.services.audit.findings(region.now)
    ]


def begun(region, minimum=2, slow=('0 of green',), **asked):
    region.cloud.slow_servers |= set(slow)
    lease = region.best_effort(minimum=minimum, **asked)
    region.forward(until=0.1)
    assert region.status(lease) == 'IN_PROGRESS'
    return lease
