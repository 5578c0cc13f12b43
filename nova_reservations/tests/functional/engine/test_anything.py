# SPDX-License-Identifier: Apache-2.0
"""Users, workers and crashes do anything, in any order."""

import contextlib
import datetime
import pathlib
import tempfile

from hypothesis import HealthCheck
from hypothesis import settings
from hypothesis import stateful
from hypothesis import strategies as st
import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.objects import states
from nova_reservations.testing import region as regions
from nova_reservations.testing.steps import Killed
from nova_reservations.testing.steps import Steps
from nova_reservations.tests import profile
from nova_reservations.tests.functional.engine import recorded
from nova_reservations.tests.functional.engine import shown

pytestmark = pytest.mark.fuzz

HOSTS = ('one', 'two', 'three')
REFUSALS = (
    # A waiting lease seems to be tried after the worker that tries it was
    # killed.
    exception.Contended,
    exception.InvalidInput,
    exception.InvalidState,
    exception.NotEnoughResources,
)
TIMES = st.integers(0, 12).map(lambda tens: tens * 10)


class Machine(stateful.RuleBasedStateMachine):
    """Leases have numbers as names, and so have leases that were refused. By
    chance, refusals depend on the hosts that other leases got."""

    leases = stateful.Bundle('leases')

    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.TemporaryDirectory()
        self.factory = regions.Factory(pathlib.Path(self.directory.name))
        self.region = self.factory(*HOSTS)
        self.record = recorded.Oracle(self.region)
        self.shown = shown.Oracle(self.region)
        self.made: list[objects.Lease | None] = []
        self.crashes = 0

    def teardown(self) -> None:
        try:
            self._finish()
        finally:
            self.factory.close()
            self.directory.cleanup()

    def _finish(self) -> None:
        """Let time pass until nothing is due; nothing of any lease may be
        left."""
        region = self.region
        region.cloud.slow_servers.clear()
        last = region.worker('last')
        for _ in range(3 + 6 * len(self.made)):
            # An expired claim, an overdue end, and one more try of each
            # waiting lease need a while each.
            region.now += regions.minutes(600)
            region.work(last)
            self.record.look()
            if region.next_due() is None:
                break
        assert recorded.totals(region) == self.record.totals()
        for lease in region.lease_lists.find(objects.LeaseQuery()):
            assert lease.status in ('TERMINATED', 'ERROR'), lease
            assert lease.status_reason or lease.status == 'TERMINATED'
            assert not lease.in_nova
            assert region.hosts_of(lease) == set()
        assert region.cloud.aggregate_hosts == {}
        assert region.cloud.instances == {}
        assert region.hosts_of(region.lease(minimum=len(HOSTS)))

    @stateful.rule(
        target=leases,
        start=TIMES,
        length=TIMES,
        count=st.integers(1, 3),
        project=st.sampled_from(['p', 'q']),
    )
    def create(self, start, length, count, project):
        self.made.append(None)
        with contextlib.suppress(*REFUSALS):
            self.made[-1] = self.region.lease(
                start=start,
                end=start + length,
                minimum=count,
                project=project,
            )
        return len(self.made) - 1

    @stateful.rule(
        target=leases,
        length=TIMES,
        count=st.integers(1, 3),
        retries=st.integers(1, 5),
        fixed=st.booleans(),
    )
    def wait(self, length, count, retries, fixed):
        self.made.append(None)
        with contextlib.suppress(*REFUSALS):
            self.made[-1] = self.region.retry(
                minimum=count,
                retries=retries,
                **{'end' if fixed else 'duration': length},
            )
        return len(self.made) - 1

    @stateful.rule(
        lease=leases,
        changes=st.fixed_dictionaries(
            {},
            optional={
                'start': TIMES,
                'end': TIMES,
                'min': st.integers(1, 3),
                'max': st.integers(1, 3),
                'name': st.just('new'),
            },
        ),
    )
    def update(self, lease, changes):
        if self.made[lease] is not None:
            with contextlib.suppress(*REFUSALS, exception.NotFound):
                self.region.change(self.made[lease], **changes)

    @stateful.rule(lease=leases)
    def delete(self, lease):
        if self.made[lease] is not None:
            with contextlib.suppress(exception.NotFound):
                self.region.delete(self.made[lease])

    @stateful.rule(lease=leases, slow=st.booleans())
    def boot(self, lease, slow):
        """Let servers in as nova-scheduler does: only while the lease is
        active."""
        region, one = self.region, self.made[lease]
        access = one and region.access.find(one.reservations[0].id)
        if not access or access.status != states.Lease.ACTIVE:
            return
        for host in sorted(access.hosts & region.aggregate_of(one)):
            server = region.cloud.boot(host, one.project_id)
            if slow:
                region.cloud.slow_servers.add(server)

    @stateful.rule()
    def servers_leave(self):
        self.region.cloud.finish_tasks()

    @stateful.rule(passed=st.sampled_from([0, 0.1, 1, 10, 35]))
    def time_passes(self, passed):
        self.region.now += regions.minutes(passed)

    @stateful.rule()
    def work(self):
        self.region.work()

    @stateful.rule(number=st.integers(1, 12))
    def crash(self, number):
        def kill(step):
            raise Killed

        self.crashes += 1
        victim = self.region.worker(f'victim {self.crashes}', threads=1)
        with Steps(self.region, number, kill):
            with contextlib.suppress(Killed):
                victim.tick(self.region.now)
            victim.drain()

    @stateful.rule()
    def the_first_does_not_wait_for_what_is_free(self):
        region = self.region
        region.work()
        waiting = [
            lease
            for lease in region.lease_lists.find(objects.LeaseQuery())
            if lease.status == 'CREATING'
        ]
        if not waiting or any(lease.claimed_by for lease in waiting):
            return
        first = min(waiting, key=lambda lease: lease.arrival)
        end = first.end_date
        if first.duration:
            end = region.now + datetime.timedelta(seconds=first.duration)
        region.delete(first)
        with contextlib.suppress(*REFUSALS):
            again = region.lease_of(
                *(
                    (one.resource_type, one.params)
                    for one in first.reservations
                ),
                end=(end - region.now) / regions.minutes(1),
            )
            raise AssertionError(f'{first} could have had {again}')

    @stateful.invariant()
    def who_waits_holds_nothing(self):
        for lease in self.region.lease_lists.find(objects.LeaseQuery()):
            if lease.status == 'CREATING':
                assert not self.region.hosts_of(lease)
                assert not lease.in_nova

    @stateful.invariant()
    def what_is_shown_of_the_past_does_not_change(self):
        self.shown.look()

    @stateful.invariant()
    def the_record_says_what_is_held(self):
        self.record.look()

    @stateful.invariant()
    def no_host_is_promised_twice(self):
        [found] = self.region.resources.allocation_lists(objects.HOST).find(
            self.region.now
        )
        for held in found.values():
            held = [one for one in held if not one.released]
            for number, one in enumerate(held):
                for other in held[number + 1 :]:
                    assert (
                        one.end_date <= other.start_date
                        or other.end_date <= one.start_date
                    )

    @stateful.invariant()
    def no_host_is_of_two_active_leases(self):
        used = [
            host
            for lease in self.region.lease_lists.find(objects.LeaseQuery())
            if lease.status == states.Lease.ACTIVE
            for host in self.region.access.find(lease.reservations[0].id).hosts
        ]
        assert len(used) == len(set(used))

    @stateful.invariant()
    def no_server_is_on_a_host_that_is_free(self):
        held = {
            host
            for lease in self.region.lease_lists.find(objects.LeaseQuery())
            for host in self.region.hosts_of(lease)
        }
        assert {
            server.host for server in self.region.cloud.instances.values()
        } <= held

    @stateful.invariant()
    def what_is_not_in_nova_has_no_aggregate(self):
        for lease in self.region.lease_lists.find(objects.LeaseQuery()):
            if not lease.in_nova:
                assert self.region.aggregate_of(lease) is None

    @stateful.invariant()
    def what_a_worker_must_look_at_is_due_some_time(self):
        for lease in self.region.lease_lists.find(objects.LeaseQuery()):
            over = lease.status == 'TERMINATED' or (
                lease.status == 'ERROR' and not lease.in_nova
            )
            assert over or lease.due_at is not None


TestAnything = Machine.TestCase
TestAnything.settings = settings(
    max_examples=profile.examples(25),
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
