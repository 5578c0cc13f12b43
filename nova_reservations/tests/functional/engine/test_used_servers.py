# SPDX-License-Identifier: Apache-2.0
"""Servers that were let into reservations are recorded, by their flavors."""

import pytest
import sqlalchemy as sa

from nova_reservations.db import models
from nova_reservations.db import server_usage
from nova_reservations.db import usage
from nova_reservations.engine import deleted_servers
from nova_reservations.objects import states
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


def test_one_goes_on_once_however_often_it_is_let_in(region, let_in):
    for _ in range(2):
        let_in('server')
    region.now += minutes(5)
    for _ in range(2):
        let_in('server')
    assert used(region) == [
        ('server', 'm1.small', 0, 5),
        ('server', 'm1.small', 5, None),
    ]


class TestBesideAnOlderRelease:
    """The older release's nova-schedulers run on while others are restarted.
    They do not mark uses that go on."""

    @pytest.fixture
    def write(self, region):
        def write(**columns):
            with region.database.writer() as session:
                session.execute(
                    sa.update(models.ServerUsage).values(**columns)
                )

        return write

    def test_one_that_it_saw_leave_comes_back(self, region, let_in, write):
        let_in('server')
        region.now += minutes(5)
        write(ended_at=region.now)
        region.now += minutes(5)
        let_in('server')
        region.now += minutes(5)
        let_in('server')
        assert used(region) == [
            ('server', 'm1.small', 0, 5),
            ('server', 'm1.small', 10, 15),
            ('server', 'm1.small', 15, None),
        ]

    def test_one_that_it_let_in_goes_on_once(self, region, let_in, write):
        let_in('server')
        write(goes_on=None)
        region.now += minutes(5)
        let_in('server')
        assert used(region) == [
            ('server', 'm1.small', 0, 5),
            ('server', 'm1.small', 5, None),
        ]


def test_one_that_is_resized_has_two_sizes(region, let_in):
    let_in('server')
    region.now += minutes(5)
    let_in('server', LARGE)
    assert used(region) == [
        ('server', 'm1.large', 5, None),
        ('server', 'm1.small', 0, 5),
    ]


def test_its_use_is_over_when_it_is_seen_to_be_gone(region, lease, let_in):
    [host] = region.hosts_of(lease)
    there = region.cloud.boot(host, lease.project_id)
    gone = region.cloud.boot(host, lease.project_id)
    let_in(there)
    let_in(gone)
    del region.cloud.instances[gone]
    region.now += minutes(2)
    look(region)
    assert {row[0]: row[3] for row in used(region)} == {there: None, gone: 2}


def test_one_that_is_let_in_while_others_look_for_it_goes_on(
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


def test_its_use_is_over_with_the_lease(region, lease, let_in):
    let_in('server')
    region.forward(until=70)
    assert used(region) == [('server', 'm1.small', 0, 60)]
    region.delete(lease)
    assert used(region) == [('server', 'm1.small', 0, 60)]


def test_it_is_over_as_soon_as_the_lease_is_deleted(region, lease, let_in):
    let_in('server')
    region.now += minutes(7)
    region.delete(lease)
    let_in('late')
    region.forward(until=9)
    assert used(region) == [('server', 'm1.small', 0, 7)]


def test_one_that_was_not_created_is_forgotten(region, let_in):
    let_in('server')
    region.access.forget(['server'])
    assert used(region) == []


class TestBeforeTheLease:
    """A server may exist before the lease that it carries."""

    @pytest.fixture
    def lease(self, region):
        return region.lease(start=10)

    def test_it_counts_from_the_start_on(self, region, lease, let_in):
        let_in('server')
        assert used(region) == [('server', 'm1.small', 10, None)]
        with region.database.writer() as session:
            ids = [lease.reservations[0].id]
            server_usage.begin(session, ids, region.now + minutes(11))
        assert used(region) == [('server', 'm1.small', 11, None)]

    def test_it_never_counts_if_the_lease_never_begins(
        self, region, lease, let_in
    ):
        let_in('server')
        region.forward(until=5)
        region.delete(lease)
        region.forward(until=30)
        assert region.lease_lists.deleted(lease.id).status in (
            states.Lease.PENDING,
            states.Lease.TERMINATED,
        )
        assert used(region) == []
