# SPDX-License-Identifier: Apache-2.0
"""The promises of ``ports.Servers``: actions of Nova on servers."""

import uuid

import pytest

from nova_reservations import exception
from nova_reservations import ports
from nova_reservations.tests.contract import worlds
from nova_reservations.tests.contract.worlds import go_on
from nova_reservations.tests.contract.worlds import lost

KEY = ports.RequestKey('a3a3a3a3-0000-4000-8000-0000000000a3')
AGAIN = ports.RequestKey(KEY.reason, attempt=1)
VERBS = (
    'drain_servers',
    'migrate_servers',
    'save_servers',
    'shelve_servers',
    'snapshot_servers',
    'stop_servers',
    'suspend_servers',
    'unshelve_servers',
)


def ask(world, verb, server, key=KEY, check=go_on, now=None):
    """Ask for an action once; return its outcome: waiting, failed."""
    found = server
    if isinstance(server, str):
        found = world.known(server)
    call = getattr(world.cloud.servers, verb)
    outcome = call([found], ports.Order(key, check, now or world.now))
    if not isinstance(outcome, ports.Outcome):
        outcome = ports.Outcome({}, outcome)
    return tuple(
        why[found.uuid].told if found.uuid in why else None
        for why in (outcome.waiting, outcome.failed)
    )


def until_done(world, verb, server, key=KEY):
    """Ask until the action is over; return why it failed, or None."""
    seen = []

    def is_done():
        seen.append(ask(world, verb, server, key))
        return seen[-1][0] is None

    world.eventually(is_done)
    return seen[-1][1]


def until(world, server, state, host=None):
    """Wait until the server is in the state, without a task."""

    def is_there():
        found = world.known(server)
        return (found.state, found.task) == (state, None) and (
            host is None or found.host == host
        )

    world.eventually(is_there)


def until_left(world, server, state):
    """Wait until the server has left the first host, and is in the state."""
    world.eventually(
        lambda: world.cloud.servers.occupancy(world.hosts)['host1'].empty
    )
    until(world, server, state)
    assert world.known(server).host not in ('', 'host1')


class TestEach:
    def test_a_worker_that_lost_the_claim_begins_nothing(self, world):
        server = world.boot(world.hosts[0])
        before = world.known(server)
        for verb in VERBS:
            with pytest.raises(exception.ClaimLost):
                ask(world, verb, server, check=lost)
        with pytest.raises(exception.ClaimLost):
            world.cloud.servers.delete_servers([before], lost, world.now)
        with pytest.raises(exception.ClaimLost):
            world.cloud.servers.evacuate([before], lost)
        assert world.known(server) == before
        assert list(world.images(server)) == []

    def test_actions_on_a_server_that_is_gone_are_done(self, world):
        gone = ports.Server(
            str(uuid.uuid4()), worlds.PROJECT, 'host1', 'active'
        )
        for verb in VERBS:
            assert ask(world, verb, gone) == (None, None), verb
        servers = world.cloud.servers
        assert servers.delete_servers([gone], go_on, world.now) == {}
        order = ports.Order(KEY, go_on, world.now)
        assert servers.settle_servers([gone], order) == {}
        assert servers.evacuate([gone], go_on) == {}

    def test_nothing_is_begun_where_the_host_is_down(self, world):
        server = world.boot(world.hosts[0])
        before = world.known(server)
        at = world.silent_at()
        for verb in VERBS:
            if verb != 'unshelve_servers':
                waiting, failed = ask(world, verb, server, now=at)
                assert 'its host is down' in (waiting or failed), verb
        servers = world.cloud.servers
        refused = servers.delete_servers([before], go_on, now=at)
        assert refused[server].told == 'its host is down'
        assert world.known(server) == before
        assert list(world.images(server)) == []


class TestDelete:
    def test_a_server_is_deleted_and_may_be_again(self, world):
        server = world.boot(world.hosts[0])
        found = world.known(server)
        servers = world.cloud.servers
        assert servers.delete_servers([found], go_on, world.now) == {}
        world.eventually(
            lambda: world.cloud.servers.occupancy(world.hosts)['host1'].empty
        )
        assert set(world.cloud.servers.gone_servers([server])) == {server}
        assert world.cloud.servers.find_servers([server]) == {}
        servers = world.cloud.servers
        assert servers.delete_servers([found], go_on, world.now) == {}

    def test_a_server_whose_host_is_forced_down_is_deleted(self, world):
        """An operator forces a host down if nothing runs there any more."""
        server = world.boot(world.hosts[0])
        found = world.known(server)
        world.force_down(world.hosts[0])
        servers = world.cloud.servers
        assert servers.delete_servers([found], go_on, world.now) == {}
        world.eventually(
            lambda: world.cloud.servers.occupancy(world.hosts)['host1'].empty
        )

    def test_a_deletion_that_failed_is_not_asked_for_at_once_again(
        self, world
    ):
        server = world.boot(world.hosts[0])
        servers = world.cloud.servers
        with world.failing(server):
            found = world.known(server)
            assert servers.delete_servers([found], go_on, now=world.now) == {}
            until(world, server, 'error', 'host1')
            found = world.known(server)
            refused = servers.delete_servers([found], go_on, now=world.now)
        assert 'Nova has failed at it' in refused[server].told
        assert world.known(server) == found

    def test_a_server_on_a_shelf_is_deleted_whatever_host_is_down(self, world):
        server = world.boot(world.hosts[0])
        world.shelve(server)
        found = world.known(server)
        at = world.silent_at()
        servers = world.cloud.servers
        assert servers.delete_servers([found], go_on, now=at) == {}
        world.eventually(lambda: set(servers.gone_servers([server])))

    def test_a_server_on_a_shelf_is_deleted(self, world):
        server = world.boot(world.hosts[0])
        world.shelve(server)
        found = world.known(server)
        servers = world.cloud.servers
        assert servers.delete_servers([found], go_on, world.now) == {}
        world.eventually(
            lambda: set(world.cloud.servers.gone_servers([server])) == {server}
        )


class TestStop:
    def test_a_server_is_stopped_where_it_is_once_for_a_key(self, world):
        server = world.boot(world.hosts[0])
        assert ask(world, 'stop_servers', server) == (None, None)
        until(world, server, 'stopped', 'host1')
        world.start(server)
        _, refused = ask(world, 'stop_servers', server)
        assert refused == 'it runs although it was asked to stop'
        assert world.known(server).state == 'active'
        assert ask(world, 'stop_servers', server, AGAIN) == (None, None)
        until(world, server, 'stopped', 'host1')


class TestShelve:
    def test_a_server_is_shelved_and_leaves_its_host(self, world):
        server = world.boot(world.hosts[0])
        assert ask(world, 'shelve_servers', server) == (None, None)
        until(world, server, 'shelved_offloaded', '')
        world.eventually(
            lambda: world.cloud.servers.occupancy(world.hosts)['host1'].empty
        )
        assert set(world.cloud.servers.gone_servers([server])) == set()

    def test_a_failed_shelving_is_tried_anew_and_not_before(self, world):
        server = world.boot(world.hosts[0])
        with world.failing(server):
            ask(world, 'shelve_servers', server)
            until(world, server, 'active', 'host1')
        _, why = ask(world, 'shelve_servers', server)
        assert 'Nova has failed at it' in why
        assert ask(world, 'shelve_servers', server, AGAIN) == (None, None)
        until(world, server, 'shelved_offloaded', '')


class TestUnshelve:
    def test_a_server_comes_back_from_its_shelf(self, world):
        server = world.boot(world.hosts[0])
        world.shelve(server)
        waiting, failed = ask(world, 'unshelve_servers', server)
        assert (waiting, failed) == ('is being unshelved', None)
        assert until_done(world, 'unshelve_servers', server) is None
        until(world, server, 'active')
        assert world.known(server).host

    def test_a_server_that_is_on_no_shelf_need_not_come_back(self, world):
        server = world.boot(world.hosts[0])
        assert ask(world, 'unshelve_servers', server) == (None, None)
        assert world.known(server).state == 'active'

    def test_unshelving_fails_where_there_is_no_room_and_is_tried_anew(
        self, world
    ):
        server = world.boot(world.hosts[0])
        world.shelve(server)
        world.have_no_room(server)
        why = until_done(world, 'unshelve_servers', server)
        assert why == 'no host has room for it'
        assert world.known(server).state == 'shelved_offloaded'
        world.have_room(server)
        assert until_done(world, 'unshelve_servers', server) == why
        assert until_done(world, 'unshelve_servers', server, AGAIN) is None
        until(world, server, 'active')


class TestMigrate:
    @pytest.mark.parametrize('state', ['active', 'stopped'])
    def test_a_server_goes_to_where_servers_without_reservation_are(
        self, world, state
    ):
        world.enrol(world.hosts[1])
        server = world.boot(world.hosts[0])
        if state == 'stopped':
            world.stop(server)
        left = world.known(server)
        waiting, failed = ask(world, 'migrate_servers', server)
        assert (waiting, failed) == ('is being migrated', None)

        def has_left():
            ask(world, 'migrate_servers', left)
            return world.cloud.servers.occupancy(world.hosts)['host1'].empty

        world.eventually(has_left)
        until(world, server, state)
        gone_to = world.known(server).host
        assert gone_to not in ('', 'host1', 'host2', 'host4')
        assert set(world.cloud.servers.gone_servers([server])) == set()

    @pytest.mark.parametrize('state', ['active', 'stopped'])
    def test_a_migration_that_finds_no_place_has_failed(self, world, state):
        server = world.boot(world.hosts[0])
        if state == 'stopped':
            world.stop(server)
        world.have_no_room(server)
        why = until_done(world, 'migrate_servers', server)
        assert why == 'it has found no place'
        until(world, server, state, 'host1')


class TestSnapshot:
    def test_a_server_has_a_snapshot_for_each_key_that_is_its_projects(
        self, world
    ):
        server = world.boot(world.hosts[0])
        for key in (KEY, KEY, AGAIN):
            assert until_done(world, 'snapshot_servers', server, key) is None
            assert list(world.images(server)) == [worlds.PROJECT]
        until(world, server, 'active', 'host1')
        another = ports.RequestKey(worlds.RESERVATION)
        assert until_done(world, 'snapshot_servers', server, another) is None
        assert len(world.images(server)) == 2

    def test_a_snapshot_that_can_not_be_made_is_tried_anew(self, world):
        server = world.boot(world.hosts[0])
        with world.failing(server):
            why = until_done(world, 'snapshot_servers', server)
            assert why == 'Nova has failed at it'
        assert until_done(world, 'snapshot_servers', server) == why
        assert until_done(world, 'snapshot_servers', server, AGAIN) is None
        assert list(world.images(server)) == [worlds.PROJECT]

    def test_a_server_on_a_shelf_has_no_snapshot(self, world):
        server = world.boot(world.hosts[0])
        world.shelve(server)
        before = list(world.images(server))
        _, why = ask(world, 'snapshot_servers', server)
        assert why == 'it is in state shelved_offloaded'
        assert list(world.images(server)) == before


class TestSave:
    def test_an_image_is_made_of_what_runs(self, world):
        server = world.boot(world.hosts[0])
        for key in (KEY, AGAIN):
            assert until_done(world, 'save_servers', server, key) is None
            assert list(world.images(server)) == [worlds.PROJECT]

    def test_a_server_that_was_never_built_needs_no_image(self, world):
        server = world.fail_to_build()
        assert ask(world, 'save_servers', server) == (None, None)
        assert list(world.images(server)) == []

    def test_a_server_in_error_can_not_be_saved(self, world):
        server = world.boot(world.hosts[0])
        world.reset_to_error(server)
        _, why = ask(world, 'save_servers', server)
        assert why == 'it is in state error'
        assert list(world.images(server)) == []

    def test_a_server_on_a_shelf_is_an_image_already(self, world):
        server = world.boot(world.hosts[0])
        world.shelve(server)
        before = list(world.images(server))
        assert ask(world, 'save_servers', server) == (None, None)
        assert list(world.images(server)) == before


class TestSuspend:
    def test_a_server_that_runs_is_suspended(self, world):
        server = world.boot(world.hosts[0])
        waiting, failed = ask(world, 'suspend_servers', server)
        assert (waiting, failed) == ('is being suspended', None)
        assert until_done(world, 'suspend_servers', server) is None
        until(world, server, 'suspended', 'host1')

    def test_a_server_that_does_not_run_rests_already(self, world):
        server = world.boot(world.hosts[0])
        world.stop(server)
        assert ask(world, 'suspend_servers', server) == (None, None)
        assert world.known(server).state == 'stopped'

    def test_a_server_in_error_can_not_be_suspended(self, world):
        server = world.boot(world.hosts[0])
        world.reset_to_error(server)
        _, why = ask(world, 'suspend_servers', server)
        assert why == 'it is in state error'


class TestDrain:
    @pytest.mark.parametrize('key', [KEY, AGAIN], ids=['once', 'again'])
    @pytest.mark.parametrize('state', ['active', 'stopped'])
    def test_a_drained_server_is_moved_and_is_as_it_was(
        self, world, state, key
    ):
        """A second request during the move changes nothing."""
        server = world.boot(world.hosts[0])
        if state == 'stopped':
            world.stop(server)
        left = world.known(server)
        waiting, failed = ask(world, 'drain_servers', server)
        assert (waiting, failed) == ('is being moved', None)

        def has_settled():
            return (
                world.cloud.servers.settle_servers(
                    [left], ports.Order(key, go_on, world.now)
                )
                == {}
            )

        world.eventually(has_settled)
        until_left(world, server, state)

    def test_a_server_that_has_moved_holds_its_host_a_moment_more(self, world):
        server = world.boot(world.hosts[0])
        left = world.known(server)
        ask(world, 'drain_servers', left)
        until_left(world, server, 'active')
        assert ask(world, 'drain_servers', left) == ('is being moved', None)

    def test_a_server_whose_move_fails_is_as_it_was_and_not_tried_again(
        self, world
    ):
        server = world.boot(world.hosts[0])
        with world.failing(server):
            why = until_done(world, 'drain_servers', server)
        assert why == 'Nova has failed to move it'
        until(world, server, 'active', 'host1')
        assert until_done(world, 'drain_servers', server) == why

    def test_a_server_that_can_not_be_moved_is_left_as_it_is(self, world):
        server = world.boot(world.hosts[0])
        assert until_done(world, 'suspend_servers', server) is None
        _, why = ask(world, 'drain_servers', server)
        assert why == 'it is in state suspended'
        until(world, server, 'suspended', 'host1')

    def test_to_settle_begins_nothing(self, world):
        server = world.boot(world.hosts[0])
        before = world.known(server)
        settle = world.cloud.servers.settle_servers
        order = ports.Order(KEY, go_on, world.now)
        assert settle([before], order) == {}
        assert world.known(server) == before


class TestEvacuate:
    def test_an_evacuation_is_refused_from_a_host_that_is_not_down(
        self, world
    ):
        server = world.boot(world.hosts[0])
        before = world.known(server)
        assert set(world.cloud.servers.evacuate([before], go_on)) == {server}
        assert world.known(server) == before


class TestActing:
    def test_a_nova_with_credentials_acts_for_projects(self, cloud):
        assert cloud.servers.acts_for_projects()
        cloud.servers.check_acting()

    def test_a_nova_without_credentials_says_so(self, world):
        world.distrust()
        assert not world.cloud.servers.acts_for_projects()
        with pytest.raises(exception.CloudRefused):
            world.cloud.servers.check_acting()
