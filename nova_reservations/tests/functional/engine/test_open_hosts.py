# SPDX-License-Identifier: Apache-2.0
"""Whole hosts that servers of the project use without a hint, from the wish
for that to the end of the lease. Decision 0048:
doc/source/decisions/0048-open-hosts
"""

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.engine.leases import access
from nova_reservations.testing.region import minutes


def id_of(lease):
    return lease.reservations[0].id


def opened(region, **asked):
    return region.active_lease(consume='open', **asked)


def record(region, lease, server):
    """Record the server as nova-scheduler does after its claim of a host."""
    region.access.record_server(server, id_of(lease), region.now, chosen=True)
    return server


def drawn_in(region, lease):
    """Return a server on the lease's host that has come without a hint."""
    server = region.cloud.intrude(min(region.hosts_of(lease)), 'lessee')
    return record(region, lease, server)


class TestWhose:
    def test_hosts_are_open_to_the_own_project_while_active(self, region):
        lease = region.lease(start=10, consume='open')
        assert region.access.open_to('lessee') == []
        region.forward(until=11)
        [found] = region.access.open_to('lessee')
        assert found == access.Open(id_of(lease), 0, None)
        assert region.access.open_to('somebody') == []
        region.forward(until=71)
        assert region.access.open_to('lessee') == []

    def test_projects_that_open_hosts_are_shared_with_have_to_ask(
        self, region
    ):
        lease = opened(region)
        region.services.sharing.add(
            lease.id, id_of(lease), 'students', region.now
        )
        assert region.access.open_to('students') == []
        region.access.admit(id_of(lease), 'students', in_slot=False)

    def test_a_single_reservation_of_many_can_be_asked_for(self, region):
        first, second = opened(region), opened(region)
        only = region.access.open_to('lessee', only=id_of(second))
        assert [found.reservation_id for found in only] == [id_of(second)]
        assert region.access.open_to('somebody', only=id_of(first)) == []

    def test_hosts_are_for_those_who_ask_unless_told_otherwise(self, region):
        lease = region.active_lease()
        assert lease.reservations[0].params['consume'] == 'targeted'
        assert region.access.open_to('lessee') == []

    def test_hosts_are_opened_until_their_lease_starts(self, region):
        lease = region.lease(start=10)
        region.change(lease, consume='open')
        region.change(lease, consume='targeted')
        region.change(lease, consume='open')
        region.forward(until=11)
        with pytest.raises(exception.InvalidState, match='consume'):
            region.change(lease, consume='targeted')
        region.change(lease, minimum=1, maximum=2)
        assert len(region.access.open_to('lessee')) == 1


class TestServers:
    def test_servers_are_shown_while_they_are_there(self, region):
        lease = opened(region)
        server = drawn_in(region, lease)
        region.cloud.intrude(min(region.hosts_of(lease)), 'lessee')
        record(region, lease, region.cloud.intrude('elsewhere', 'lessee'))
        hinted = region.cloud.boot(min(region.hosts_of(lease)), 'lessee')
        assert region.lease_lists.usage(lease, lease.reservations[0]) == {
            'servers': sorted([server, hinted])
        }

    def test_servers_are_copied_before_the_end(self, region):
        lease = opened(region, end=80, before_end='snapshot')
        server = drawn_in(region, lease)
        region.forward(until=79)
        assert [copied for copied, _ in region.cloud.images] == [server]

    def test_servers_follow_their_lease_to_another_host(self, make_region):
        region = make_region('one', 'two')
        region.opts.set_override('heal_evacuate', True, group='reservations')
        lease = opened(region)
        server = drawn_in(region, lease)
        [host] = region.hosts_of(lease)
        region.cloud.fail(host, forced_down=True)
        region.look()
        assert region.cloud.instances[server].host != host
        region.look()
        assert region.hosts_of(lease) == {region.cloud.instances[server].host}


class TestEnd:
    @pytest.mark.parametrize(
        ('action', 'becomes_of'),
        [
            ('delete', lambda cloud: set()),
            ('shelve', lambda cloud: cloud.shelved),
            ('migrate', lambda cloud: cloud.migrated),
        ],
    )
    def test_servers_leave_as_those_that_have_asked(
        self, region, action, becomes_of
    ):
        lease = opened(region, end_action=action)
        server = drawn_in(region, lease)
        region.forward(until=62)
        assert region.status(lease) == 'TERMINATED'
        assert region.cloud.instances == {}
        assert becomes_of(region.cloud) <= {server}
        with region.database.reader() as session:
            found = access.slot_servers.of(session, [id_of(lease)])
        assert not found[id_of(lease)].servers

    def test_an_ordinary_one_of_the_project_is_left(self, region):
        lease = opened(region)
        drawn_in(region, lease)
        stranger = region.cloud.intrude(min(region.hosts_of(lease)), 'lessee')
        region.forward(until=61)
        assert set(region.cloud.instances) == {stranger}
        assert region.status(lease) == 'TERMINATING'

    def test_a_server_of_others_is_left_whatever_is_recorded(self, region):
        lease = opened(region)
        [host] = region.hosts_of(lease)
        other = region.cloud.intrude(host, 'somebody')
        record(region, lease, other)
        region.forward(until=61)
        assert set(region.cloud.instances) == {other}

    def test_a_server_that_is_being_built_is_deleted(self, region):
        lease = opened(region, end_action='shelve')
        region.cloud.build('server', 'lessee', 'building')
        record(region, lease, 'server')
        region.forward(until=61)
        assert region.status(lease) == 'TERMINATED'
        assert 'server' not in region.cloud.unbuilt

    def test_a_server_that_is_recorded_after_the_end_began_leaves_too(
        self, region
    ):
        """The claim was there before the end, so the end has waited for the
        server."""
        lease = opened(region)
        server = region.cloud.intrude(min(region.hosts_of(lease)), 'lessee')
        region.forward(until=61)
        assert region.status(lease) == 'TERMINATING'
        assert server in region.cloud.instances
        record(region, lease, server)
        region.forward(until=62)
        assert region.status(lease) == 'TERMINATED'
        assert region.cloud.instances == {}

    def test_a_server_that_has_left_its_hosts_is_left(self, region):
        lease = opened(region)
        server = record(
            region, lease, region.cloud.intrude('elsewhere', 'lessee')
        )
        region.forward(until=62)
        assert region.status(lease) == 'TERMINATED'
        assert set(region.cloud.instances) == {server}


def test_a_lease_that_one_has_come_to_is_used(make_region):
    region = make_region(
        'one',
        unused_lease_timeout=minutes(30),
        unused_lease_action='end',
    )
    lease = opened(region, end=600)
    record(region, lease, 'server')
    region.access.use(lease.id, region.now)
    region.forward(until=40)
    assert region.status(lease) == 'ACTIVE'


def test_older_reservations_are_shown_as_what_they_are(region):
    lease = region.active_lease()
    [reservation] = lease.reservations
    old = objects.Reservation(
        **{
            name: getattr(reservation, name)
            for name in objects.Reservation.__dataclass_fields__
            if name != 'params'
        },
        params={
            key: value
            for key, value in reservation.params.items()
            if key != 'consume'
        },
    )
    kind = region.types[objects.HOST]
    assert kind.show(old)['consume'] == 'targeted'
    kind.check_active_change(old, reservation.params)
