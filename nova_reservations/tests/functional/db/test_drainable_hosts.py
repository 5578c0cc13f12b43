# SPDX-License-Identifier: Apache-2.0
"""Fences around hosts that are drained for a lease."""

import pytest

from nova_reservations import exception
from nova_reservations.db.resources import drainable_hosts
from nova_reservations.db.resources import hosts
from nova_reservations.objects import states
from nova_reservations.testing import fake_cloud
from nova_reservations.tests.booking import NOW


@pytest.fixture
def seen(any_database):
    """The drainable hosts, as two leases have read them."""
    with any_database.writer() as session:
        for name in ('green', 'red'):
            hosts.insert(
                session,
                fake_cloud.facts(name),
                {},
                NOW,
                role=states.Role.DRAINABLE,
            )
    with any_database.reader() as session:
        return drainable_hosts.find(session)


def fence(database, chosen, lease):
    with database.writer() as session:
        drainable_hosts.fence(session, chosen, lease, NOW)


def fences(database):
    with database.reader() as session:
        return {
            host.resource.name: host.fenced_for
            for host in drainable_hosts.find(session)
            if host.fenced_for
        }


def test_a_host_is_fenced_for_one_lease(any_database, seen):
    fence(any_database, seen[:1], 'first')
    with pytest.raises(exception.Conflict):
        fence(any_database, seen[:1], 'second')
    assert fences(any_database) == {'green': 'first'}


def test_a_fence_by_an_old_look_fails(any_database, seen):
    fence(any_database, seen[:1], 'first')
    with any_database.writer() as session:
        drainable_hosts.unfence(session, seen[0].resource.id, 'first', NOW)
    with pytest.raises(exception.Conflict):
        fence(any_database, seen[:1], 'second')
    assert fences(any_database) == {}


def test_a_fence_is_seen_by_those_who_book(any_database, seen):
    fence(any_database, seen[:1], 'first')
    with any_database.reader() as session:
        fenced = drainable_hosts.find(session)[0]
    assert fenced.fenced_for == 'first'
    assert fenced.generation == seen[0].generation + 1


def test_hosts_are_all_fenced_or_none_is(any_database, seen):
    fence(any_database, seen[1:], 'first')
    with pytest.raises(exception.Conflict):
        fence(any_database, seen, 'second')
    assert fences(any_database) == {'red': 'first'}


def test_only_the_lease_that_has_a_fence_takes_it_away(any_database, seen):
    fence(any_database, seen[:1], 'first')
    with any_database.writer() as session:
        drainable_hosts.unfence(session, seen[0].resource.id, 'second', NOW)
    assert fences(any_database) == {'green': 'first'}
