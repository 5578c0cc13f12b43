# SPDX-License-Identifier: Apache-2.0
"""Hosts with slots fail and recover, in any order, whatever else happens,
against brute force."""

import contextlib
import dataclasses
import datetime
import pathlib
import tempfile

from hypothesis import HealthCheck
from hypothesis import settings
from hypothesis import stateful
from hypothesis import strategies as st
import pytest
import sqlalchemy as sa

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import models
from nova_reservations.objects import states
from nova_reservations.testing import region as regions
from nova_reservations.testing.steps import Killed
from nova_reservations.testing.steps import Steps
from nova_reservations.tests import profile
from nova_reservations.tests.functional.engine import recorded
from nova_reservations.tests.functional.engine import shown
from nova_reservations.tests.functional.engine import test_instances

pytestmark = pytest.mark.fuzz

HOSTS = ('one', 'two', 'three', 'four')
VCPUS = 64
"""VCPUs of each host; nothing else is scarce."""

REFUSALS = (
    exception.Contended,
    exception.InvalidInput,
    exception.InvalidState,
    exception.NotEnoughResources,
    exception.NotFound,
)
TIMES = st.integers(0, 12).map(lambda tens: tens * 10)
HOW = [{}, {'disabled': True}, {'forced_down': True}]


@dataclasses.dataclass(frozen=True)
class Held:
    """The share of a host in an allocation that is not released.

    :ivar left: whether another host was given in its place.
    """

    lease: str
    reservation: str
    host: str
    start: datetime.datetime
    end: datetime.datetime
    exclusive: bool
    left: bool
    vcpus: int
    slots: int


class Machine(stateful.RuleBasedStateMachine):
    """Leases have numbers as names, and so have leases that were refused."""

    leases = stateful.Bundle('leases')

    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.TemporaryDirectory()
        self.factory = regions.Factory(pathlib.Path(self.directory.name))
        self.region = self.factory(*HOSTS, types=test_instances.TYPES)
        self.region.opts.set_override(
            'heal_evacuate', True, group='reservations'
        )
        self.record = recorded.Oracle(self.region)
        self.shown = shown.Oracle(self.region, whole=False)
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
        for host in HOSTS:
            region.cloud.recover(host)
        region.look()
        self.record.look()
        region.cloud.slow_servers.clear()
        last = region.worker('last')
        for _ in range(3 + 6 * len(self.made)):
            region.now += regions.minutes(600)
            region.work(last)
            self.record.look()
            if region.next_due() is None:
                break
        assert recorded.totals(region) == self.record.totals()
        for lease in region.lease_lists.find(objects.LeaseQuery()):
            assert lease.status in ('TERMINATED', 'ERROR'), lease
            assert not lease.in_nova
            assert region.hosts_of(lease) == set()
        cloud = region.cloud
        assert cloud.aggregate_hosts == cloud.classes == cloud.flavors == {}
        assert cloud.instances == cloud.groups == {}
        assert region.hosts_of(region.lease(minimum=len(HOSTS)))

    # What happens

    @stateful.rule(
        target=leases,
        start=TIMES,
        length=TIMES,
        amount=st.integers(1, 6),
        vcpus=st.sampled_from([8, 16, 32]),
        affinity=st.sampled_from([None, None, True, False]),
        killed_at=st.sampled_from([0, 0, 0, 0, 2, 3, 4, 5]),
    )
    def create(self, start, length, amount, vcpus, affinity, killed_at):
        """:param killed_at: the step before which nova-api is killed, after
        the first, which is the booking; 0: none
        """
        item = test_instances.slots(amount, vcpus, affinity=affinity)
        with (
            Steps(self.region, killed_at, test_instances.kill),
            contextlib.suppress(Killed),
        ):
            self._lease(item, start, length)
        return len(self.made) - 1

    @stateful.rule(target=leases, start=TIMES, length=TIMES)
    def create_whole(self, start, length):
        return self._lease((objects.HOST, {'min': 1, 'max': 1}), start, length)

    def _lease(self, item, start, length):
        self.made.append(None)
        with contextlib.suppress(*REFUSALS):
            self.made[-1] = self.region.lease_of(
                item, start=start, end=start + length
            )
        return len(self.made) - 1

    @stateful.rule(
        lease=leases,
        changes=st.sampled_from(
            [{'amount': 2}, {'amount': 5}, {'end': 60}, {'end': 120}]
        ),
    )
    def update(self, lease, changes):
        if self.made[lease] is not None:
            with contextlib.suppress(*REFUSALS, TypeError):
                self.region.change(self.made[lease], **changes)

    @stateful.rule(lease=leases)
    def delete(self, lease):
        if self.made[lease] is not None:
            with contextlib.suppress(exception.NotFound):
                self.region.delete(self.made[lease])

    @stateful.rule(lease=leases, slow=st.booleans())
    def boot(self, lease, slow):
        """Let servers in as nova-scheduler does: into slots that are free."""
        region, one = self.region, self.made[lease]
        key = one and one.reservations[0].id
        access = key and region.access.find(key)
        if not access or access.status != states.Lease.ACTIVE:
            return
        if key not in region.cloud.classes:
            return
        for host in region.cloud.free_slots(key):
            if host in access.hosts:
                server = test_instances.boot(region, one, host)
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

    @stateful.rule(number=st.integers(1, 16))
    def crash(self, number):
        self.crashes += 1
        victim = self.region.worker(f'victim {self.crashes}', threads=1)
        with Steps(self.region, number, test_instances.kill):
            with contextlib.suppress(Killed):
                victim.tick(self.region.now)
            victim.drain()

    @stateful.rule(host=st.sampled_from(HOSTS), how=st.sampled_from(HOW))
    def fail(self, host, how):
        self.region.cloud.fail(host, **how)

    @stateful.rule(host=st.sampled_from(HOSTS))
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
        held = self._held()
        for lease in region.lease_lists.find(objects.LeaseQuery()):
            [reservation] = lease.reservations
            if (
                lease.status == states.Lease.ACTIVE
                and reservation.resource_type == test_instances.VIRTUAL
            ):
                mine = [one for one in held if one.lease == lease.id]
                self._is_healed(lease, reservation, mine, held)

    # What must hold

    def _is_healed(self, lease, reservation, mine, held):
        region, params = self.region, reservation.params
        mine = [one for one in mine if not one.left]
        assert sum(one.slots for one in mine) == params['amount']
        if params['affinity']:
            assert len(mine) == 1
        if params['affinity'] is False:
            assert {one.slots for one in mine} == {1}
        lacking = [one for one in mine if not self._usable(one, held)]
        assert reservation.missing_resources == bool(lacking)
        assert lease.degraded == (
            reservation.missing_resources or reservation.resources_changed
        )
        offered = {one.host: one.slots for one in mine if one not in lacking}
        assert region.cloud.classes[reservation.id] == offered
        assert region.cloud.aggregate_hosts[reservation.id] == set(offered)
        access = region.access.find(reservation.id)
        assert access.hosts == set(offered)
        for one in lacking:
            room = self._room(lease, params, mine, held)
            if params['affinity']:
                assert max(room.values(), default=0) < one.slots
            else:
                assert sum(room.values()) < one.slots

    def _usable(self, one, held):
        service = self.region.cloud.services.get(one.host)
        # A disabled host gets no new lease; a lease that has the host keeps
        # it.
        return (service is None or service.disabled) and not any(
            other.left and (other.exclusive or one.exclusive)
            for other in held
            if other.host == one.host and other.reservation != one.reservation
        )

    def _room(self, lease, params, mine, held):
        """Return host -> slots that the lease could have there at each instant
        of the time that is left to it."""
        kept = () if params['affinity'] is None else {one.host for one in mine}
        room = {}
        for host in set(HOSTS) - set(self.region.cloud.services) - set(kept):
            there = [
                one
                for one in held
                if one.host == host and one.start < lease.end_date
            ]
            free = [
                0
                if any(one.exclusive for one in there)
                else VCPUS - self._used(there, instant)
                for instant in self._instants(there)
            ]
            fit = min(free) // params['vcpus']
            room[host] = min(fit, 1) if params['affinity'] is False else fit
        return room

    def _instants(self, held):
        now = self.region.now
        return {now, *(one.start for one in held if one.start > now)}

    def _used(self, held, instant):
        """Return the used VCPUs. An allocation past its end counts until it is
        released."""
        return sum(
            one.vcpus
            for one in held
            if one.start <= instant
            and (instant < one.end or one.end <= self.region.now)
        )

    @stateful.invariant()
    def what_is_shown_of_the_past_does_not_change(self):
        self.shown.look()

    @stateful.invariant()
    def the_record_says_what_is_held(self):
        self.record.look()

    @stateful.invariant()
    def no_host_is_promised_beyond_what_it_has(self):
        held = [one for one in self._held() if not one.left]
        for one in held:
            there = [
                other
                for other in held
                if other.host == one.host
                and other.start <= one.start < other.end
            ]
            assert sum(other.vcpus for other in there) <= VCPUS
            assert len(there) == 1 or not any(
                other.exclusive for other in there
            )

    @stateful.invariant()
    def active_leases_can_use_no_more_than_there_is(self):
        region = self.region
        held = self._held()
        active = {
            lease.reservations[0].id
            for lease in region.lease_lists.find(objects.LeaseQuery())
            if lease.status == states.Lease.ACTIVE
        }
        usable = {one: region.access.find(one).hosts for one in sorted(active)}
        for host in HOSTS:
            used = [
                one
                for one in held
                if one.host == host
                and (
                    one.left
                    or (
                        one.reservation in active
                        and host in usable[one.reservation]
                    )
                )
            ]
            assert sum(one.vcpus for one in used) <= VCPUS, used
            assert len(used) < 2 or not any(one.exclusive for one in used)

    @stateful.invariant()
    def no_server_is_where_nothing_is_held(self):
        held = {(one.reservation, one.host) for one in self._held()}
        cloud = self.region.cloud
        assert {
            (cloud.reservation_of[server.uuid], server.host)
            for server in cloud.instances.values()
            if server.uuid in cloud.reservation_of
        } <= held

    def _held(self) -> list[Held]:
        found: dict[int, Held] = {}
        allocation, amount = models.Allocation, models.AllocationAmount
        with self.region.database.reader() as session:
            for row in session.execute(
                sa.select(
                    allocation.id,
                    models.Reservation.lease_id,
                    allocation.reservation_id,
                    models.Resource.name,
                    allocation.start_date,
                    allocation.end_date,
                    allocation.exclusive,
                    allocation.replaced_at,
                    amount.resource_class,
                    amount.amount,
                )
                .join(
                    models.Reservation,
                    models.Reservation.id == allocation.reservation_id,
                )
                .join(
                    models.Resource,
                    models.Resource.id == allocation.resource_id,
                )
                .outerjoin(amount, amount.allocation_id == allocation.id)
                .where(allocation.released == sa.false())
            ):
                one = found.setdefault(
                    row.id,
                    Held(
                        *row[1:7],
                        left=row.replaced_at is not None,
                        vcpus=0,
                        slots=0,
                    ),
                )
                if row.resource_class == 'VCPU':
                    one = dataclasses.replace(one, vcpus=row.amount)
                elif row.resource_class == objects.slot_class(row[2]):
                    one = dataclasses.replace(one, slots=row.amount)
                found[row.id] = one
        return list(found.values())


TestAnyFailureOfSlots = Machine.TestCase
TestAnyFailureOfSlots.settings = settings(
    max_examples=profile.examples(20),
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
