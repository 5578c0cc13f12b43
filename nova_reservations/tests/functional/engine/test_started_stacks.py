# SPDX-License-Identifier: Apache-2.0
"""Stacks of Heat from their start to their end, in a cloud in memory.

Decision 0058: doc/source/decisions/0058-stacks
"""

from collections import Counter
import dataclasses

import pytest

from nova_reservations import exception
from nova_reservations import ports
from nova_reservations.engine import identity
from nova_reservations.testing import stacks
from nova_reservations.testing.region import minutes
from nova_reservations.testing.region import NOON
from nova_reservations.testing.stacks import STACK
from nova_reservations.tests.functional.engine import recorded
from nova_reservations.tests.functional.engine import stack_leases
from nova_reservations.tests.functional.engine import test_used_servers
from nova_reservations.tests.functional.engine.stack_leases import active
from nova_reservations.tests.functional.engine.stack_leases import ask
from nova_reservations.tests.functional.engine.stack_leases import SERVERS
from nova_reservations.types import base


@pytest.fixture
def region(make_region):
    return stack_leases.region_of(make_region)


class TestStart:
    def test_servers_of_a_stack_find_their_slots_while_it_is_made(
        self, region
    ):
        lease = ask(region)
        region.work()
        assert region.status(lease) == 'STARTING'
        assert region.see(lease).status_reason == 'Heat is asked for its stack'
        assert len(region.access.open_to('lessee')) == 2
        region.forward(until=0.2)
        assert region.see(lease).status_reason == 'Heat makes its stack'
        region.cloud.stacks.finish()
        region.forward(until=1)
        assert region.status(lease) == 'ACTIVE'
        assert len(region.cloud.stacks_made) == 1

    def test_a_stack_that_fails_is_deleted_with_its_slots(self, region):
        lease = ask(region)
        region.work()
        region.cloud.stacks.finish('FAILED', 'no such image')
        region.forward(until=1)
        assert region.status(lease) == 'ERROR'
        assert 'no such image' in region.see(lease).status_reason
        region.cloud.stacks.finish()
        region.forward(until=2)
        assert not region.cloud.stacks_made
        assert not region.cloud.aggregate_hosts

    @pytest.mark.parametrize('way', ['complete', 'late', 'deleted'])
    def test_slots_count_from_when_servers_land_in_them(self, region, way):
        lease = ask(region)
        region.work()
        slots = region.see(lease).reservations[1]
        region.access.record_use(
            'server', slots.id, test_used_servers.SMALL, region.now
        )
        region.forward(until=20)
        assert region.status(lease) == 'STARTING'
        if way == 'complete':
            region.cloud.stacks.finish()
        elif way == 'deleted':
            region.delete(lease)
        region.cloud.heat_is_quick = True
        region.forward(until=70)
        lasted = 20 if way == 'deleted' else 60
        held = Counter()
        for row in recorded.rows(region):
            assert row.started_at == NOON
            assert row.ended_at == NOON + minutes(lasted)
            held[row.resource_class] += row.amount
        assert held['slots'] == 3
        [(_, _, began, ended)] = test_used_servers.used(region)
        assert (began, ended) == (0, lasted)

    def test_a_lease_is_told_of_each_hour_though_its_stack_is_not_complete(
        self, make_region
    ):
        region = stack_leases.region_of(
            make_region, lease_exists_notifications=True
        )
        ask(region, start=10, end=200)
        region.now = NOON + minutes(20)
        region.work()
        starts_later = region.lease(start=300, end=400)
        region.now = NOON + minutes(61)
        region.work()
        [told] = (
            payload for kind, payload in region.notes if kind == 'lease.exists'
        )
        assert told['lease_id'] != starts_later.id
        assert told['status'] == 'STARTING'
        assert (
            sum(
                item['resources']['amounts']['slots']
                for item in told['reservations']
                if 'resources' in item
            )
            == 3
        )

    def test_a_lease_whose_stack_heat_refuses_fails(self, region):
        lease = ask(region)
        region.cloud.without_quota.add('lessee')
        region.forward(until=1)
        assert region.status(lease) == 'ERROR'
        assert 'too many stacks' in region.see(lease).status_reason
        assert not region.cloud.aggregate_hosts

    def test_a_stack_for_which_a_role_has_come_or_gone_fails(self, region):
        lease = ask(region, start=10)
        region.cloud.roles = ['member', 'admin']
        region.forward(until=11)
        assert region.status(lease) == 'ERROR'
        assert 'by role admin' in region.see(lease).status_reason
        assert not region.cloud.stacks_made

    def test_a_silent_heat_is_waited_for(self, region):
        lease = ask(region)
        region.cloud.heat_is_silent = True
        region.forward(until=1)
        assert region.status(lease) == 'STARTING'
        region.cloud.heat_is_silent = False
        region.forward(until=2)
        region.cloud.stacks.finish()
        region.forward(until=3)
        assert region.status(lease) == 'ACTIVE'

    def test_a_stack_that_its_owner_deletes_meanwhile_is_not_waited_for(
        self, region
    ):
        lease = ask(region)
        region.work()
        [made] = region.cloud.stacks_made.values()
        region.cloud.stacks.delete(made, lambda: None)
        region.forward(until=1)
        assert region.status(lease) == 'ERROR'

    def test_no_stack_is_made_twice(self, region):
        lease = ask(region, start=5)
        booking = base.Booking.looked_at(
            lease, lease.reservations[0], (), region.now
        )
        kind = region.types[STACK]
        assert kind.start(booking)
        assert kind.start(booking)
        assert len(region.cloud.stacks_made) == 1


class TestEnd:
    def test_a_stack_is_deleted_before_its_slots_are(self, region):
        lease = active(region)
        region.forward(until=60)
        assert region.status(lease) == 'TERMINATING'
        assert 'delete its stack' in region.see(lease).status_reason
        assert region.cloud.aggregate_hosts
        region.cloud.stacks.finish()
        region.forward(until=61)
        assert region.status(lease) == 'TERMINATED'
        assert not region.cloud.aggregate_hosts

    def test_a_deletion_of_a_stack_that_fails_is_asked_for_again(self, region):
        lease = active(region)
        region.forward(until=60)
        region.cloud.stacks.finish('FAILED', 'a port is in use')
        region.forward(until=60.5)
        [made] = region.cloud.stacks_made.values()
        assert made.status == 'IN_PROGRESS'
        region.cloud.stacks.finish()
        region.forward(until=62)
        assert region.status(lease) == 'TERMINATED'

    @pytest.mark.parametrize('way', ['role', 'service'])
    @pytest.mark.parametrize('end_action', ['delete', 'suspend'])
    def test_a_stack_is_left_if_its_owner_could_get_more_by_it(
        self, region, way, end_action
    ):
        lease = active(region, end_action=end_action)
        if way == 'role':
            region.cloud.roles.append('admin')
        else:
            region.cloud.catalog.append('workflowv2')
        region.forward(until=61)
        assert region.status(lease) == 'TERMINATED'
        assert not region.cloud.aggregate_hosts
        [made] = region.cloud.stacks_made.values()
        assert made.state == 'CREATE_COMPLETE'

    @pytest.mark.parametrize('way', ['slow', 'silent', 'without a role'])
    def test_places_of_a_stack_come_free_whatever_heat_does(self, region, way):
        lease = active(region)
        region.cloud.heat_is_silent = way == 'silent'
        if way == 'without a role':
            region.cloud.without_role.add('lessee')
        region.forward(until=69)
        assert region.status(lease) == 'TERMINATED'
        assert not region.cloud.aggregate_hosts
        assert len(region.cloud.stacks_made) == 1

    def test_a_stack_is_suspended_and_its_servers_leave(self, region):
        lease = active(region, end_action='suspend')
        place = stack_leases.boot(region, lease)
        region.forward(until=60)
        [made] = region.cloud.stacks_made.values()
        assert made.state == 'SUSPEND_IN_PROGRESS'
        assert place in region.cloud.instances
        region.cloud.stacks.finish()
        region.forward(until=62)
        assert region.status(lease) == 'TERMINATED'
        [made] = region.cloud.stacks_made.values()
        assert made.state == 'SUSPEND_COMPLETE'
        assert place in region.cloud.shelved

    def test_a_stack_that_can_not_be_suspended_is_left(self, region):
        lease = active(region, end_action='suspend')
        region.forward(until=60)
        region.cloud.stacks.finish('FAILED', 'a server is in error')
        region.forward(until=62)
        assert region.status(lease) == 'TERMINATED'

    def test_a_stack_is_kept_and_its_servers_move(self, region):
        lease = active(region, end_action='keep')
        place = stack_leases.boot(region, lease)
        region.forward(until=62)
        assert region.status(lease) == 'TERMINATED'
        [made] = region.cloud.stacks_made.values()
        assert made.state == 'CREATE_COMPLETE'
        assert place in region.cloud.elsewhere

    def test_a_stack_of_a_start_that_failed_is_not_kept(self, region):
        ask(region, end_action='keep')
        region.work()
        region.cloud.stacks.finish('FAILED', 'no such image')
        region.forward(until=1)
        region.cloud.stacks.finish()
        region.forward(until=2)
        assert not region.cloud.stacks_made

    def test_a_stack_that_its_owner_has_deleted_is_not_made_again(
        self, region
    ):
        lease = active(region)
        region.cloud.stacks_made.clear()
        region.change(lease, end_action='suspend')
        region.work()
        assert not region.cloud.stacks_made
        region.forward(until=61)
        assert region.status(lease) == 'TERMINATED'


class TestSeen:
    def test_an_active_one_is_shown_with_its_state_in_heat(self, region):
        lease = active(region)
        [made] = region.cloud.stacks_made.values()
        assert usage(region, lease) == {
            'stack': {
                'id': made.id,
                'name': f'reservation-{lease.reservations[0].id}',
                'status': 'CREATE_COMPLETE',
            }
        }

    def test_nothing_is_shown_where_nobody_may_ask(self, region):
        lease = active(region)
        region.cloud.without_role.add('lessee')
        assert usage(region, lease) == {}

    def test_a_stack_is_shown_as_it_was_asked_for(self, region):
        item = ask(region, start=10).reservations[0]
        assert region.types[STACK].show(item) == {
            'template': stacks.template(SERVERS),
            'parameters': {'flavor': 'id-small'},
            'end_action': 'delete',
        }


def usage(region, lease):
    seen = region.see(lease)
    return region.services.lease_lists.usage(seen, seen.reservations[0])


class TestAudit:
    def test_a_stack_of_a_lease_that_is_over_is_found(self, region):
        lease = active(region)
        left = dict(region.cloud.stacks_made)
        assert not found(region)
        region.cloud.stacks_made.clear()
        region.forward(until=61)
        region.cloud.stacks_made |= left
        [finding] = found(region)
        assert finding.problem == (
            f'Stack {left.popitem()[1].id} of project lessee is of '
            f'reservation {lease.reservations[0].id}, whose lease is over'
        )
        region.cloud.catalog.append('workflowv2')
        with pytest.raises(exception.CloudRefused, match='has Mistral'):
            finding.repair()
        region.cloud.catalog.remove('workflowv2')
        finding.repair()
        region.cloud.stacks.finish()
        assert not found(region)

    @pytest.mark.parametrize('end_action', ['keep', 'suspend'])
    def test_a_stack_that_is_kept_is_no_finding(self, region, end_action):
        region.cloud.heat_is_quick = True
        active(region, end_action=end_action)
        region.forward(until=61)
        assert len(region.cloud.stacks_made) == 1
        assert not found(region)

    def test_a_stack_that_an_active_lease_lacks_is_told(self, region):
        lease = active(region)
        region.cloud.stacks_made.clear()
        [finding] = found(region)
        assert f'Lease {lease.id} is active' in finding.problem
        assert 'gone from Heat' in finding.problem
        assert finding.repair is None

    def test_a_stack_that_has_lost_its_tags_is_there(self, region):
        active(region)
        [(name, made)] = region.cloud.stacks_made.items()
        region.cloud.stacks_made[name] = dataclasses.replace(
            made, words=frozenset(), is_tagged=False
        )
        assert not found(region)

    def test_a_stack_that_has_failed_is_told(self, region):
        active(region)
        [(name, made)] = region.cloud.stacks_made.items()
        region.cloud.stacks_made[name] = dataclasses.replace(
            made, action='UPDATE', status='FAILED', reason='no such image'
        )
        [finding] = found(region)
        assert 'UPDATE_FAILED in Heat: no such image' in finding.problem
        assert finding.repair is None

    def test_a_stack_that_nobody_knows_is_only_told(self, region):
        active(region)
        [made] = region.cloud.stacks_made.values()
        name = identity.of(region.database)
        region.cloud.stacks_made['other'] = dataclasses.replace(
            made,
            id='other',
            words=frozenset(ports.Mark('gone', 'of another').tags),
        )
        assert not found(region)
        region.cloud.stacks_made['other'] = dataclasses.replace(
            made, id='other', words=frozenset(ports.Mark('gone', name).tags)
        )
        [finding] = found(region)
        assert finding.repair is None

    def test_a_project_without_a_token_is_told_of(self, region):
        active(region)
        region.cloud.without_role.add('lessee')
        [finding] = found(region)
        assert 'project lessee' in finding.problem


def found(region):
    return list(region.services.audit.of_types(region.now))
