# SPDX-License-Identifier: Apache-2.0
import itertools

import pytest
import sqlalchemy as sa

from nova_reservations import objects
from nova_reservations.db import models
from nova_reservations.db.holdings import shares
from nova_reservations.objects import demand
from nova_reservations.objects import search
from nova_reservations.tests import booking
from nova_reservations.tests.booking import NOW

ONE = demand.Share(objects.HOST, 1, {'VCPU': 1})


@pytest.fixture
def session(database):
    with database.writer() as session:
        yield session


def find(session, share=ONE, most=99, keep=None, **terms):
    """Return the offers of at most that many pages."""
    wanted = search.Wanted('one', share, booking.window(1, 2), held=keep or {})
    pages = shares.pages(
        session, wanted, search.Search(NOW, best_fit=False, **terms)
    )
    return list(itertools.chain.from_iterable(itertools.islice(pages, most)))


@pytest.mark.parametrize('start_at', [0, 3, 99])
def test_hosts_are_looked_at_once_wherever_the_search_begins(
    session, monkeypatch, start_at
):
    monkeypatch.setattr(shares, 'PAGE', 2)
    monkeypatch.setattr(shares, 'LONGEST', 3)
    # Several hosts have the same spread.
    hosts = [
        booking.enrol(session, f'host-{number}', spread=number // 3)
        for number in range(20)
    ]
    found = find(session, start_at=start_at)
    assert sorted(room.resource.id for room in found) == hosts


def test_no_more_is_read_than_is_asked_for(session, monkeypatch):
    monkeypatch.setattr(shares, 'PAGE', 2)
    for number in range(20):
        booking.enrol(session, f'host-{number}', spread=number)
    found = find(session, most=2, start_at=7)
    assert [room.resource.name for room in found] == [
        f'host-{number}' for number in range(7, 13)
    ]


def test_a_host_that_is_too_small_is_no_room(session):
    booking.enrol(session, 'small')
    big = demand.Share(objects.HOST, 1, {'VCPU': 17})
    # The host has 64 VCPUs with its allocation ratio, but max_unit is 16.
    assert find(session, big) == []
    assert shares.matching(session, big) == 0
    assert shares.matching(session, ONE) == 1


def test_hosts_that_are_down_are_counted_where_they_would_do(session):
    booking.enrol(session, 'up')
    for name in ('lost', 'small'):
        host = booking.enrol(session, name)
        session.execute(
            sa.update(models.Resource)
            .where(models.Resource.id == host)
            .values(down_since=NOW)
        )
    assert shares.matching(session, ONE) == 1
    assert shares.down(session, ONE) == 2
    big = demand.Share(objects.HOST, 1, {'VCPU': 17})
    assert shares.down(session, big) == 0


def test_kept_hosts_are_looked_at_in_any_case(session):
    first = booking.enrol(session, 'first', spread=0)
    booking.enrol(session, 'second', spread=1)
    found = find(session, most=1, start_at=1, keep={first: 2})
    assert {room.resource.name: room.kept for room in found} == {
        'first': 2,
        'second': 0,
    }
