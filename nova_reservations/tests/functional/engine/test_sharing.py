# SPDX-License-Identifier: Apache-2.0
"""Reservations that are shared, from the owner's wish to their end."""

import contextlib
import itertools

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db.leases import project_access
from nova_reservations.engine.leases import sharing
from nova_reservations.testing.steps import Steps
from nova_reservations.tests.functional.engine.test_instances import slots
from nova_reservations.types.servers import host
from nova_reservations.types.servers import instance

TYPES = {
    objects.HOST: host.PhysicalHost,
    'virtual:instance': instance.VirtualInstance,
}


@pytest.fixture
def region(make_region):
    return make_region('one', 'two', types=TYPES)


def id_of(lease):
    return lease.reservations[0].id


def share(region, lease, project='students'):
    return region.services.sharing.add(
        lease.id, id_of(lease), project, region.now
    )


def unshare(region, lease, project='students'):
    return region.services.sharing.remove(
        lease.id, id_of(lease), project, region.now
    )


def admitted(region, lease, project='students', **options):
    """Return whether a server of the project is let in by its hint."""
    try:
        region.access.admit(
            id_of(lease), project, **{'in_slot': False, **options}
        )
    except exception.NotFound:
        return False
    return True


def active_slots(region, **asked):
    lease = region.lease_of(slots(**asked))
    region.work()
    return region.see(lease)


def boot(region, lease, project='students'):
    """A server that the reservation of hosts has let in."""
    name = min(region.hosts_of(lease))
    server = region.cloud.boot(name, project)
    region.cloud.hints[server] = id_of(lease)
    return server


def kept(region, lease):
    with region.database.reader() as session:
        return project_access.of(session, [id_of(lease)])


def test_a_project_is_let_in_as_long_as_it_is_shared(region):
    lease = region.active_lease()
    assert not admitted(region, lease)
    assert share(region, lease) == {id_of(lease): ['students']}
    assert admitted(region, lease)
    assert not admitted(region, lease, 'strangers')
    assert unshare(region, lease) == {}
    assert not admitted(region, lease)
    share(region, lease)
    assert admitted(region, lease)


def test_a_server_that_is_there_stays_when_the_lease_is_shared_no_more(region):
    lease = region.active_lease()
    share(region, lease)
    unshare(region, lease)
    assert admitted(region, lease, is_there=lambda: True)
    assert not admitted(region, lease, 'strangers', is_there=lambda: True)


def test_a_sharer_waits_for_the_start_as_the_owner_does(region):
    lease = region.lease(start=60, end=120)
    share(region, lease)
    with pytest.raises(exception.InvalidState, match='ACTIVE'):
        admitted(region, lease)
    region.forward(until=61)
    assert admitted(region, lease)


@pytest.mark.parametrize('late', [False, True])
def test_servers_of_all_end_with_the_lease(region, late):
    lease = region.active_lease()
    share(region, lease)
    boot(region, lease)
    boot(region, lease, 'lessee')
    if late:
        unshare(region, lease)
    region.forward(until=61)
    assert region.status(lease) == 'TERMINATED'
    assert region.cloud.instances == {}
    assert kept(region, lease) == {}


def test_a_server_that_is_being_built_ends_too(region):
    lease = region.active_lease()
    share(region, lease)
    region.cloud.build('building', 'students', 'building')
    region.cloud.hints['building'] = id_of(lease)
    region.forward(until=61)
    assert region.status(lease) == 'TERMINATED'
    assert 'building' not in region.cloud.unbuilt


def test_a_stranger_with_the_hint_is_told_of_and_left(region):
    lease = region.active_lease()
    share(region, lease)
    server = boot(region, lease, 'strangers')
    region.forward(until=60.1)
    assert region.status(lease) == 'TERMINATING'
    assert server in region.cloud.instances


def test_the_owner_is_told_of_no_server_of_others(region):
    lease = region.active_lease()
    share(region, lease)
    server = boot(region, lease)
    region.cloud.slow_servers.add(server)
    region.forward(until=60.1)
    seen = region.see(lease)
    assert seen.status_reason == (
        'a server of a project that it is shared with is being deleted'
    )
    assert server in seen.status_detail
    assert 'students' in seen.status_detail


def test_sharing_has_an_end_when_the_lease_is_deleted(region):
    lease = region.lease(start=60, end=120)
    share(region, lease)
    region.delete(lease)
    assert kept(region, lease) == {}


class TestSlots:
    def test_sharers_have_the_flavor_and_former_ones_have_not(self, region):
        lease = active_slots(region, amount=4)
        sharers = region.cloud.flavor_sharers
        share(region, lease)
        assert sharers[id_of(lease)] == frozenset()
        region.work()
        assert sharers[id_of(lease)] == {'students'}
        assert region.see(lease).prepared
        assert region.access.has_flavor('students', id_of(lease))
        unshare(region, lease)
        region.work()
        assert sharers[id_of(lease)] == frozenset()
        assert not region.access.has_flavor('students', id_of(lease))

    def test_sharers_from_before_the_start_have_it_then(self, region):
        lease = region.lease_of(slots(), start=60, end=120)
        share(region, lease)
        region.forward(until=61)
        assert region.cloud.flavor_sharers[id_of(lease)] == {'students'}

    @pytest.mark.fuzz
    @pytest.mark.parametrize('story', ['share', 'unshare'])
    def test_between_two_steps_of_a_start_nothing_is_lost(
        self, make_region, story
    ):
        for number in itertools.count(1):
            region = make_region('one', 'two', types=TYPES)
            lease = region.lease_of(slots())
            wanted = {'students'}
            if story == 'unshare':
                share(region, lease)
                wanted = set()

            def change(step, region=region, lease=lease):
                # SQLite lets nobody else write meanwhile.
                with contextlib.suppress(exception.InvalidState):
                    (share if story == 'share' else unshare)(region, lease)

            with Steps(region, number, change) as steps:
                region.work()
            if not steps.reached:
                break
            region.work()
            assert region.status(lease) == 'ACTIVE'
            assert region.cloud.flavor_sharers[id_of(lease)] == wanted
        assert number > 3

    def test_their_slots_count_and_their_servers_are_not_named(self, region):
        lease = active_slots(region, amount=4)
        share(region, lease)
        region.work()
        for project in ('students', 'lessee'):
            server = region.cloud.boot('one', project)
            region.cloud.reservation_of[server] = id_of(lease)
        usage = region.lease_lists.usage(lease, lease.reservations[0])
        assert usage == {'used': 2, 'servers': [server]}

    def test_open_slots_are_known_to_be_held_by_others_perhaps(self, region):
        lease = active_slots(region, amount=4, consume='open')
        assert [one.shared for one in region.access.open_to('lessee')] == [
            False
        ]
        share(region, lease)
        assert region.access.open_to('students') == []
        assert [one.shared for one in region.access.open_to('lessee')] == [
            True
        ]

    def test_servers_of_all_projects_end_with_the_lease(self, region):
        lease = active_slots(region, amount=4)
        share(region, lease)
        region.work()
        for project in ('students', 'lessee'):
            server = region.cloud.boot('one', project)
            region.cloud.reservation_of[server] = id_of(lease)
        region.forward(until=61)
        assert region.status(lease) == 'TERMINATED'
        assert region.cloud.instances == {}


class TestRefusals:
    def test_the_own_project_has_it_already(self, region):
        with pytest.raises(exception.InvalidInput, match='whose lease'):
            share(region, region.lease(), 'lessee')

    def test_twice_is_once(self, region):
        lease = region.lease()
        share(region, lease)
        with pytest.raises(exception.InvalidState, match='already'):
            share(region, lease)

    def test_a_reservation_that_was_not_shared_is_not_taken_back(self, region):
        with pytest.raises(exception.NotFound, match='students'):
            unshare(region, region.lease())

    def test_another_lease_has_other_reservations(self, region):
        lease, other = region.lease(), region.lease()
        with pytest.raises(exception.NotFound, match='Reservation'):
            region.services.sharing.add(
                lease.id, id_of(other), 'students', region.now
            )

    def test_a_lease_that_is_over_is_shared_no_more(self, region):
        lease = region.active_lease()
        region.forward(until=61)
        with pytest.raises(exception.InvalidState, match='not over'):
            share(region, lease)

    def test_a_reservation_is_shared_with_so_many_projects_and_no_more(
        self, region, monkeypatch
    ):
        monkeypatch.setattr(sharing, 'MOST', 2)
        lease = region.active_lease()
        share(region, lease, 'a')
        share(region, lease, 'b')
        with pytest.raises(exception.InvalidState, match='2 projects'):
            share(region, lease, 'c')
        # Servers of the project that had access may still be there.
        unshare(region, lease, 'a')
        with pytest.raises(exception.InvalidState, match='2 projects'):
            share(region, lease, 'c')
        share(region, lease, 'a')

    def test_before_the_start_one_makes_room_for_another(
        self, region, monkeypatch
    ):
        monkeypatch.setattr(sharing, 'MOST', 1)
        lease = region.lease(start=60, end=120)
        share(region, lease, 'a')
        unshare(region, lease, 'a')
        share(region, lease, 'b')


def test_a_lease_that_is_given_by_its_own_id_is_its_reservation(region):
    lease = region.active_lease()
    share(region, lease)
    find = region.services.named_leases.reservation
    for project in 'lessee', 'students':
        assert find(lease.id, project, None) == id_of(lease)
    with pytest.raises(exception.NotFound):
        find(lease.id, 'strangers', None)
    unshare(region, lease)
    with pytest.raises(exception.NotFound):
        find(lease.id, 'students', None)


@pytest.mark.parametrize('change', ['add_all', 'remove_all'])
def test_a_node_that_is_behind_is_not_asked_who_has_access(
    region, monkeypatch, change
):
    lease = region.active_lease()
    share(region, lease)

    def behind():
        raise exception.DatabaseUnavailable(reason='the node is behind')

    monkeypatch.setattr(region.database, 'causal_reader', behind)
    with pytest.raises(exception.DatabaseUnavailable):
        getattr(region.services.sharing, change)(
            [lease], ['students'], region.now
        )
