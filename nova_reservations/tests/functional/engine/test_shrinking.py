# SPDX-License-Identifier: Apache-2.0
"""Active leases give hosts back before their end."""

import contextlib
import datetime
import itertools

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db.holdings import allocations
from nova_reservations.db.upkeep import audit
from nova_reservations.engine.booking import lease_requests
from nova_reservations.testing.region import minutes
from nova_reservations.testing.steps import Killed
from nova_reservations.testing.steps import Steps
from nova_reservations.tests.functional.engine.test_update import refused

SECOND = datetime.timedelta(seconds=1)
SETTLE = 2 * SECOND


def params(region, lease):
    [reservation] = region.see(lease).reservations
    return reservation.params['min'], reservation.params['max']


def admitted(region, lease):
    """Return the hosts on which a new server of the lease may land."""
    [reservation] = lease.reservations
    return region.access.admit(
        reservation.id, lease.project_id, in_slot=False
    ).hosts


def begin_to_build(region, lease, server='coming'):
    """Have Nova look for a host for a server that the lease has let in."""
    region.cloud.build(server, 'lessee', 'building')
    region.cloud.hints[server] = lease.reservations[0].id


class TestWhatIsGivenBack:
    def test_empty_hosts_go_and_others_have_them_at_once(self, region):
        lease = region.active_lease(minimum=3)
        region.cloud.boot('two', 'lessee')
        region.change(lease, min=1, max=1)
        region.work()
        assert region.hosts_of(lease) == region.aggregate_of(lease) == {'two'}
        assert params(region, lease) == (1, 1)
        assert region.see(lease).status_reason is None
        other = region.active_lease(minimum=2)
        assert region.hosts_of(other) == {'one', 'three'}
        assert region.status(lease) == region.status(other) == 'ACTIVE'

    def test_hosts_that_are_named_go_and_no_others(self, region):
        lease = region.active_lease(minimum=3)
        region.change(lease, release_hosts=['two'])
        region.work()
        assert region.hosts_of(lease) == {'one', 'three'}
        assert params(region, lease) == (2, 2)

    def test_ids_and_uuids_name_hosts_too(self, region):
        lease = region.active_lease(minimum=3)
        one, two = (
            region.hosts.find(objects.HostQuery(name=name))[0].resource
            for name in ('one', 'two')
        )
        region.change(lease, release_hosts=[str(one.id), two.uuid, 'two'])
        region.work()
        assert region.hosts_of(lease) == {'three'}

    def test_the_least_stays_as_it_was_if_enough_are_left(self, region):
        lease = region.active_lease(minimum=1, maximum=3)
        region.change(lease, release_hosts=['two'])
        assert params(region, lease) == (1, 2)

    def test_more_hosts_go_than_are_named_if_the_most_says_so(self, region):
        lease = region.active_lease(minimum=3)
        region.change(lease, min=1, max=1, release_hosts=['two'])
        region.work()
        assert len(region.hosts_of(lease)) == 1
        assert 'two' not in region.hosts_of(lease)

    def test_a_server_that_may_still_come_is_waited_for(self, region):
        lease = region.active_lease(minimum=3)
        begin_to_build(region, lease)
        region.change(lease, release_hosts=['two'])
        region.work()
        assert region.hosts_of(lease) == {'one', 'two', 'three'}
        assert region.aggregate_of(lease) == {'one', 'three'}
        assert 'waiting for 1 server' in region.see(lease).status_reason
        with pytest.raises(exception.NotEnoughResources):
            region.lease()
        # The server has come.
        region.cloud.boot('three', 'lessee')
        region.cloud.unbuilt.clear()
        region.forward(until=1)
        assert region.hosts_of(lease) == {'one', 'three'}
        assert region.see(lease).status_reason is None

    def test_a_server_that_is_built_later_is_not_waited_for(self, region):
        lease = region.active_lease(minimum=3)
        begin_to_build(region, lease)
        region.change(lease, release_hosts=['two'])
        region.work()
        begin_to_build(region, lease, 'later')
        region.forward(until=1)
        assert region.hosts_of(lease) == {'one', 'two', 'three'}
        assert 'waiting for 1 server' in region.see(lease).status_reason
        del region.cloud.unbuilt['coming']
        region.forward(until=2)
        assert 'later' in region.cloud.unbuilt
        assert region.hosts_of(lease) == {'one', 'three'}

    def test_a_later_server_is_waited_for_by_later_hosts(self, region):
        lease = region.active_lease(minimum=3)
        begin_to_build(region, lease)
        region.change(lease, release_hosts=['two'])
        region.work()
        begin_to_build(region, lease, 'later')
        region.change(lease, release_hosts=['three'])
        region.forward(until=1)
        del region.cloud.unbuilt['coming']
        region.forward(until=2)
        assert region.hosts_of(lease) == {'one', 'two', 'three'}
        del region.cloud.unbuilt['later']
        region.forward(until=3)
        assert region.hosts_of(lease) == {'one'}

    def test_a_host_is_not_given_back_at_once_a_second_time(self, region):
        """More servers may be on their way than were listed the first time."""
        lease = region.active_lease(minimum=3)
        begin_to_build(region, lease)
        region.change(lease, release_hosts=['two'])
        region.work()
        server = region.cloud.boot('two', 'lessee')
        region.cloud.unbuilt.clear()
        region.forward(until=1)
        assert region.hosts_of(lease) == {'one', 'two', 'three'}
        del region.cloud.instances[server]
        begin_to_build(region, lease, 'later')
        region.change(lease, release_hosts=['two'])
        region.forward(until=2)
        assert region.hosts_of(lease) == {'one', 'two', 'three'}

    def test_a_lease_ends_whatever_might_still_have_come(self, region):
        lease = region.active_lease(minimum=3, end=10)
        begin_to_build(region, lease)
        region.change(lease, release_hosts=['two'])
        region.forward(until=11)
        assert region.status(lease) == 'TERMINATED'
        assert region.cloud.unbuilt == {}

    def test_a_host_that_has_failed_goes_first(self, region):
        lease = region.active_lease(minimum=3)
        region.cloud.fail('one')
        region.look()
        region.change(lease, min=2, max=2)
        region.work()
        assert region.hosts_of(lease) == {'two', 'three'}
        region.now += minutes(1)
        region.healing.heal(region.now)
        assert not region.see(lease).degraded

    def test_a_lease_that_waits_gets_what_is_given_back_later(self, region):
        lease = region.active_lease(minimum=3)
        begin_to_build(region, lease)
        region.change(lease, release_hosts=['two'])
        waiting = region.retry(start=0, end=30)
        region.forward(until=1)
        assert region.status(waiting) == 'CREATING'
        region.cloud.unbuilt.clear()
        region.forward(until=2)
        assert region.status(waiting) == 'ACTIVE'

    def test_a_lease_may_grow_again(self, region):
        lease = region.active_lease(minimum=3)
        region.change(lease, min=1, max=1)
        region.work()
        region.change(lease, min=3, max=3)
        region.work()
        assert region.aggregate_of(lease) == {'one', 'two', 'three'}
        region.forward(until=61)
        assert region.status(lease) == 'TERMINATED'
        assert region.hosts_of(lease) == set()

    def test_a_host_was_held_until_given_back_and_no_longer(self, region):
        lease = region.active_lease(minimum=3)
        region.now += minutes(10)
        region.change(lease, release_hosts=['two'])
        region.work()
        with region.database.reader() as session:
            ends = {
                item.end_date: item.released
                for item in allocations.find(
                    session, objects.HOST, lease_id=lease.id
                )
            }
        assert ends == {region.now: True, lease.end_date: False}

    def test_the_end_comes_earlier_in_the_same_request(self, region):
        lease = region.active_lease(minimum=3)
        region.change(lease, min=1, max=1, end=30)
        region.forward(until=31)
        assert region.status(lease) == 'TERMINATED'
        assert region.hosts_of(lease) == set()

    def test_a_dry_run_gives_nothing_back(self, region):
        lease = region.active_lease(minimum=3)
        before = region.picture()
        changes = lease_requests.LeaseChanges(
            reservations={lease.reservations[0].id: {'release_hosts': ['two']}}
        )
        shown = region.leases.update(
            lease.id, changes, region.now, dry_run=True
        )
        assert shown.reservations[0].params['max'] == 2
        assert region.picture() == before


class TestRefusals:
    def test_too_few_are_empty(self, region):
        lease = region.active_lease(minimum=3)
        region.cloud.boot('one', 'lessee')
        region.cloud.boot('two', 'lessee')
        assert (
            '2 hosts are to be given back, and 1 of its 3 has no servers: '
            'delete or migrate servers first'
        ) in refused(region, lease, min=1, max=1)

    def test_a_named_host_has_servers(self, region):
        lease = region.active_lease(minimum=3)
        region.cloud.boot('two', 'lessee')
        assert 'servers are on two: delete or migrate' in refused(
            region, lease, release_hosts=['one', 'two']
        )

    def test_a_named_host_is_not_the_leases(self, region):
        lease = region.active_lease(minimum=2)
        other = region.active_lease()
        [host] = region.hosts_of(other)
        for name in (host, 'nowhere'):
            assert f'{name}: no host of this reservation' in refused(
                region, lease, release_hosts=[name]
            )

    def test_a_host_goes_once(self, make_region):
        region = make_region('one', 'two', 'three', settle=SETTLE)
        lease = region.active_lease(minimum=3)
        region.change(lease, release_hosts=['two'])
        assert 'given back already' in refused(
            region, lease, release_hosts=['two']
        )

    @pytest.mark.parametrize(
        'changes, said',
        [
            ({'release_hosts': ['one', 'two', 'three']}, 'min is 1'),
            ({'release_hosts': ['one', 'two'], 'min': 2}, '1 host would be'),
            ({'release_hosts': ['one'], 'max': 3}, 'max can be 2 at most'),
            ({'release_hosts': ['one'], 'end': 90}, 'of its own'),
            (
                {'min': 1, 'max': 2, 'resource_properties': '["==","$a","1"]'},
                'of its own',
            ),
            ({'min': 1, 'max': 2, 'end_grace': 5}, 'of its own'),
        ],
    )
    def test_a_change_that_can_not_be_is_refused(self, region, changes, said):
        lease = region.active_lease(minimum=3)
        assert said in refused(region, lease, **changes)

    def test_only_an_active_lease_names_hosts(self, region):
        lease = region.lease(start=30, minimum=3)
        assert 'only an active lease' in refused(
            region, lease, release_hosts=['one']
        )

    def test_nothing_is_booked_while_hosts_are_leaving(self, make_region):
        region = make_region('one', 'two', 'three', settle=SETTLE)
        lease = region.active_lease(minimum=3)
        region.change(lease, release_hosts=['two'])
        region.work()
        assert 'just being given back; try again' in refused(
            region, lease, end=90
        )
        region.forward(until=0.1)
        region.change(lease, end=90)
        assert region.hosts_of(lease) == {'one', 'three'}

    def test_a_change_is_refused_while_nova_is_silent(self, region):
        lease = region.active_lease(minimum=3)
        occupancy = region.cloud.servers.occupancy

        def silent(hosts):
            raise exception.CloudUnavailable(service='Nova', reason='no')

        region.cloud.servers.occupancy = silent
        assert 'Nova can not be reached' in refused(
            region, lease, min=1, max=1
        )
        region.cloud.servers.occupancy = occupancy


class TestServersOnTheirWay:
    @pytest.fixture
    def region(self, make_region):
        return make_region('one', 'two', 'three', settle=SETTLE)

    def test_nothing_new_is_let_in_from_the_request_on(self, region):
        lease = region.active_lease(minimum=3)
        region.change(lease, release_hosts=['two'])
        assert admitted(region, lease) == {'one', 'three'}
        # The aggregate is unchanged until a worker has told Nova.
        assert region.aggregate_of(lease) == {'one', 'two', 'three'}

    def test_a_host_is_nobody_elses_before_it_has_settled(self, region):
        lease = region.active_lease(minimum=3)
        region.change(lease, release_hosts=['two'])
        region.work()
        assert region.aggregate_of(lease) == {'one', 'three'}
        assert region.hosts_of(lease) == {'one', 'two', 'three'}
        assert 'on their way' in region.see(lease).status_reason
        for start in (0, 30):
            with pytest.raises(exception.NotEnoughResources):
                region.lease(start=start, end=40)
        region.forward(until=0.1)
        assert region.hosts_of(lease) == {'one', 'three'}
        region.lease(end=40)

    def test_a_server_that_came_keeps_its_host(self, region):
        lease = region.active_lease(minimum=3)
        region.change(lease, min=1, max=1, release_hosts=['one', 'two'])
        server = region.cloud.boot('two', 'lessee')
        region.forward(until=0.1)
        assert region.hosts_of(lease) == {'two', 'three'}
        assert region.aggregate_of(lease) == admitted(region, lease)
        assert admitted(region, lease) == {'two', 'three'}
        assert params(region, lease) == (1, 2)
        assert region.see(lease).status_reason == (
            'A server has come meanwhile, so that the lease keeps two'
        )
        assert server in region.cloud.instances
        # The kept host can be given back as any other host of the lease.
        region.change(lease, end=90)
        del region.cloud.instances[server]
        region.change(lease, release_hosts=['two'])
        region.forward(until=0.2)
        assert region.hosts_of(lease) == {'three'}
        assert region.see(lease).status_reason is None

    def test_a_kept_host_leaves_with_an_end_that_came_nearer(self, region):
        lease = region.active_lease(minimum=3)
        region.change(lease, release_hosts=['two'])
        region.cloud.boot('two', 'lessee')
        region.change(lease, end=30)
        region.forward(until=0.1)
        region.lease(start=30, end=60, minimum=3)
        region.forward(until=31)
        assert region.status(lease) == 'TERMINATED'

    def test_an_end_takes_what_is_leaving_with_the_rest(self, region):
        lease = region.active_lease(minimum=3)
        region.change(lease, release_hosts=['two'])
        region.cloud.boot('two', 'lessee')
        region.delete(lease)
        region.forward(until=1)
        assert not region.cloud.instances
        assert region.hosts_of(lease) == set()

    def test_nova_that_is_silent_is_asked_again(self, region):
        lease = region.active_lease(minimum=3)
        region.change(lease, release_hosts=['two'])
        occupancy, answers = region.cloud.servers.occupancy, [False] * 3

        def hesitant(hosts):
            if answers:
                answers.pop()
                raise exception.CloudUnavailable(service='Nova', reason='no')
            return occupancy(hosts)

        region.cloud.servers.occupancy = hesitant
        region.forward(until=1)
        assert not answers
        assert region.hosts_of(lease) == {'one', 'three'}

    def test_the_next_lease_of_a_host_is_not_healed_away(self, region):
        lease = region.active_lease(minimum=3)
        later = region.lease(start=60, end=90, minimum=3)
        region.now += minutes(59)
        region.work()
        region.change(lease, release_hosts=['two'])
        region.healing.heal(region.now)
        assert not region.see(later).degraded
        region.forward(until=62)
        assert region.status(later) == 'ACTIVE'
        assert region.hosts_of(later) == {'one', 'two', 'three'}


class TestHealing:
    @pytest.fixture
    def region(self, make_region):
        return make_region('one', 'two', 'three', settle=SETTLE)

    def test_a_leaving_host_takes_the_place_of_a_failed_one(self, region):
        lease = region.active_lease(minimum=3)
        region.change(lease, release_hosts=['two'])
        region.work()
        region.cloud.fail('one')
        region.now += SECOND
        region.monitoring.poll(region.now)
        region.healing.heal(region.now)
        region.forward(until=1)
        region.healing.check_replaced(region.now)
        region.work()
        assert admitted(region, lease) == {'two', 'three'}
        assert region.aggregate_of(lease) == {'two', 'three'}
        assert params(region, lease) == (2, 2)

    def test_healing_does_not_release_what_has_not_settled(self, region):
        lease = region.active_lease(minimum=3)
        region.change(lease, release_hosts=['two'])
        region.cloud.fail('one')
        region.monitoring.poll(region.now)
        region.now += minutes(1)
        region.cloud.boot('two', 'lessee')
        region.healing.check_replaced(region.now)
        assert 'two' in region.hosts_of(lease)

    def test_a_host_that_fails_while_it_leaves_is_not_replaced(self, region):
        lease = region.active_lease(minimum=2)
        [spare] = {'one', 'two', 'three'} - region.hosts_of(lease)
        host = min(region.hosts_of(lease))
        region.change(lease, release_hosts=[host])
        region.cloud.fail(host)
        region.monitoring.poll(region.now)
        region.healing.heal(region.now)
        region.forward(until=1)
        assert spare not in region.hosts_of(lease)
        assert not region.see(lease).degraded


@pytest.mark.parametrize('number', range(1, 12))
def test_a_server_that_was_let_in_at_any_step_is_on_a_host_of_its_lease(
    make_region, number
):
    region = make_region('one', 'two', 'three', settle=SETTLE)
    lease = region.active_lease(minimum=3)

    def boot(_):
        # The server is let in, and lands, at this step.
        if 'two' in admitted(region, lease):
            region.cloud.boot('two', 'lessee', 'server')

    with Steps(region, number, boot):
        with contextlib.suppress(exception.InvalidState):
            region.change(lease, release_hosts=['two'])
        region.forward(until=1)
    if 'server' in region.cloud.instances:
        assert admitted(region, lease) == {'one', 'two', 'three'}
    assert region.aggregate_of(lease) == admitted(region, lease)
    with region.database.reader() as session:
        assert audit.doubled(session) == []


@pytest.mark.fuzz
@pytest.mark.parametrize('came', [True, False])
def test_another_worker_gives_back_what_a_killed_one_began(make_region, came):
    for number in itertools.count(1):
        region = make_region('one', 'two', 'three', settle=SETTLE)
        lease = region.active_lease(minimum=3)
        region.change(lease, release_hosts=['two'])
        if came:
            region.cloud.boot('two', 'lessee')
        victim = region.worker('victim')
        with Steps(region, number, _kill) as steps:
            for _ in range(4):
                with contextlib.suppress(Killed):
                    victim.tick(region.now)
                victim.drain()
                region.now += SECOND
        region.now += minutes(0.6)
        region.forward(until=5, by=region.worker('other'))
        wanted = {'one', 'three', *(['two'] if came else [])}
        assert region.hosts_of(lease) == wanted
        assert region.aggregate_of(lease) == admitted(region, lease) == wanted
        assert params(region, lease) == ((2, 3) if came else (2, 2))
        if not steps.reached:
            break
    assert number >= 4


def _kill(step):
    raise Killed(step)
