# SPDX-License-Identifier: Apache-2.0
"""A worker is killed, or refused, before each step of a lease of a stack with
servers, a volume and an address. The final state must be that of a run without
a kill.
"""

import pytest

from nova_reservations.testing import addresses
from nova_reservations.testing import pools
from nova_reservations.testing import stacks
from nova_reservations.testing.region import minutes
from nova_reservations.tests.functional.engine import failing_writes
from nova_reservations.tests.functional.engine import killed_workers
from nova_reservations.tests.functional.engine import stack_leases

pytestmark = pytest.mark.fuzz

SERVERS = {'one': stacks.server(), 'two': stacks.server()}
ALL = {**SERVERS, 'disk': stacks.disk(10), 'address': stacks.address()}


def start(region):
    return region.lease_of(stacks.asked(ALL))


def refused_start(region):
    region.cloud.without_quota.add('lessee')
    return start(region)


def _ended(region, resources, **more):
    lease = region.lease_of(stacks.asked(resources, **more))
    region.forward(until=1)
    stack_leases.boot(region, lease)
    region.now += minutes(60)
    return lease


def deletion(region):
    return _ended(region, ALL)


def suspension(region):
    return _ended(region, SERVERS, end_action='suspend')


def keeping(region):
    return _ended(region, SERVERS, end_action='keep')


@pytest.fixture
def told(make_region):
    """Return a region after a story, and its lease."""

    def tell(story):
        region = make_region('one', types=stacks.TYPES)
        stacks.switch_on(region, *stacks.TYPES)
        pools.enrol(region, pools.FAST)
        addresses.enrol(region, 101)
        region.cloud.heat_is_quick = True
        return region, story(region)

    return tell


@pytest.mark.parametrize(
    'story', [start, refused_start, deletion, suspension, keeping]
)
def test_another_worker_finishes_what_a_killed_one_began(told, story):
    killed_workers.each_is_followed(lambda: told(story)[0], outcome, looks=4)


def outcome(region, worker=None):
    """Return what there is when all claims have expired, and at the end."""
    for pause in (0.6, 0.1, 0.1):
        region.now += minutes(pause)
        region.work(worker)
    seen = there(region)
    region.forward(until=130, by=worker)
    leases = region.picture()['leases'].values()
    return seen, there(region), [lease['status'] for lease in leases]


def there(region):
    """Return all that the lease has in the cloud."""
    return (
        [made.state for made in region.cloud.stacks_made.values()],
        len(region.cloud.instances),
        len(region.cloud.aggregate_hosts),
        pools.there(region),
        addresses.there(region),
    )


@failing_writes.whatever_fails
def test_a_lease_of_a_stack_has_all_or_nothing_whatever_fails(told, error):
    number = 0
    for region, lease in failing_writes.each(lambda: told(start), error):
        number += 1
        states, _, aggregates, volumes, floating_ips = there(region)
        found = (
            states,
            bool(aggregates),
            len(volumes),
            len(floating_ips),
        )
        if error is failing_writes.SILENT:
            assert region.status(lease) == 'ACTIVE'
            assert found == (['CREATE_COMPLETE'], True, 1, 1)
        else:
            assert region.status(lease) == 'ERROR'
            assert found == ([], False, 0, 0)
    assert number >= 6
