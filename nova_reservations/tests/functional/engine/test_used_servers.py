# SPDX-License-Identifier: Apache-2.0
"""Servers that were let into reservations are recorded, by their flavors."""

import dataclasses

import pytest

from nova_reservations import exception
from nova_reservations import ports
from nova_reservations.db.record import server_usage
from nova_reservations.db.record import usage
from nova_reservations.engine.worker import deleted_servers
from nova_reservations.objects import usage as records
from nova_reservations.testing.region import minutes
from nova_reservations.testing.region import NOON
from nova_reservations.tests.functional.engine import recorded

SMALL = records.Size('m1.small', 1, 2048, 20)
LARGE = records.Size('m1.large', 4, 8192, 80)


def used(region):
    """Return (server, flavor, from, to), in minutes after noon."""
    query = records.UsageQuery(recorded.FIRST, recorded.LAST)
    with region.database.reader() as session:
        return sorted(
            (
                row.server_uuid,
                row.flavor,
                (row.started_at - NOON) / minutes(1),
                row.ended_at and (row.ended_at - NOON) / minutes(1),
            )
            for row in usage.find_servers(session, query)
        )


@pytest.fixture
def lease(region):
    return region.active_lease()


@pytest.fixture
def let_in(region, lease):
    def let_in(server, size=SMALL):
        region.access.record_use(
            server, lease.reservations[0].id, size, region.now
        )

    return let_in


def look(region):
    region.soon(deleted_servers.TASK)
    region.work()


def test_a_server_goes_on_once_however_often_it_is_let_in(region, let_in):
    for _ in range(2):
        let_in('server')
    region.now += minutes(5)
    for _ in range(2):
        let_in('server')
    assert used(region) == [
        ('server', 'm1.small', 0, 5),
        ('server', 'm1.small', 5, None),
    ]


def test_a_server_that_is_resized_has_two_sizes(region, let_in):
    let_in('server')
    region.now += minutes(5)
    let_in('server', LARGE)
    assert used(region) == [
        ('server', 'm1.large', 5, None),
        ('server', 'm1.small', 0, 5),
    ]


def test_use_of_a_server_is_over_when_it_is_seen_to_be_gone(
    region, lease, let_in
):
    [host] = region.hosts_of(lease)
    there = region.cloud.boot(host, lease.project_id)
    gone = region.cloud.boot(host, lease.project_id)
    let_in(there)
    let_in(gone)
    del region.cloud.instances[gone]
    region.now += minutes(2)
    look(region)
    assert {row[0]: row[3] for row in used(region)} == {there: None, gone: 2}


def test_a_server_that_is_let_in_while_others_look_for_it_goes_on(
    region, lease, let_in
):
    server = region.cloud.intrude('elsewhere', lease.project_id)
    let_in(server)
    region.now += minutes(2)
    heard_servers = region.cloud.servers.heard_servers

    def and_it_comes(servers):
        found = heard_servers(servers)
        let_in(server)
        return found

    region.cloud.servers.heard_servers = and_it_comes
    look(region)
    assert used(region) == [
        (server, 'm1.small', 0, 2),
        (server, 'm1.small', 2, None),
    ]


def test_nothing_is_over_where_nova_does_not_tell(region, lease, let_in):
    server = region.cloud.intrude('elsewhere', lease.project_id)
    let_in(server)
    region.now += minutes(2)
    region.cloud.silent.add(region.cloud.cell_of('elsewhere'))
    look(region)
    assert used(region) == [(server, 'm1.small', 0, None)]


def test_use_of_a_server_is_over_with_the_lease(region, lease, let_in):
    let_in('server')
    region.forward(until=70)
    assert used(region) == [('server', 'm1.small', 0, 60)]
    region.delete(lease)
    assert used(region) == [('server', 'm1.small', 0, 60)]


def test_use_of_a_server_is_over_as_soon_as_the_lease_is_deleted(
    region, lease, let_in
):
    let_in('server')
    region.now += minutes(7)
    region.delete(lease)
    let_in('late')
    region.forward(until=9)
    assert used(region) == [('server', 'm1.small', 0, 7)]


def test_a_server_that_was_not_created_is_forgotten(region, let_in):
    let_in('server')
    region.access.forget(['server'])
    assert used(region) == []


class TestBeforeTheLease:
    """A server may exist before the lease that it carries."""

    @pytest.fixture
    def lease(self, region):
        return region.lease(start=10)

    def test_a_server_counts_from_the_start_on(self, region, lease, let_in):
        let_in('server')
        assert used(region) == [('server', 'm1.small', 10, None)]
        with region.database.writer() as session:
            ids = [lease.reservations[0].id]
            server_usage.begin(session, ids, region.now + minutes(11))
        assert used(region) == [('server', 'm1.small', 11, None)]

    def test_a_server_never_counts_if_the_lease_never_begins(
        self, region, lease, let_in
    ):
        let_in('server')
        region.forward(until=5)
        region.delete(lease)
        region.forward(until=30)
        with pytest.raises(exception.NotFound):
            region.leases.get(lease.id)
        assert used(region) == []


class TestReverted:
    """A resize was let in, and its owner has reverted it."""

    @pytest.fixture
    def stays(self, region, lease):
        """Return a function that records a server as let in."""

        def let_in(server, size, into=lease):
            region.access.record_use(
                server, into.reservations[0].id, size, region.now
            )

        return let_in

    @pytest.fixture
    def server(self, region, lease, stays):
        """Return a server that came to the lease."""
        [host] = region.hosts_of(lease)
        server = region.cloud.boot(host, lease.project_id)
        stays(server, SMALL)
        region.now += minutes(5)
        return server

    def has(self, region, server, size, **changes):
        region.cloud.instances[server] = dataclasses.replace(
            region.cloud.instances[server], flavor=size.flavor, **changes
        )

    def test_a_reverted_server_is_used_where_it_came_from_again(
        self, region, lease, stays, server
    ):
        other = region.active_lease()
        # Its first host refuses it.
        stays(server, LARGE, other)
        region.now += minutes(1)
        stays(server, LARGE, other)
        self.has(region, server, LARGE, task='resize_reverting')
        region.now += minutes(5)
        look(region)
        assert used(region)[-1] == (server, 'm1.small', 0, 5)
        self.has(region, server, SMALL, task=None)
        look(region)
        look(region)
        assert used(region) == [
            (server, 'm1.large', 5, 6),
            (server, 'm1.large', 6, 11),
            (server, 'm1.small', 0, 5),
            (server, 'm1.small', 11, None),
        ]
        assert stays_in(region, server) == lease.reservations[0].id

    def test_a_reverted_server_has_the_size_that_it_had(
        self, region, stays, server
    ):
        stays(server, LARGE)
        self.has(region, server, SMALL)
        region.now += minutes(5)
        look(region)
        assert used(region) == [
            (server, 'm1.large', 5, 10),
            (server, 'm1.small', 0, 5),
            (server, 'm1.small', 10, None),
        ]

    def test_a_server_that_has_only_moved_goes_on(self, region, stays, server):
        stays(server, SMALL)
        self.has(region, server, SMALL)
        region.now += minutes(5)
        look(region)
        assert used(region)[-1] == (server, 'm1.small', 5, None)

    def test_a_server_whose_first_lease_is_over_is_in_none(
        self, region, lease, stays, server
    ):
        other = region.active_lease()
        stays(server, LARGE, other)
        region.delete(lease)
        region.now += minutes(5)
        region.cloud.instances[server] = ports.Server(
            server, lease.project_id, 'elsewhere', 'active', flavor='m1.small'
        )
        look(region)
        assert used(region) == [
            (server, 'm1.large', 5, 10),
            (server, 'm1.small', 0, 5),
        ]


def stays_in(region, server):
    with region.database.reader() as session:
        [stay] = server_usage.watched(session, '', 9)
    assert stay.server_uuid == server
    return stay.reservation_id
