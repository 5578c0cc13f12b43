# SPDX-License-Identifier: Apache-2.0
"""Servers that carry a lease, from their shelf to their end, on a cloud in
memory."""

import contextlib
import uuid

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.engine.booking import lease_requests
from nova_reservations.engine.worker import deleted_servers
from nova_reservations.testing.region import minutes
from nova_reservations.testing.steps import Killed
from nova_reservations.testing.steps import Steps
from nova_reservations.tests import profile
from nova_reservations.types.servers import server as server_plugin

TYPES = {objects.SERVER: server_plugin.Server}


@pytest.fixture
def region(make_region):
    made = make_region('one', types=TYPES, end_timeout=minutes(1))
    made.opts.set_override('unshelve_timeout', 180, 'reservations')
    return made


def server_id(number):
    return str(uuid.UUID(int=number + 1))


def asked_for(region, count=1, start=0, end=60, state='', **asked):
    """Return a lease and its servers, which run, or are in the given state."""
    lease = region.server_leases.request(
        lease_requests.NewLease(
            name='mine',
            project_id='lessee',
            user_id='user',
            start=region.now + minutes(start),
            end=region.now + minutes(end),
            before_end=None,
            reservations=(
                lease_requests.NewReservation(objects.SERVER, asked),
            ),
        ),
        region.now,
    )
    servers = [server_id(number) for number in range(count)]
    for server in servers:
        region.server_leases.record(lease.id, server, region.now)
        if state:
            region.cloud.build(server, 'lessee', state)
        else:
            region.cloud.boot('one', 'lessee', server)
    region.server_leases.accept(lease.id, region.now)
    return lease, servers


def built(region, server):
    del region.cloud.unbuilt[server]
    region.cloud.boot('one', 'lessee', server)


def state_of(region, server):
    found = region.cloud.servers.find_servers([server])
    return found[server].state if found else 'gone'


def reason(region, lease):
    return region.see(lease).status_reason


class TestBeforeItsTime:
    def test_a_server_is_on_no_host_until_its_lease_begins(self, region):
        lease, (server,) = asked_for(region, start=3)
        region.forward(until=1)
        assert state_of(region, server) == 'shelved_offloaded'
        assert region.status(lease) == 'PENDING'
        region.forward(until=2.9)
        assert state_of(region, server) == 'shelved_offloaded'
        region.forward(until=3.1)
        assert state_of(region, server) == 'active'
        assert region.status(lease) == 'ACTIVE'

    def test_a_server_is_built_before_it_is_shelved(self, region):
        lease, (server,) = asked_for(region, start=3, state='building')
        region.work()
        assert 'is being built' in reason(region, lease)
        built(region, server)
        region.forward(until=1)
        assert state_of(region, server) == 'shelved_offloaded'
        assert reason(region, lease) is None

    def test_shelving_that_is_refused_is_told_and_tried_again(self, region):
        lease, (server,) = asked_for(region, start=3)
        region.cloud.refusals[server] = 'its host is down'
        region.work()
        assert reason(region, lease) == (
            f'server {server} (active) can not be shelved: its host is down'
        )
        region.cloud.refusals.clear()
        region.forward(until=1)
        assert state_of(region, server) == 'shelved_offloaded'

    def test_a_server_that_is_still_being_shelved_at_its_start_comes_back(
        self, region
    ):
        lease, (server,) = asked_for(region, start=1)
        region.cloud.slow_servers.add(server)
        region.forward(until=1)
        assert region.status(lease) == 'STARTING'
        region.cloud.finish_tasks()
        region.forward(until=2)
        assert state_of(region, server) == 'active'
        assert region.status(lease) == 'ACTIVE'

    def test_a_server_that_can_not_be_shelved_by_then_runs_on(self, region):
        lease, (server,) = asked_for(region, start=1)
        region.cloud.refusals[server] = 'its host is down'
        region.forward(until=1.1)
        assert state_of(region, server) == 'active'
        assert region.status(lease) == 'ACTIVE'

    def test_later_is_refused_without_credentials(self, region):
        region.cloud.trusted = False
        with pytest.raises(exception.InvalidInput, match='service_user'):
            asked_for(region, start=3)

    def test_a_server_is_deleted_with_its_lease_and_so_is_its_image(
        self, region
    ):
        lease, (server,) = asked_for(region, start=3)
        region.forward(until=1)
        region.delete(lease)
        region.forward(until=2)
        assert state_of(region, server) == 'gone'
        with pytest.raises(exception.NotFound):
            region.see(lease)


class TestStart:
    def test_a_server_from_now_on_just_runs(self, region):
        lease, (server,) = asked_for(region, state='building')
        region.work()
        assert region.status(lease) == 'STARTING'
        built(region, server)
        region.forward(until=1)
        assert region.status(lease) == 'ACTIVE'
        assert 'shelve server' not in region.cloud.writes

    def test_a_server_from_now_on_needs_no_credentials(self, region):
        region.cloud.trusted = False
        lease, _ = asked_for(region)
        region.work()
        assert region.status(lease) == 'ACTIVE'

    @pytest.mark.parametrize('start', [0, 3])
    def test_a_server_that_can_not_be_built_ends_its_lease_in_error(
        self, region, start
    ):
        lease, (server,) = asked_for(region, start=start, state='error')
        region.work()
        assert region.status(lease) == 'ERROR'
        assert 'No valid host was found.' in reason(region, lease)
        # The server is left for its owner to look at.
        assert state_of(region, server) == 'error'
        region.forward(until=9)
        assert region.see(lease).due_at is None

    def test_a_single_server_that_could_be_built_is_enough(self, region):
        lease, servers = asked_for(region, 2, state='error')
        built(region, servers[0])
        region.work()
        assert region.status(lease) == 'ACTIVE'
        region.forward(until=61)
        assert [state_of(region, one) for one in servers] == ['gone', 'gone']
        assert region.status(lease) == 'TERMINATED'

    def test_a_server_without_room_is_tried_again_for_a_while(self, region):
        lease, _ = asked_for(region, start=3)
        region.forward(until=1)
        region.cloud.rooms['elsewhere'] = 0
        region.forward(until=4)
        assert region.status(lease) == 'STARTING'
        assert 'no host has room for it' in reason(region, lease)
        region.cloud.rooms['elsewhere'] = 1
        region.forward(until=5.5)
        assert region.status(lease) == 'ACTIVE'
        assert reason(region, lease) is None

    def test_a_lease_without_room_is_in_error_at_last_and_its_server_safe(
        self, region
    ):
        lease, (server,) = asked_for(region, start=3)
        region.forward(until=1)
        region.cloud.rooms['elsewhere'] = 0
        region.forward(until=5.9)
        assert region.status(lease) == 'STARTING'
        region.forward(until=6.4)
        assert region.status(lease) == 'ERROR'
        assert 'no host has room for it' in reason(region, lease)
        region.cloud.rooms['elsewhere'] = 1
        region.forward(until=9)
        assert state_of(region, server) == 'shelved_offloaded'
        # The server is left to its owner, and the lease does not touch it any
        # more.
        region.delete(lease)
        region.forward(until=10)
        assert state_of(region, server) == 'shelved_offloaded'

    def test_an_engine_that_comes_late_tries_as_long(self, region):
        lease, _ = asked_for(region, start=3, end=120)
        region.forward(until=1)
        region.now += minutes(60)
        region.work()
        assert region.status(lease) == 'STARTING'
        region.now += minutes(1)
        region.work()
        assert region.status(lease) == 'ACTIVE'

    def test_servers_that_find_room_run_if_others_do_not(self, region):
        lease, servers = asked_for(region, 2, start=3)
        region.forward(until=1)
        region.cloud.rooms['elsewhere'] = 1
        region.forward(until=7)
        assert region.status(lease) == 'ACTIVE'
        assert sorted(state_of(region, one) for one in servers) == [
            'active',
            'shelved_offloaded',
        ]

    def test_a_server_that_is_on_its_way_is_waited_for(self, region):
        lease, (server,) = asked_for(region, start=3)
        region.forward(until=1)
        region.cloud.slow_servers.add(server)
        region.forward(until=8)
        assert region.status(lease) == 'STARTING'
        region.cloud.finish_tasks()
        region.forward(until=9)
        assert region.status(lease) == 'ACTIVE'


class TestEnd:
    def test_a_server_is_deleted_by_default(self, region):
        lease, (server,) = asked_for(region)
        region.forward(until=61)
        assert state_of(region, server) == 'gone'
        assert region.status(lease) == 'TERMINATED'
        assert region.cloud.images == []

    def test_the_operator_says_what_is_done_otherwise(self, region):
        region.opts.set_override(
            'instance_on_end', ['suspend'], 'reservations'
        )
        lease, (server,) = asked_for(region)
        region.forward(until=61)
        assert state_of(region, server) == 'suspended'
        assert region.status(lease) == 'TERMINATED'

    def test_actions_that_are_wanted_are_done_in_their_order(self, region):
        lease, _ = asked_for(
            region, on_end=['delete', 'suspend', 'create_image']
        )
        region.forward(until=59)
        before = len(region.cloud.writes)
        region.forward(until=61)
        done = [one for one in region.cloud.writes[before:] if 'server' in one]
        assert list(dict.fromkeys(done)) == [
            'snapshot server',
            'suspend server',
            'delete server',
        ]
        assert region.status(lease) == 'TERMINATED'

    @pytest.mark.parametrize(
        ('wanted', 'left'),
        [
            (['suspend'], 'suspended'),
            (['create_image'], 'active'),
            (['create_image', 'suspend'], 'suspended'),
            (['create_image', 'delete'], 'gone'),
        ],
    )
    def test_the_lease_is_over_and_the_server_is_as_it_was_wanted(
        self, region, wanted, left
    ):
        lease, (server,) = asked_for(region, on_end=wanted)
        region.forward(until=61)
        assert region.status(lease) == 'TERMINATED'
        assert state_of(region, server) == left
        made = [one for one, _ in region.cloud.images]
        assert made == ([server] if 'create_image' in wanted else [])

    def test_nothing_is_deleted_that_could_not_be_saved(self, region):
        lease, (broken, sound) = asked_for(
            region, 2, on_end=['create_image', 'delete']
        )
        region.cloud.broken.add(broken)
        region.forward(until=60.5)
        assert region.status(lease) == 'TERMINATING'
        assert state_of(region, sound) == 'gone'
        assert reason(region, lease) == (
            f'server {broken} (active) can not be saved: Nova has failed at it'
        )
        region.forward(until=63)
        assert region.status(lease) == 'ERROR'
        assert state_of(region, broken) == 'active'
        region.cloud.broken.clear()
        region.forward(until=66)
        assert state_of(region, broken) == 'gone'
        assert region.status(lease) == 'TERMINATED'

    def test_a_copy_that_takes_its_time_is_waited_for(self, region):
        lease, (server,) = asked_for(region, on_end=['create_image', 'delete'])
        region.cloud.slow_servers.add(server)
        region.forward(until=60.5)
        assert state_of(region, server) == 'active'
        assert 'is being made' in reason(region, lease)
        region.cloud.slow_servers.clear()
        region.forward(until=61)
        assert state_of(region, server) == 'gone'
        assert [one for one, _ in region.cloud.images] == [server]

    def test_a_server_that_was_never_built_needs_no_image(self, region):
        lease, (server,) = asked_for(
            region,
            end=1,
            state='building',
            on_end=['create_image', 'delete'],
        )
        region.work()
        region.delete(lease)
        region.forward(until=2)
        assert state_of(region, server) == 'gone'
        assert region.cloud.images == []

    def test_an_end_without_credentials_waits_for_the_operator(self, region):
        lease, (server,) = asked_for(region, on_end=['create_image', 'delete'])
        region.forward(until=1)
        region.fails(
            'snapshot server',
            exception.CloudRefused(what='[service_user]', reason='gone'),
            times=1000,
        )
        region.forward(until=60.5)
        assert region.status(lease) == 'TERMINATING'
        assert reason(region, lease) == '[service_user] was refused: gone'
        assert state_of(region, server) == 'active'
        region.cloud.before = lambda step: None
        region.forward(until=61)
        assert region.status(lease) == 'TERMINATED'

    def test_an_image_is_not_offered_without_credentials(self, region):
        region.cloud.trusted = False
        with pytest.raises(exception.InvalidInput, match='service_user'):
            asked_for(region, on_end=['create_image'])

    def test_a_request_that_nova_refused_leaves_no_server(self, region):
        lease, (server,) = asked_for(region, on_end=['suspend'])
        region.server_leases.refuse(lease.id, region.now)
        region.forward(until=1)
        assert state_of(region, server) == 'gone'


class TestDeletedServers:
    def test_the_lease_ends_with_the_last_of_its_servers(self, region):
        lease, servers = asked_for(region, 2)
        region.work()
        for server, status in zip(
            servers, ('ACTIVE', 'TERMINATED'), strict=True
        ):
            del region.cloud.instances[server]
            region.soon(deleted_servers.TASK)
            region.work()
            assert region.status(lease) == status

    def test_the_lease_ends_with_its_server_also_before_its_time(self, region):
        lease, (server,) = asked_for(region, start=3)
        region.forward(until=1)
        del region.cloud.at_rest[server]
        region.soon(deleted_servers.TASK)
        region.work()
        assert region.status(lease) == 'TERMINATED'

    def test_all_pages_are_looked_at(self, region, monkeypatch):
        monkeypatch.setattr(deleted_servers, 'PAGE', 2)
        lease, servers = asked_for(region, 5)
        region.work()
        for server in servers[1:]:
            del region.cloud.instances[server]
        region.soon(deleted_servers.TASK)
        region.work()
        [reservation] = region.see(lease).reservations
        assert reservation.living == (servers[0],)

    def test_nothing_is_concluded_from_a_cell_that_does_not_answer(
        self, region
    ):
        lease, _ = asked_for(region)
        region.work()
        ask = region.cloud.servers.gone_servers

        def down(servers):
            raise exception.CloudUnavailable(service='A cell', reason='down')

        region.cloud.servers.gone_servers = down
        region.soon(deleted_servers.TASK)
        region.work()
        assert region.status(lease) == 'ACTIVE'
        region.cloud.servers.gone_servers = ask


def kill(step):
    raise Killed(step)


def story(make_region, *, kill_at=0):
    """Follow servers through their life; return what was seen, and whether the
    worker was killed."""
    region = make_region('one', types=TYPES)
    lease, servers = asked_for(
        region, 2, start=3, on_end=['create_image', 'suspend', 'delete']
    )
    seen = []
    with Steps(region, kill_at, kill) as steps:
        victim = region.worker('victim')
        for until in (1, 5, 61):
            with contextlib.suppress(Killed):
                region.forward(until=until, by=victim)
            if steps.reached:
                break
    other = region.worker('other') if steps.reached else victim
    for until in (1, 5, 64):
        if region.now < region.see(lease).created_at + minutes(until):
            region.forward(until=until, by=other)
            seen.append([state_of(region, one) for one in servers])
    return region, lease, seen, steps.reached


@pytest.mark.fuzz
def test_another_worker_finishes_what_a_killed_one_began(make_region):
    for number in profile.steps():
        region, lease, seen, reached = story(make_region, kill_at=number)
        assert region.status(lease) == 'TERMINATED', number
        assert seen[-1] == ['gone', 'gone']
        images = [server for server, _ in region.cloud.images]
        assert sorted(images) == [server_id(0), server_id(1)]
        assert region.cloud.writes.count('unshelve server') == 2
        if not reached:
            break
    assert number > 20
