# SPDX-License-Identifier: Apache-2.0
"""Hosts fail and recover, in whatever order, whatever else happens; and any
write fails, for leases of several types."""

import contextlib
import itertools
import operator

from hypothesis import given
from hypothesis import HealthCheck
from hypothesis import settings
from hypothesis import stateful
from hypothesis import strategies as st
import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import allocations
from nova_reservations.objects import states
from nova_reservations.testing import addresses
from nova_reservations.testing import region as regions
from nova_reservations.testing.steps import Killed
from nova_reservations.tests import profile
from nova_reservations.tests.functional.engine import pools
from nova_reservations.tests.functional.engine import recorded
from nova_reservations.tests.functional.engine import test_anything

pytestmark = pytest.mark.fuzz

HOW = [{}, {'disabled': True}, {'forced_down': True}]


class Machine(test_anything.Machine):
    """Invariants that must hold in any case must hold here too."""

    def teardown(self) -> None:
        for host in test_anything.HOSTS:
            self.region.cloud.recover(host)
        self.region.look()
        self.record.look()
        super().teardown()

    @stateful.rule(
        host=st.sampled_from(test_anything.HOSTS), how=st.sampled_from(HOW)
    )
    def fail(self, host, how):
        self.region.cloud.fail(host, **how)

    @stateful.rule(host=st.sampled_from(test_anything.HOSTS))
    def recover(self, host):
        self.region.cloud.recover(host)

    @stateful.rule()
    def look(self):
        """As the monitors do; what a dead worker had is taken up by then."""
        region = self.region
        region.now += regions.minutes(1)
        region.look()
        assert recorded.going_on(region) == recorded.held(region)
        for lease in region.lease_lists.find(objects.LeaseQuery()):
            if lease.status == states.Lease.ACTIVE:
                self._is_healed(lease)

    def _is_healed(self, lease):
        """It holds no failed host while there is one for it."""
        [reservation] = lease.reservations
        with self.region.database.reader() as session:
            [held] = allocations.holdings(session, [reservation.id]).values()
        lacking = [one for one in held if not one.usable and not one.replaced]
        assert reservation.missing_resources == bool(lacking)
        assert lease.degraded == (
            reservation.missing_resources or reservation.resources_changed
        )
        assert self.region.aggregate_of(lease) == {
            one.resource.name for one in held if one.usable
        }
        if lacking:
            assert self._free_for(lease) == set()

    def _free_for(self, lease):
        region = self.region
        return {
            host.facts.service_host
            for host in region.hosts.find(objects.HostQuery())
            if host.facts.service_host not in region.cloud.services
            and not any(
                not one.released
                and one.start_date < lease.end_date
                and (
                    one.lease_id != lease.id or one.end_date >= lease.end_date
                )
                for one in region.hosts.allocations.of(host.id, region.now)
            )
        }


TestAnyFailure = Machine.TestCase
TestAnyFailure.settings = settings(
    max_examples=profile.examples(20),
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)


HOSTS, ADDRESSES, GIB = 3, 2, 4
"""All that there is, for leases of several types."""

FAILURES = {
    'killed': Killed,
    'refused': lambda: exception.CloudRefused(what='It', reason='no'),
    'gone': lambda: exception.CloudUnavailable(service='It', reason='no'),
}


def ask(region, counts, order=(0, 1, 2), **when):
    hosts, amount, size = counts
    items = (
        (objects.HOST, {'min': hosts, 'max': hosts}),
        addresses.asked(amount),
        (pools.POOL, {'size': size}),
    )
    return region.lease_of(*(items[number] for number in order), **when)


def fail_once(region, how, number):
    """Have a worker do what is due, in which one write fails."""
    left = itertools.count(1)

    def before(step):
        if next(left) == number:
            raise FAILURES[how]()

    region.cloud.before = before
    if how == 'killed':
        region.database.before = before
    victim = region.worker(f'victim of {region.now}', threads=1)
    with contextlib.suppress(Killed):
        victim.tick(region.now)
    victim.drain()
    region.cloud.before = region.database.before = lambda step: None


def in_cloud(region):
    """Return how many hosts and addresses the project was given."""
    hosts = set().union(*region.cloud.aggregate_hosts.values())
    return len(hosts), len(addresses.there(region))


@given(
    counts=st.tuples(
        st.integers(1, HOSTS + 1),
        st.integers(1, ADDRESSES + 1),
        st.integers(1, GIB + 1),
    ),
    order=st.permutations(range(3)),
    failures=st.lists(
        st.tuples(st.sampled_from([*FAILURES]), st.integers(1, 12)),
        min_size=2,
        max_size=2,
    ),
)
@settings(
    max_examples=profile.examples(20),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_a_lease_of_several_types_is_all_or_nothing(
    make_region, counts, order, failures
):
    all_there_is = (HOSTS, ADDRESSES, GIB)
    region = make_region(
        *test_anything.HOSTS,
        types={**addresses.TYPES, pools.POOL: pools.Pool},
        monitors=addresses.MONITORS,
    )
    try:
        addresses.enrol(region, 101, 102)
        region.resources.add(pools.POOL, 'pool', region.now, {pools.GIB: GIB})
        if any(map(operator.gt, counts, all_there_is)):
            with pytest.raises(exception.NotEnoughResources):
                ask(region, counts, order)
        else:
            lease = ask(region, counts, order)
            _is_all_or_nothing(region, lease, counts, failures)
        # Nothing was left of it.
        region.delete(ask(region, all_there_is, start=5))
    finally:
        region.close()


def _is_all_or_nothing(region, lease, counts, failures):
    at_the_start, at_the_end = failures
    fail_once(region, *at_the_start)
    region.forward(until=10)
    seen = region.see(lease)
    if at_the_start[0] == 'killed':
        assert seen.status == 'ACTIVE'
    assert seen.status in ('ACTIVE', 'ERROR')
    if seen.status == 'ACTIVE':
        assert in_cloud(region) == counts[:2]
        assert {each.status for each in seen.reservations} == {'active'}
    else:
        assert in_cloud(region) == (0, 0)
        assert region.hosts_of(lease) == set()
    region.now = seen.end_date
    fail_once(region, *at_the_end)
    region.forward(until=100)
    assert region.status(lease) == seen.status.replace('ACTIVE', 'TERMINATED')
    assert in_cloud(region) == (0, 0)
    assert region.hosts_of(lease) == set()
