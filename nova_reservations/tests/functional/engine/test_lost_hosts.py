# SPDX-License-Identifier: Apache-2.0
"""Hosts that Nova or placement no longer has as they were enrolled."""

import contextlib
import dataclasses
import uuid

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.objects import states
from nova_reservations.testing import fake_cloud
from nova_reservations.testing.region import minutes
from nova_reservations.testing.steps import Killed
from nova_reservations.testing.steps import Steps
from nova_reservations.tests import profile
from nova_reservations.tests.functional.engine import test_instances

HOSTS = ('one', 'two', 'three')


def host(region, name):
    [found] = region.hosts.find(objects.HostQuery(name=name))
    return found


def lose(region, name):
    """Delete a host from Nova and placement."""
    del region.cloud.known[name]
    region.cloud.marked.discard(name)
    region.cloud.pool.discard(name)
    for members in region.cloud.aggregate_hosts.values():
        members.discard(name)


def put_another(region, name, **facts):
    """Put another machine in the place of a host, by the same name."""
    lose(region, name)
    region.cloud.known[name] = dataclasses.replace(
        fake_cloud.facts(name), uuid=str(uuid.uuid4()), **facts
    )


def refresh(region):
    region.hosts.refresh(region.now)
    region.work()


def kill(step):
    raise Killed(step)


def whole(region, lease):
    return (
        region.status(lease) == 'ACTIVE'
        and not region.see(lease).degraded
        and region.hosts_of(lease) == region.aggregate_of(lease)
    )


class TestStart:
    @pytest.fixture
    def region(self, make_region):
        return make_region(*HOSTS)

    def test_another_host_is_taken_in_place_of_one_that_is_refused(
        self, region
    ):
        lease = region.lease(minimum=2)
        bad = min(region.hosts_of(lease))
        lose(region, bad)
        region.work()
        assert whole(region, lease)
        assert region.hosts_of(lease) == {*HOSTS} - {bad}
        assert not host(region, bad).bookable
        assert host(region, bad).status_reason is not None

    def test_hosts_that_are_refused_are_all_replaced(self, make_region):
        region = make_region('one', 'two', 'three', 'four')
        lease = region.lease(minimum=2)
        bad = region.hosts_of(lease)
        for name in bad:
            lose(region, name)
        region.work()
        assert whole(region, lease)
        assert not bad & region.hosts_of(lease)

    def test_a_lease_that_was_prepared_gets_another_host(self, region):
        lease = region.lease(start=20, minimum=2)
        region.forward(until=15)
        bad = min(region.hosts_of(lease))
        lose(region, bad)
        region.forward(until=20)
        assert whole(region, lease)
        assert bad not in region.hosts_of(lease)

    def test_leases_that_start_together_start_beside_a_lost_host(self, region):
        leases = [region.lease(start=20) for _ in range(2)]
        region.forward(until=15)
        [bad] = region.hosts_of(leases[0])
        lose(region, bad)
        region.forward(until=20)
        assert all(whole(region, lease) for lease in leases)

    def test_a_host_is_found_to_be_lost_before_the_start(self, region):
        lease = region.lease(start=20, minimum=2)
        bad = min(region.hosts_of(lease))
        lose(region, bad)
        region.forward(until=12)
        assert host(region, bad).lost is not None
        assert bad not in region.hosts_of(lease)

    def test_slots_are_taken_on_another_host(self, make_region):
        region = make_region(*HOSTS, types=test_instances.TYPES)
        lease = region.lease_of(test_instances.slots(2, affinity=True))
        [bad] = region.hosts_of(lease)
        lose(region, bad)
        region.work()
        assert region.status(lease) == 'ACTIVE'
        assert not region.see(lease).degraded
        [good] = region.hosts_of(lease)
        [reservation] = lease.reservations
        assert good != bad
        assert region.cloud.classes[reservation.id] == {good: 2}

    def test_a_lease_for_now_is_an_error_where_no_other_is_free(
        self, make_region
    ):
        region = make_region('one', 'two')
        lease = region.lease(minimum=2)
        lose(region, 'one')
        region.work()
        lease = region.see(lease)
        assert lease.status == states.Lease.ERROR
        assert 'one' not in lease.status_reason.split()
        assert region.hosts_of(lease) == set()

    def test_a_lease_for_now_starts_with_no_less_than_it_asks_for(
        self, make_region
    ):
        region = make_region('one', 'two')
        lease = region.lease(minimum=1, maximum=2)
        lose(region, 'one')
        region.work()
        assert region.status(lease) == 'ACTIVE'
        assert region.see(lease).reservations[0].missing_resources

    def test_a_promised_lease_starts_without_it_and_gets_what_comes_free(
        self, make_region
    ):
        region = make_region('one', 'two')
        lease = region.lease(start=20, end=100)
        [bad] = region.hosts_of(lease)
        other = region.lease(end=40)
        region.work()
        lose(region, bad)
        region.forward(until=20)
        assert region.status(lease) == 'ACTIVE'
        assert region.see(lease).reservations[0].missing_resources
        region.delete(other)
        region.work()
        assert not region.see(lease).reservations[0].missing_resources
        assert region.aggregate_of(lease) == {'one', 'two'} - {bad}

    def test_a_lease_that_has_waited_starts_when_another_comes_free(
        self, make_region
    ):
        region = make_region('one', 'two')
        other = region.lease(minimum=2, end=30)
        region.work()
        lease = region.retry(end=None, duration=60)
        lose(region, 'one')
        region.delete(other)
        region.forward(until=31)
        assert region.status(lease) == 'ACTIVE'
        assert region.hosts_of(lease) == {'two'}

    @pytest.mark.fuzz
    def test_whoever_is_killed_at_it_another_takes_another_host(
        self, make_region
    ):
        for number in profile.steps():
            region = make_region(*HOSTS)
            lease = region.lease(minimum=2)
            bad = min(region.hosts_of(lease))
            lose(region, bad)
            with Steps(region, number, kill) as steps:
                victim = region.worker('victim')
                with contextlib.suppress(Killed):
                    victim.tick(region.now)
                victim.drain()
            region.now += minutes(0.6)
            region.work(region.worker('other'))
            assert whole(region, lease)
            assert bad not in region.hosts_of(lease)
            assert region.told(lease).count('event.start_lease') <= 1
            if not steps.reached:
                break
        assert number >= 3


class TestReplacedMachine:
    @pytest.fixture
    def region(self, make_region):
        return make_region('one', 'two')

    def test_a_host_without_a_provider_counts_as_failed(self, region):
        lease = region.active_lease()
        [bad] = region.hosts_of(lease)
        put_another(region, bad)
        refresh(region)
        # Its nova-compute reports, that of the other machine.
        region.monitoring.poll(region.now)
        assert host(region, bad).lost is not None
        region.look()
        assert region.see(lease).reservations[0].resources_changed
        with pytest.raises(exception.NotEnoughResources):
            region.lease()

    def test_servers_on_the_other_machine_are_not_of_the_lease(self, region):
        lease = region.active_lease()
        [bad] = region.hosts_of(lease)
        put_another(region, bad)
        server = region.cloud.intrude(bad, 'somebody')
        refresh(region)
        findings = region.services.audit.findings(region.now)
        assert not any(server in finding.problem for finding in findings)
        region.look()
        region.forward(until=70)
        assert region.status(lease) == 'TERMINATED'
        assert server in region.cloud.instances

    def test_a_provider_that_is_back_is_used_again(self, region):
        facts = region.cloud.known['one']
        lose(region, 'one')
        refresh(region)
        assert not host(region, 'one').bookable
        region.cloud.known['one'] = facts
        region.cloud.marked.add('one')
        refresh(region)
        assert host(region, 'one').bookable

    def test_another_machine_takes_the_place_of_the_lost_one(self, region):
        lease = region.active_lease()
        later = region.lease(start=100, end=200, minimum=2)
        [name] = region.hosts_of(lease)
        before = host(region, name)
        put_another(region, name)
        refresh(region)
        after = region.enrol(name)
        assert after.id == before.id
        assert after.bookable
        assert after.facts.uuid == region.cloud.known[name].uuid
        assert {name} <= region.cloud.marked & region.cloud.pool
        region.look()
        region.forward(until=101)
        assert region.status(lease) == 'TERMINATED'
        assert whole(region, later)

    def test_a_new_machine_waits_for_servers_that_came_before_it_was_added(
        self, region
    ):
        lease = region.lease(start=100, end=200, minimum=2)
        put_another(region, 'one')
        server = region.cloud.intrude('one', 'somebody')
        added = region.enrol('one')
        assert not added.reservable
        assert server in added.status_reason
        assert 'delete' not in added.status_reason
        del region.cloud.instances[server]
        region.services.hosts.enrolment.complete_all(region.now)
        assert host(region, 'one').bookable
        region.forward(until=100)
        assert whole(region, lease)

    def test_a_new_machine_stays_open_where_no_lease_has_the_host(
        self, region
    ):
        put_another(region, 'one')
        region.cloud.intrude('one', 'somebody')
        with pytest.raises(exception.HostInUse, match='is in use: servers'):
            region.enrol('one')
        assert not region.hosts.is_enrolled('one')
        assert 'one' not in region.cloud.marked

    def test_a_new_machine_is_refused_while_placement_has_the_old_one(
        self, region
    ):
        old = host(region, 'one')
        put_another(region, 'one')
        region.cloud.orphans.add(old.facts.uuid)
        with pytest.raises(exception.HostInUse) as refused:
            region.enrol('one')
        assert old.facts.uuid in str(refused.value)
        assert f'remove host {old.id} first' in str(refused.value)
        # What the refusal says, one and the other.
        region.cloud.orphans.clear()
        assert region.enrol('one').id == old.id
        put_another(region, 'one')
        region.cloud.orphans.add(host(region, 'one').facts.uuid)
        region.hosts.enrolment.remove(old.id, region.now)
        assert region.enrol('one').bookable

    def test_sentences_that_are_printed_end_in_a_whole_cloud(
        self, region, caplog
    ):
        auditor = region.services.audit
        lease = region.active_lease()
        [name] = region.hosts_of(lease)
        put_another(region, name)
        region.cloud.intrude(name, 'somebody', 'a good server')
        refresh(region)
        region.look()
        said = [
            *(finding.problem for finding in auditor.findings(region.now)),
            *caplog.messages,
        ]
        assert any(f'{name} (host ' in sentence for sentence in said)
        assert not any('good server' in sentence for sentence in said)
        assert not any('delete' in sentence for sentence in said)
        [finding] = auditor.findings(region.now)
        assert 'add the host again; else remove it' in finding.problem
        del region.cloud.instances['a good server']
        region.enrol(name)
        region.look()
        assert auditor.findings(region.now) == []
        assert region.status(lease) == 'ACTIVE'
        assert not region.see(lease).reservations[0].missing_resources

    @pytest.mark.fuzz
    def test_a_machine_is_added_again_whoever_is_killed_while_adding_it(
        self, make_region
    ):
        for number in profile.steps():
            region = make_region('one')
            lease = region.lease(start=20)
            put_another(region, 'one')
            with Steps(region, number, kill) as steps:
                with contextlib.suppress(Killed):
                    region.enrol('one')
            if not steps.reached:
                break
            assert region.enrol('one').bookable
            region.forward(until=20)
            assert whole(region, lease)
        assert number >= 3
