# SPDX-License-Identifier: Apache-2.0
import datetime

import pytest

from nova_reservations import objects
from nova_reservations.db import shares
from nova_reservations.objects import demand
from nova_reservations.tests import booking
from nova_reservations.tests.booking import NOW

ONE = demand.Share(objects.HOST, 1, {'VCPU': 1})


@pytest.fixture
def session(database):
    with database.writer() as session:
        yield session


def find(
    session, share=ONE, enough=lambda rooms: False, random_start=0, **others
):
    return shares.find(
        session,
        share,
        booking.window(1, 2),
        NOW,
        cleaning=datetime.timedelta(0),
        enough=enough,
        random_start=random_start,
        best_fit=others.pop('best_fit', False),
        keep=others.pop('keep', {}),
        **others,
    )


@pytest.mark.parametrize('random_start', [0, 3, 99])
def test_each_host_is_looked_at_once_wherever_one_begins(
    session, monkeypatch, random_start
):
    monkeypatch.setattr(shares, 'PAGE', 2)
    monkeypatch.setattr(shares, 'LONGEST', 3)
    # Some are at the same place of the order.
    hosts = [
        booking.enrol(session, f'host-{number}', spread=number // 3)
        for number in range(20)
    ]
    found = find(session, random_start=random_start)
    assert sorted(room.resource.id for room in found) == hosts


def test_no_more_is_read_than_is_enough(session, monkeypatch):
    monkeypatch.setattr(shares, 'PAGE', 2)
    for number in range(20):
        booking.enrol(session, f'host-{number}', spread=number)
    found = find(session, enough=lambda rooms: len(rooms) >= 3, random_start=7)
    assert [room.resource.name for room in found] == [
        f'host-{number}' for number in range(7, 13)
    ]


def test_a_host_that_is_too_small_is_no_room(session):
    booking.enrol(session, 'small')
    big = demand.Share(objects.HOST, 1, {'VCPU': 17})
    # It has 64 with its ratio, and gives no more than 16 to one.
    assert find(session, big) == []
    assert shares.matching(session, big) == 0
    assert shares.matching(session, ONE) == 1


def test_what_is_kept_is_looked_at_in_any_case(session):
    first = booking.enrol(session, 'first', spread=0)
    booking.enrol(session, 'second', spread=1)
    found = find(
        session, enough=lambda rooms: True, random_start=1, keep={first: 2}
    )
    assert {room.resource.name: room.kept for room in found} == {
        'first': 2,
        'second': 0,
    }
