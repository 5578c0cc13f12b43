# SPDX-License-Identifier: Apache-2.0
"""A worker is killed before each step of a lease of hosts and volumes, or
whole pools. The final state must be that of a run without a kill.
"""

import pytest

from nova_reservations.testing import pools
from nova_reservations.testing.pools import asked
from nova_reservations.testing.pools import there
from nova_reservations.testing.region import minutes
from nova_reservations.tests.functional.engine import failing_writes
from nova_reservations.tests.functional.engine import killed_workers

pytestmark = pytest.mark.fuzz

HOST = 'physical:host', {'min': 1, 'max': 1}


def start(region):
    return region.lease_of(HOST, asked(30, 2))


def growth(region):
    lease = region.lease_of(asked(30, 1))
    region.work()
    region.change(lease, amount=2)
    return lease


def refused_start(region):
    region.cloud.volumes.broken = True
    return start(region)


def end(region):
    lease = start(region)
    region.work()
    region.now += minutes(60)
    return lease


def backup(region):
    lease = region.lease_of(HOST, asked(30, 2, end_action='backup'))
    region.work()
    region.now += minutes(60)
    return lease


def keep(region):
    region.opts.set_override('kept_volume_type', 'open', 'reservations')
    region.cloud.volumes.add_type('open', pool_name='open')
    lease = region.lease_of(HOST, asked(30, 2, end_action='keep'))
    region.work()
    region.now += minutes(60)
    return lease


def healing(region):
    """A pool is down, and no monitor has seen that yet."""
    lease = region.lease_of(asked(30, 1, volume_type=None))
    region.work()
    del region.cloud.volumes.pools[min(region.hosts_of(lease))]
    region.soon('monitor')
    return lease


def whole_start(region):
    return region.lease_of(HOST, pools.whole(2))


def whole_growth(region):
    lease = region.lease_of(pools.whole())
    region.work()
    region.change(lease, amount=2)
    return lease


def _filled(region, **more):
    """Return a lease at its end, of two pools with volumes of the project."""
    lease = region.lease_of(HOST, pools.whole(2, **more))
    region.work()
    for name, projects in region.cloud.volumes.access.items():
        if projects:
            region.cloud.volumes.make('lessee', name, 30)
            region.cloud.volumes.make('lessee', name, 50)
    region.now += minutes(60)
    return lease


def whole_end(region):
    return _filled(region)


def whole_backup(region):
    return _filled(region, end_action='backup')


def whole_keep(region):
    region.opts.set_override('kept_volume_type', 'open', 'reservations')
    region.cloud.volumes.add_type('open', pool_name='open')
    return _filled(region, end_action='keep')


def whole_healing(region):
    """An empty pool is down, and no monitor has seen that yet."""
    lease = region.lease_of(pools.whole())
    region.work()
    del region.cloud.volumes.pools[min(region.hosts_of(lease))]
    region.soon('monitor')
    return lease


@pytest.fixture
def told(make_region):
    """Return a region after a story."""

    def tell(story):
        region = make_region('one', types=pools.TYPES, monitors=pools.MONITORS)
        pools.enrol(region, pools.FAST, pools.SLOW)
        return region, story(region)

    return tell


@pytest.mark.parametrize(
    'story',
    [
        start,
        growth,
        refused_start,
        end,
        backup,
        keep,
        healing,
        whole_start,
        whole_growth,
        whole_end,
        whole_backup,
        whole_keep,
        whole_healing,
    ],
)
def test_another_worker_finishes_what_a_killed_one_began(told, story):
    killed_workers.each_is_followed(lambda: told(story)[0], outcome)


def outcome(region, worker=None):
    """Return what is in Cinder when all claims have expired, and what is left
    at the end."""
    for pause in (0.6, 0.1):
        region.now += minutes(pause)
        region.work(worker)
    volumes = region.cloud.volumes
    now = there(region), sorted(map(sorted, volumes.access.values()))
    region.look()
    region.forward(until=65, by=worker)
    leases = region.picture()['leases'].values()
    backups = [len(each) for each in volumes.backups.values()]
    left = there(region), set(volumes.types), backups
    return now, left, [lease['status'] for lease in leases]


@failing_writes.whatever_fails
def test_a_lease_of_both_has_all_or_nothing_whatever_fails(told, error):
    number = 0
    for region, lease in failing_writes.each(lambda: told(start), error):
        number += 1
        both = region.aggregate_of(lease), there(region)
        if error is failing_writes.SILENT:
            assert region.status(lease) == 'ACTIVE'
            assert both == ({'one'}, [('lessee', 30, 'available')] * 2)
        else:
            assert region.status(lease) == 'ERROR'
            assert both == (None, [])
    assert number >= 5
