# SPDX-License-Identifier: Apache-2.0
"""Hosts fail and recover, in any order, whatever else happens."""

from hypothesis import HealthCheck
from hypothesis import settings
from hypothesis import stateful
from hypothesis import strategies as st
import pytest

from nova_reservations import objects
from nova_reservations.db.holdings import allocations
from nova_reservations.objects import states
from nova_reservations.testing import region as regions
from nova_reservations.tests import profile
from nova_reservations.tests.functional.engine import recorded
from nova_reservations.tests.functional.engine import test_anything

pytestmark = pytest.mark.fuzz

HOW = [{}, {'disabled': True}, {'forced_down': True}]


class Machine(test_anything.Machine):
    """The invariants of test_anything must hold here too."""

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
        """Look as the monitors do. A minute later a dead worker's claims have
        expired."""
        region = self.region
        region.now += regions.minutes(1)
        region.look()
        assert recorded.going_on(region) == recorded.held(region)
        for lease in region.lease_lists.find(objects.LeaseQuery()):
            if lease.status == states.Lease.ACTIVE:
                self._is_healed(lease)

    def _is_healed(self, lease):
        """Check that the lease has no failed host while another host is free
        for it."""
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
                for one in region.resources.allocation_lists(objects.HOST).of(
                    host.id, region.now
                )
            )
        }


TestAnyFailure = Machine.TestCase
TestAnyFailure.settings = settings(
    max_examples=profile.examples(20),
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
