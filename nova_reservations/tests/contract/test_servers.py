# SPDX-License-Identifier: Apache-2.0
"""The promises of ``ports.Servers``: hosts and allocations of servers."""

import dataclasses
import functools
import uuid

import pytest

from nova_reservations import exception
from nova_reservations import ports
from nova_reservations.tests.contract import worlds
from nova_reservations.tests.contract.worlds import go_on
from nova_reservations.tests.contract.worlds import lost
from nova_reservations.tests.contract.worlds import RESERVATION


class TestOnHosts:
    def test_a_server_occupies_its_host(self, world):
        server = world.boot(world.hosts[0])
        occupancy = world.cloud.servers.occupancy(world.hosts)
        assert set(occupancy) == set(worlds.HOSTS)
        [found] = occupancy['host1'].servers
        assert (found.uuid, found.project_id, found.host, found.state) == (
            server,
            worlds.PROJECT,
            'host1',
            'active',
        )
        assert found.task is None
        assert not found.unbuilt
        assert not occupancy['host1'].empty
        assert occupancy['host2'].empty

    def test_a_server_is_known_with_what_it_takes(self, world):
        server = world.boot(world.hosts[0])
        on = world.cloud.servers.servers_on(world.hosts)
        [placed] = on['host1']
        assert placed.server.uuid == server
        assert (
            dataclasses.replace(placed.flavor, extra_specs={}) == worlds.SLOT
        )
        assert (placed.pinned, placed.passthrough) == (False, False)
        assert list(on['host2']) == []

    def test_a_consumer_that_is_no_server_is_told(self, world):
        consumer = world.claim(world.hosts[0])
        occupancy = world.cloud.servers.occupancy(world.hosts)
        assert occupancy['host1'] == ports.Occupancy((), (consumer,))
        assert not occupancy['host1'].empty
        assert occupancy['host2'].empty

    def test_claims_of_an_unbuilt_server_are_taken_away(self, world):
        server = world.claim_unbuilt(world.hosts[0])
        [found] = world.cloud.servers.occupancy(world.hosts)['host1'].servers
        assert (found.uuid, found.unbuilt) == (server, True)
        with pytest.raises(exception.ClaimLost):
            world.cloud.servers.release_claims([found], lost)
        for _ in range(2):
            world.cloud.servers.release_claims([found], go_on)
        assert world.cloud.servers.occupancy(world.hosts)['host1'].empty
        # The server itself stays: its user may want to know why it failed.
        assert world.known(server).state == 'error'


class TestFinding:
    def test_servers_that_do_not_exist_are_gone(self, world):
        server, nobody = world.boot(world.hosts[0]), str(uuid.uuid4())
        found = world.cloud.servers.find_servers([server, nobody])
        assert set(found) == {server}
        assert found[server].host == 'host1'
        gone = world.cloud.servers.gone_servers
        assert set(gone([server, nobody])) == {nobody}
        assert set(gone([])) == set()

    def test_servers_that_have_a_cell_are_heard_of(self, world):
        heard = world.cloud.servers.heard_servers
        server, nobody = world.boot(world.hosts[0]), str(uuid.uuid4())
        found = heard([server, nobody])
        assert set(found) == {server}
        assert found[server].host == 'host1'
        assert set(heard([])) == set()

    def test_servers_at_some_hosts_are_found(self, world):
        at = world.cloud.servers.servers_at
        server, other = map(world.boot, world.hosts[:2])
        found = at(['host1', 'nobody', 'HOST2'])
        assert set(found) == {server}
        assert found[server].host == 'host1'
        assert set(at(['host1', 'host2'])) == {server, other}
        assert set(at([])) == set()

    def test_a_host_that_nova_has_a_server_on_is_inhabited(self, world):
        inhabited = world.cloud.servers.inhabited
        world.boot(world.hosts[0])
        assert set(inhabited(['host1', 'host2', 'nobody'])) == {'host1'}
        assert set(inhabited(['HOST1', 'host2'])) == set()
        assert set(inhabited([])) == set()

    def test_a_server_on_a_shelf_is_on_no_host(self, world):
        server = world.boot(world.hosts[0])
        world.shelve(server)
        found = world.known(server)
        assert (found.state, found.host) == ('shelved_offloaded', '')
        assert set(world.cloud.servers.gone_servers([server])) == set()

    def test_a_server_that_no_host_was_found_for_tells_why(self, world):
        server = world.fail_to_build()
        found = world.known(server)
        assert (found.state, found.host, found.task) == ('error', '', None)
        assert found.unbuilt
        assert 'No valid host' in found.fault
        assert set(world.cloud.servers.gone_servers([server])) == set()

    def test_a_server_that_no_host_was_chosen_for_yet_is_being_built(
        self, world
    ):
        server = world.begin_to_build()
        found = world.known(server)
        assert (found.state, found.host) == ('building', '')
        assert found.task == 'scheduling'
        assert not found.unbuilt
        assert set(world.cloud.servers.gone_servers([server])) == set()
        servers = world.cloud.servers
        assert servers.delete_servers([found], go_on, world.now) == {}
        world.eventually(
            lambda: set(world.cloud.servers.gone_servers([server])) == {server}
        )


class TestInReservations:
    def test_a_server_that_was_created_in_another_way_is_not_let_in(
        self, world
    ):
        server = world.boot(world.hosts[0])
        assert set(world.cloud.servers.let_in(RESERVATION, [server])) == set()

    def test_a_server_that_was_created_there_is_let_in(self, world):
        reservation_id = world.lease()
        server, nobody = world.boot_in(reservation_id), str(uuid.uuid4())
        let_in = world.cloud.servers.let_in
        assert set(let_in(reservation_id, [server, nobody])) == {server}
        assert set(let_in(str(uuid.uuid4()), [server])) == set()

    def test_servers_that_are_being_built_there_are_known(self, world):
        reservation_id = world.lease()
        world.boot_in(reservation_id)
        world.begin_to_build()
        server = world.begin_to_build(reservation_id)
        building = functools.partial(
            world.cloud.servers.servers_with_alternates, hosts=world.hosts
        )
        [found] = building(reservation_id, {worlds.PROJECT, worlds.OTHERS})
        assert (found.uuid, found.state) == (server, 'building')
        assert list(building(reservation_id, {worlds.OTHERS})) == []
        assert list(building(str(uuid.uuid4()), {worlds.PROJECT})) == []

    def test_a_server_that_is_deleted_as_it_is_migrated_may_have_alternates(
        self, world
    ):
        server, moving = (world.boot(world.hosts[0]) for _ in range(2))
        with (
            world.being_deleted(server),
            world.being_deleted(moving, migrates=True),
        ):
            assert world.known(moving).task == 'deleting'
            [found] = world.cloud.servers.servers_with_alternates(
                RESERVATION, {worlds.PROJECT}, world.hosts, [server, moving]
            )
            assert found.uuid == moving

    def test_servers_that_did_not_ask_and_are_recorded_are_known(self, world):
        reservation_id = world.lease()
        server = world.begin_to_build()
        world.begin_to_build()
        [found] = world.cloud.servers.servers_with_alternates(
            reservation_id,
            {worlds.PROJECT},
            world.hosts,
            [server, str(uuid.uuid4())],
        )
        assert found.uuid == server


class TestInFlight:
    def test_a_server_that_is_being_built_might_land_anywhere(self, world):
        world.boot(world.hosts[0])
        world.fail_to_build()
        server = world.begin_to_build()
        in_flight = world.cloud.servers.in_flight(world.hosts)
        assert {host: set(found) for host, found in in_flight.items()} == {
            host: {server} for host in worlds.HOSTS
        }

    def test_a_server_that_is_deleted_as_it_is_migrated_might_land_too(
        self, world
    ):
        server, moving = (world.boot(world.hosts[0]) for _ in range(2))
        with (
            world.being_deleted(server),
            world.being_deleted(moving, migrates=True),
        ):
            in_flight = world.cloud.servers.in_flight(world.hosts)
            assert set(in_flight['host1']) == {moving}
            nobody = str(uuid.uuid4())
            about_to_move = world.cloud.servers.about_to_move
            assert set(about_to_move([server, moving, nobody])) == {moving}
            assert set(about_to_move([server])) == set()
            assert set(about_to_move([])) == set()


class TestRoom:
    def test_there_is_as_much_as_placement_says(self, world):
        server = world.boot(world.hosts[0])
        world.boot(world.hosts[1])
        world.cloud.aggregates.ensure_pool()
        found = world.known(server)
        room = world.cloud.servers.find_room([found], world.now)
        assert room.needs[server]['VCPU'] == 1
        assert {'host2', 'host3'} <= set(room.fits[server])
        assert 'host4' not in room.fits[server]
        assert room.free['host3']['VCPU'] == room.free['host2']['VCPU'] + 1

    def test_no_room_is_in_the_pool_or_where_nova_does_not_work(self, world):
        server = world.boot(world.hosts[0])
        world.cloud.aggregates.ensure_pool()
        world.cloud.aggregates.mark(world.hosts[1])
        world.disable(world.hosts[2])
        found = world.known(server)
        room = world.cloud.servers.find_room([found], world.now)
        assert not {'host2', 'host3'} & set(room.fits[server])

    def test_a_server_that_nova_does_not_know_fits_nowhere(self, world):
        nobody = ports.Server(
            str(uuid.uuid4()), worlds.PROJECT, 'host1', 'active'
        )
        world.cloud.aggregates.ensure_pool()
        room = world.cloud.servers.find_room([nobody], world.now)
        assert list(room.fits[nobody.uuid]) == []
