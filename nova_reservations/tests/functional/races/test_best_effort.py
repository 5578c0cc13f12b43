# SPDX-License-Identifier: Apache-2.0
"""Several workers empty the same hosts at the same moment."""

from concurrent import futures
import datetime

import pytest

from nova_reservations import objects
from nova_reservations.db.upkeep import audit
from nova_reservations.objects import states
from nova_reservations.testing import region as regions

DRAINABLE = [f'drainable-{number}' for number in range(4)]
HUNTS = 5
WORKERS = 3
SECOND = datetime.timedelta(seconds=1)


@pytest.fixture
def region(any_database):
    region = regions.Region(
        any_database.url,
        best_effort_aggregate='drainable',
        best_effort_timeout=20 * SECOND,
    )
    region.add_host('away', enrol=False)
    region.add_drainable(*DRAINABLE, servers=2)
    yield region
    region.close()


def hunt_together(region, workers, seconds):
    with futures.ThreadPoolExecutor(WORKERS) as pool:
        for _ in range(seconds):
            region.now += SECOND
            for done in [pool.submit(one.tick, region.now) for one in workers]:
                done.result()
            for one in workers:
                one.drain()


def test_hosts_are_had_by_one_lease_each_and_nobody_has_a_part(region):
    """Each lease wants two of four hosts: two leases get theirs, and the
    others wait in vain."""
    leases = [region.best_effort(minimum=2) for _ in range(HUNTS)]
    workers = [region.worker(f'worker {number}') for number in range(WORKERS)]
    hunt_together(region, workers, 5)
    with region.database.reader() as session:
        assert audit.doubled(session) == []
    winners = {
        lease.id for lease in leases if region.status(lease) == 'ACTIVE'
    }
    assert len(winners) == 2
    held = [region.hosts_of(lease) for lease in leases if lease.id in winners]
    assert [len(hosts) for hosts in held] == [2, 2]
    assert set.union(*held) == set(DRAINABLE) == region.fenced()
    hunt_together(region, workers, 20)
    assert {
        region.status(lease) for lease in leases if lease.id not in winners
    } == {states.Lease.TIMEDOUT}
    for lease in region.lease_lists.find(objects.LeaseQuery()):
        region.delete(lease)
    hunt_together(region, workers, 5)
    assert region.fenced() == set()
    assert region.cloud.marked == set()
    assert len(region.cloud.instances) == 2 * len(DRAINABLE)
    findings = region.services.audit.findings(region.now)
    assert [each.problem for each in findings] == []
