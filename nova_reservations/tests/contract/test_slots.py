# SPDX-License-Identifier: Apache-2.0
"""The promises of ``ports.Slots``."""

import dataclasses
import uuid

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.tests.contract import worlds
from nova_reservations.tests.contract.worlds import go_on
from nova_reservations.tests.contract.worlds import lost
from nova_reservations.tests.contract.worlds import RESERVATION


def wanted(*hosts, flavor=worlds.SLOT, affinity=None):
    """:param hosts: pairs of a host and the number of slots on it"""
    return ports.ReservedSlots(
        RESERVATION, worlds.PROJECT, 'user', flavor, affinity, hosts
    )


def offered(world):
    """Return service host -> slots of the reservation."""
    found = world.cloud.slots.offered_slots(world.hosts)
    return found.get(RESERVATION, {})


def in_slots(world, reservation_id, servers=(), chosen=()):
    found = world.cloud.slots.servers_in_slots(
        reservation_id, world.hosts, servers, chosen
    )
    return {server.uuid for server in found.servers}, set(found.leftovers)


class TestFlavors:
    def test_a_flavor_is_found_with_what_it_asks_placement_for(self, world):
        world.make_flavor('small')
        found = world.cloud.slots.find_flavor('small', worlds.OTHERS)
        assert (found.id, found.is_public) == ('small', True)
        assert found.flavor == worlds.SLOT
        assert found.amounts == {'VCPU': 1, 'MEMORY_MB': 512, 'DISK_GB': 1}
        assert found.required == found.forbidden == frozenset()

    def test_a_flavor_is_found_by_its_name(self, world):
        world.make_flavor('small')
        found = world.cloud.slots.find_flavor('small', worlds.OTHERS)
        assert found.name != 'small'
        assert (
            world.cloud.slots.find_flavor(found.name, worlds.OTHERS) == found
        )

    def test_a_flavor_of_some_projects_is_theirs_by_its_name_too(self, world):
        world.make_flavor('mine', worlds.PROJECT)
        found = world.cloud.slots.find_flavor('mine', worlds.PROJECT)
        with pytest.raises(exception.CloudRefused):
            world.cloud.slots.find_flavor(found.name, worlds.OTHERS)

    def test_a_flavor_that_is_not_there_is_refused(self, cloud):
        with pytest.raises(exception.CloudRefused):
            cloud.slots.find_flavor('gone', worlds.PROJECT)

    def test_a_flavor_of_some_projects_is_theirs_alone(self, world):
        world.make_flavor('mine', worlds.PROJECT)
        found = world.cloud.slots.find_flavor('mine', worlds.PROJECT)
        assert not found.is_public
        with pytest.raises(exception.CloudRefused):
            world.cloud.slots.find_flavor('mine', worlds.OTHERS)

    def test_a_flavor_of_a_reservation_is_refused(self, world):
        slots = wanted((world.hosts[0], 1))
        world.cloud.slots.ensure_slots(slots, go_on)
        world.cloud.slots.allow_flavor(slots, go_on)
        with pytest.raises(exception.CloudRefused):
            world.cloud.slots.find_flavor(RESERVATION, worlds.PROJECT)
        with pytest.raises(exception.CloudRefused):
            world.cloud.slots.find_flavor(
                f'reservation:{RESERVATION}', worlds.PROJECT
            )


class TestSlots:
    def test_slots_are_made_however_often_it_is_told(self, world):
        slots = wanted((world.hosts[0], 2), (world.hosts[1], 1))
        assert not world.cloud.slots.has_slots(slots)
        for _ in range(2):
            world.cloud.slots.ensure_slots(slots, go_on)
            assert offered(world) == {'host1': 2, 'host2': 1}
            assert world.cloud.slots.has_slots(slots)
        assert set(world.cloud.slots.slot_classes()) == {RESERVATION}
        assert world.cloud.slots.owns_slots(RESERVATION)

    def test_slots_are_told_of_the_hosts_that_are_asked_for(self, world):
        slots = wanted((world.hosts[0], 2), (world.hosts[1], 1))
        world.cloud.slots.ensure_slots(slots, go_on)
        assert world.cloud.slots.offered_slots(world.hosts[1:]) == {
            RESERVATION: {'host2': 1}
        }
        assert world.cloud.slots.offered_slots(world.hosts[2:]) == {}

    def test_slots_that_are_not_named_go(self, world):
        one, two, three, _ = world.hosts
        for slots in (
            wanted((one, 2), (two, 1)),
            wanted((two, 3), (three, 1)),
        ):
            world.cloud.slots.ensure_slots(slots, go_on)
        assert offered(world) == {'host2': 3, 'host3': 1}

    def test_slots_that_are_held_stay_and_nobody_gets_more(self, world):
        reservation_id, one = world.lease_slots(), world.hosts[0]
        held = world.cloud.slots.slots_held
        assert held(reservation_id, world.hosts[:2]) == {
            'host1': 0,
            'host2': 0,
        }
        world.boot_in_slot(reservation_id)
        for hosts in ((one, 2),), ((one, 1),), ():
            slots = ports.ReservedSlots(
                reservation_id, worlds.PROJECT, 'user', None, None, hosts
            )
            world.cloud.slots.ensure_slots(slots, go_on)
            assert held(reservation_id, [one]) == {'host1': 1}
        found = world.cloud.slots.offered_slots([one])
        # The slot that a server holds could not be taken away.
        assert found[reservation_id] == {'host1': 1}

    def test_slots_go_host_by_host_but_for_those_that_are_held(self, world):
        withdraw = world.cloud.slots.withdraw_slots
        slots = wanted((world.hosts[0], 2), (world.hosts[1], 1))
        world.cloud.slots.ensure_slots(slots, go_on)
        for _ in range(2):
            assert not withdraw(RESERVATION, world.hosts[1:], go_on)
            assert offered(world) == {'host1': 2}
        with pytest.raises(exception.ClaimLost):
            withdraw(RESERVATION, world.hosts, lost)
        assert set(world.cloud.slots.slot_classes()) == {RESERVATION}

    def test_a_slot_that_is_held_is_not_taken_away(self, world):
        reservation_id, one = world.lease_slots(), world.hosts[0]
        world.boot_in_slot(reservation_id)
        withdraw = world.cloud.slots.withdraw_slots
        assert set(withdraw(reservation_id, [one], go_on)) == {'host1'}
        found = world.cloud.slots.offered_slots([one])
        assert found[reservation_id]['host1']

    def test_an_unknown_host_is_refused(self, world):
        gone = objects.Resource(0, objects.HOST, 'gone', str(uuid.uuid4()))
        with pytest.raises(exception.CloudRefused):
            world.cloud.slots.ensure_slots(wanted((gone, 1)), go_on)

    def test_without_a_flavor_it_is_the_slots_that_count(self, world):
        slots = wanted((world.hosts[0], 2), flavor=None)
        assert not world.cloud.slots.has_slots(slots)
        world.cloud.slots.ensure_slots(slots, go_on)
        assert world.cloud.slots.has_slots(slots)
        assert not world.cloud.slots.has_slots(
            wanted((world.hosts[0], 1), flavor=None)
        )
        world.cloud.slots.allow_flavor(slots, go_on)
        assert not world.may_use(worlds.PROJECT, RESERVATION)
        assert world.cloud.slots.owns_slots(RESERVATION)

    @pytest.mark.parametrize(
        'affinity, policy',
        [(True, 'affinity'), (False, 'anti-affinity'), (None, None)],
    )
    def test_there_is_a_server_group_if_servers_keep_together_or_apart(
        self, world, affinity, policy
    ):
        for first in (True, affinity, affinity):
            slots = wanted((world.hosts[0], 2), affinity=first)
            world.cloud.slots.ensure_slots(slots, go_on)
        assert world.group_policy(RESERVATION) == policy

    def test_a_worker_that_lost_the_claim_changes_no_slots(self, world):
        slots = wanted((world.hosts[0], 2))
        with pytest.raises(exception.ClaimLost):
            world.cloud.slots.ensure_slots(slots, lost)
        assert set(world.cloud.slots.slot_classes()) == set()
        world.cloud.slots.ensure_slots(slots, go_on)
        with pytest.raises(exception.ClaimLost):
            world.cloud.slots.allow_flavor(slots, lost)
        assert not world.may_use(worlds.PROJECT, RESERVATION)
        with pytest.raises(exception.ClaimLost):
            world.cloud.slots.delete_slots(RESERVATION, world.hosts, lost)
        assert world.cloud.slots.has_slots(slots)
        assert offered(world) == {'host1': 2}

    def test_slots_of_others_are_not_ours(self, world):
        world.make_foreign_slots(RESERVATION)
        assert set(world.cloud.slots.slot_classes()) == {RESERVATION}
        assert not world.cloud.slots.owns_slots(RESERVATION)


class TestTheirFlavor:
    def test_a_flavor_is_nobodys_until_it_is_allowed(self, world):
        slots = wanted((world.hosts[0], 2))
        world.cloud.slots.ensure_slots(slots, go_on)
        assert not world.may_use(worlds.PROJECT, RESERVATION)
        for _ in range(2):
            world.cloud.slots.allow_flavor(slots, go_on)
        assert world.may_use(worlds.PROJECT, RESERVATION)
        assert not world.may_use(worlds.OTHERS, RESERVATION)
        # To ensure the same slots again does not withdraw the flavor.
        world.cloud.slots.ensure_slots(slots, go_on)
        assert world.may_use(worlds.PROJECT, RESERVATION)

    def test_sharers_may_use_it_and_former_ones_may_not(self, world):
        slots = wanted((world.hosts[0], 2))
        world.cloud.slots.ensure_slots(slots, go_on)
        for sharers, may in (
            (objects.Sharers(present=frozenset([worlds.OTHERS])), True),
            (objects.Sharers(former=frozenset([worlds.OTHERS])), False),
        ):
            shared = dataclasses.replace(slots, sharers=sharers)
            for _ in range(2):
                world.cloud.slots.allow_flavor(shared, go_on)
            assert world.may_use(worlds.OTHERS, RESERVATION) is may
            assert world.may_use(worlds.PROJECT, RESERVATION)

    def test_another_flavor_is_nobodys_again(self, world):
        slots = wanted((world.hosts[0], 2))
        world.cloud.slots.ensure_slots(slots, go_on)
        world.cloud.slots.allow_flavor(slots, go_on)
        larger = wanted(
            (world.hosts[0], 2),
            flavor=dataclasses.replace(worlds.SLOT, vcpus=2),
        )
        assert not world.cloud.slots.has_slots(larger)
        world.cloud.slots.ensure_slots(larger, go_on)
        assert world.cloud.slots.has_slots(larger)
        assert not world.cloud.slots.has_slots(slots)
        assert not world.may_use(worlds.PROJECT, RESERVATION)

    def test_a_flavor_that_somebody_has_deleted_can_not_be_allowed(
        self, world
    ):
        with pytest.raises(exception.CloudRefused):
            world.cloud.slots.allow_flavor(wanted((world.hosts[0], 2)), go_on)


def acts(number, act):
    """Return a check that lets somebody else act before a write.

    :param number: before which, from 0 on
    """
    left = [number]

    def check():
        left[0] -= 1
        if left[0] == -1:
            act()

    return check


class TestFlavorBeforeSlots:
    @pytest.mark.parametrize('affinity', [None, True])
    def test_a_flavor_made_ahead_has_no_slots_and_can_be_allowed(
        self, world, affinity
    ):
        slots = wanted((world.hosts[0], 2), affinity=affinity)
        for _ in range(2):
            world.cloud.slots.ensure_flavor(slots, go_on)
            world.cloud.slots.allow_flavor(slots, go_on)
            assert offered(world) == {}
            assert world.may_use(worlds.PROJECT, RESERVATION)
            assert world.group_policy(RESERVATION) == (
                'affinity' if affinity else None
            )
        # Leftovers are found by the class.
        assert set(world.cloud.slots.slot_classes()) == {RESERVATION}
        assert world.cloud.slots.owns_slots(RESERVATION)
        world.cloud.slots.ensure_slots(slots, go_on)
        assert offered(world) == {'host1': 2}
        assert world.may_use(worlds.PROJECT, RESERVATION)
        world.cloud.slots.delete_slots(RESERVATION, world.hosts, go_on)
        assert set(world.cloud.slots.slot_classes()) == set()
        assert not world.may_use(worlds.PROJECT, RESERVATION)
        assert world.group_policy(RESERVATION) is None

    def test_slots_without_a_flavor_have_none_before_either(self, world):
        slots = wanted((world.hosts[0], 2), flavor=None)
        world.cloud.slots.ensure_flavor(slots, go_on)
        assert not world.may_use(worlds.PROJECT, RESERVATION)

    @pytest.mark.parametrize('number', range(3))
    def test_somebody_else_may_make_it_at_the_same_time(self, world, number):
        slots = wanted((world.hosts[0], 2), affinity=False)

        def make():
            world.cloud.slots.ensure_slots(slots, go_on)
            world.cloud.slots.allow_flavor(slots, go_on)

        world.cloud.slots.ensure_flavor(slots, acts(number, make))
        world.cloud.slots.allow_flavor(slots, go_on)
        assert world.cloud.slots.has_slots(slots)
        assert offered(world) == {'host1': 2}
        assert world.may_use(worlds.PROJECT, RESERVATION)
        assert world.group_policy(RESERVATION) == 'anti-affinity'

    def test_a_worker_that_is_stopped_writes_nothing_more(self, world):
        slots = wanted((world.hosts[0], 2), affinity=True)

        def stop():
            raise exception.ClaimLost(id='a lease', worker='a worker')

        with pytest.raises(exception.ClaimLost):
            world.cloud.slots.ensure_flavor(slots, acts(0, stop))
        assert set(world.cloud.slots.slot_classes()) == set()
        with pytest.raises(exception.ClaimLost):
            world.cloud.slots.ensure_flavor(slots, acts(1, stop))
        assert not world.cloud.slots.has_slots(slots)
        assert world.group_policy(RESERVATION) is None


class TestDelete:
    def test_nothing_is_left_however_often_it_is_told(self, world):
        slots = wanted((world.hosts[0], 2), affinity=True)
        world.cloud.slots.ensure_slots(slots, go_on)
        world.cloud.slots.allow_flavor(slots, go_on)
        for _ in range(2):
            left = world.cloud.slots.delete_slots(
                RESERVATION, world.hosts, go_on
            )
            assert set(left) == set()
            assert offered(world) == {}
            assert set(world.cloud.slots.slot_classes()) == set()
            assert not world.cloud.slots.has_slots(slots)
            assert not world.may_use(worlds.PROJECT, RESERVATION)
            assert world.group_policy(RESERVATION) is None

    def test_slots_that_are_held_are_left(self, world):
        slots = wanted((world.hosts[0], 2))
        world.cloud.slots.ensure_slots(slots, go_on)
        world.cloud.slots.allow_flavor(slots, go_on)
        consumer = world.claim_slot(RESERVATION, world.hosts[0])
        assert in_slots(world, RESERVATION) == (set(), {consumer})
        left = world.cloud.slots.delete_slots(RESERVATION, world.hosts, go_on)
        assert set(left) == {consumer}
        assert set(world.cloud.slots.slot_classes()) == {RESERVATION}
        assert offered(world) == {'host1': 2}
        assert not world.may_use(worlds.PROJECT, RESERVATION)


class TestServers:
    def test_servers_that_hold_a_slot_are_known(self, world):
        reservation_id = world.lease_slots()
        taken = world.cloud.slots.slots_taken
        assert taken(reservation_id, worlds.PROJECT) == 0
        server = world.boot_in_slot(reservation_id)
        world.boot(world.hosts[1])
        assert in_slots(world, reservation_id) == ({server}, set())
        assert taken(reservation_id, worlds.PROJECT) == 1
        assert taken(reservation_id, worlds.OTHERS) == 0
        assert in_slots(world, str(uuid.uuid4())) == (set(), set())

    def test_servers_that_came_by_themselves_are_told_on_a_shelf(self, world):
        server, nobody = world.boot(world.hosts[1]), str(uuid.uuid4())
        came = [server, nobody]
        assert in_slots(world, RESERVATION, came, came) == (set(), set())
        world.shelve(server)
        assert in_slots(world, RESERVATION, came, came) == ({server}, set())
        assert in_slots(world, RESERVATION, came) == (set(), set())

    def test_a_server_resized_away_has_moved_until_that_is_confirmed(
        self, world
    ):
        reservation_id = world.lease_slots()
        server = world.boot_in_slot(reservation_id)
        target = world.resize_away(server)
        [seen] = world.cloud.slots.servers_in_slots(
            reservation_id, world.hosts, [server]
        ).servers
        assert seen.moved_to == {target}
        assert (seen.host, seen.condition) == ('host1', 'resized')
        confirm = world.cloud.servers.confirm_resizes
        key = ports.RequestKey(reservation_id)
        with pytest.raises(exception.ClaimLost):
            confirm([seen], ports.Order(key, lost, world.now))
        for _ in range(2):
            assert not confirm([seen], ports.Order(key, go_on, world.now))
        world.eventually(
            lambda: in_slots(world, reservation_id, [server]) == (set(), set())
        )
        assert world.known(server).condition == 'active'

    def test_a_server_on_a_shelf_has_the_flavor_and_no_slot(self, world):
        reservation_id = world.lease_slots()
        server = world.boot_in_slot(reservation_id)
        world.shelve(server)
        assert in_slots(world, reservation_id) == ({server}, set())
        assert (
            world.cloud.slots.slots_taken(reservation_id, worlds.PROJECT) == 0
        )

    def test_a_server_whose_slot_is_forgotten_comes_back_without_it(
        self, world
    ):
        reservation_id = world.lease_slots()
        server = world.boot_in_slot(reservation_id)
        world.shelve(server)
        found = world.known(server)
        with pytest.raises(exception.ClaimLost):
            world.cloud.slots.forget_slots(reservation_id, [found], lost)
        for _ in range(2):
            world.cloud.slots.forget_slots(reservation_id, [found], go_on)
        left = world.cloud.slots.delete_slots(
            reservation_id, world.hosts, go_on
        )
        assert set(left) == set()
        world.cloud.servers.unshelve_servers(
            [found],
            ports.Order(ports.RequestKey(reservation_id), go_on, world.now),
        )
        world.eventually(lambda: world.known(server).state == 'active')
        assert world.known(server).host not in ('', 'host1')
