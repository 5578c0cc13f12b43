# SPDX-License-Identifier: Apache-2.0
import datetime

import pytest
import sqlalchemy as sa

from nova_reservations.db import models
from nova_reservations.db.holdings import candidates
from nova_reservations.objects import demand
from nova_reservations.objects import search
from nova_reservations.tests import booking
from nova_reservations.tests.booking import NOW


@pytest.fixture
def session(database):
    with database.writer() as session:
        yield session


def find(
    session,
    window,
    demand=None,
    page=10,
    now=NOW,
    keep=(),
    recheck=True,
    **terms,
):
    wanted = search.Wanted(
        'one',
        demand or booking.wanted(),
        booking.window(*window),
        held=dict.fromkeys(keep, 1),
        recheck=recheck,
    )
    return candidates.find(session, wanted, search.Search(now, **terms), page)


def shortage(session, demand, window, ignore=()):
    wanted = search.Wanted('one', demand, booking.window(*window))
    return candidates.shortage(
        session, wanted, search.Search(NOW, ignore=ignore)
    )


def names(found):
    return sorted(candidate.resource.name for candidate in found)


def test_a_host_is_free_in_windows_that_touch_what_is_booked(session):
    host = booking.enrol(session, 'one')
    booking.book(session, host, 2, 4)
    assert names(find(session, (1, 2))) == ['one']
    assert names(find(session, (4, 5))) == ['one']


@pytest.mark.parametrize('window', [(1, 3), (3, 5), (2, 4), (1, 5), (2, 3)])
def test_a_host_is_taken_in_windows_that_overlap(session, window):
    host = booking.enrol(session, 'one')
    booking.book(session, host, 2, 4)
    assert find(session, window) == []


def test_a_released_booking_takes_nothing(session):
    host = booking.enrol(session, 'one')
    booking.book(session, host, 2, 4, released=True)
    assert names(find(session, (1, 5))) == ['one']


def test_a_host_that_is_not_left_yet_is_taken_only_for_now(session):
    host = booking.enrol(session, 'one')
    booking.book(session, host, 2, 4)
    late = booking.at(5)
    assert find(session, (5, 6), now=late) == []
    assert find(session, (4.5, 6), now=late) == []
    assert names(find(session, (5.1, 6), now=late)) == ['one']


def test_a_reservation_does_not_stand_in_its_own_way(session):
    hosts = [booking.enrol(session, name) for name in ('mine', 'theirs')]
    mine, _ = (booking.book(session, host, 2, 4) for host in hosts)
    assert find(session, (3, 5)) == []
    found = find(session, (3, 5), ignore=[mine])
    assert names(found) == ['mine']
    assert found[0].gap_before == datetime.timedelta(hours=3)


def test_only_reservable_resources_of_the_type_are_found(session):
    booking.enrol(session, 'being enrolled', reservable=False)
    booking.enrol(session, 'enrolled')
    assert names(find(session, (1, 2))) == ['enrolled']
    other = demand.Demand('other:type', 1, 1)
    assert find(session, (1, 2), demand=other) == []


def test_only_hosts_that_meet_the_requirements_are_found(session):
    booking.enrol(session, 'small', vcpus=8, properties={'gpu': 'A100'})
    booking.enrol(session, 'plain', vcpus=32)
    booking.enrol(session, 'right', vcpus=32, properties={'gpu': 'A100'})
    asked = '["and", [">=", "$vcpus", "16"], ["==", "$gpu", "A100"]]'
    found = find(session, (1, 2), demand=booking.wanted(asked=asked))
    assert names(found) == ['right']


def test_a_candidate_tells_how_long_it_is_free_around_the_window(session):
    host = booking.enrol(session, 'one')
    for start, end in [(2, 3), (4, 5), (20, 21), (30, 31)]:
        booking.book(session, host, start, end)
    (candidate,) = find(session, (7, 10))
    assert candidate.gap_before == datetime.timedelta(hours=2)
    assert candidate.gap_after == datetime.timedelta(hours=10)


def test_a_candidate_is_free_from_now_on_until_for_good(session):
    booking.enrol(session, 'one')
    (candidate,) = find(session, (7, 10), now=booking.at(3))
    assert candidate.gap_before == datetime.timedelta(hours=4)
    assert candidate.gap_after is None


def test_a_window_that_begins_before_now_leaves_no_gap_before_it(session):
    # Its time for cleaning is over.
    booking.enrol(session, 'one')
    (candidate,) = find(session, (-1, 2))
    assert candidate.gap_before == datetime.timedelta(0)


def test_a_candidate_has_the_generation_that_bookings_change(session):
    host = booking.enrol(session, 'one')
    session.execute(
        sa.update(models.Resource)
        .where(models.Resource.id == host)
        .values(generation=41)
    )
    (candidate,) = find(session, (1, 2))
    assert candidate.resource.id == host
    assert candidate.generation == 41


def test_the_nearest_neighbours_are_found_wherever_they_are(session):
    hosts = [booking.enrol(session, f'{n:02}', spread=n) for n in range(60)]
    booking.book(session, hosts[40], 1, 5)
    booking.book(session, hosts[41], 9, 10)
    booking.book(session, hosts[42], 1, 5)
    booking.book(session, hosts[42], 6, 9)
    found = find(session, (5, 9), page=1)
    assert names(found) == ['00', '01', '40', '41']


@pytest.mark.parametrize(
    ('start_at', 'expected'),
    [(0, ['a', 'b', 'c']), (15, ['b', 'c', 'd']), (35, ['a', 'b', 'd'])],
)
def test_the_rest_is_taken_from_the_start_on_and_around(
    session, start_at, expected
):
    for spread, name in enumerate('abcd', start=1):
        booking.enrol(session, name, spread=spread * 10)
    found = find(session, (1, 2), page=2, start_at=start_at)
    assert names(found) == expected


def test_at_least_as_many_as_wanted_are_found(session):
    for number in range(9):
        booking.enrol(session, str(number))
    demand = booking.wanted(2, 7)
    assert len(find(session, (1, 2), demand=demand, page=0)) == 7


def test_kept_hosts_are_found_as_long_as_they_are_free(session):
    hosts = [booking.enrol(session, name, spread=9) for name in 'abcd']
    booking.book(session, hosts[3], 1, 2)
    found = find(session, (1, 2), page=0, keep=hosts[2:])
    assert {one.resource.name: one.kept for one in found} == {
        'a': 0,
        'c': 1,
    }


def test_kept_hosts_need_not_meet_requirements_unless_asked(session):
    old = booking.enrol(session, 'old', vcpus=8)
    booking.enrol(session, 'new', vcpus=16)
    demand = booking.wanted(asked='[">", "$vcpus", "8"]')
    found = find(session, (1, 2), demand, keep=[old], recheck=False)
    assert names(found) == ['new', 'old']
    assert names(find(session, (1, 2), demand, keep=[old])) == ['new']


def test_a_shortage_counts_what_matches_and_is_taken(session):
    small = booking.enrol(session, 'small', vcpus=8)
    hosts = [booking.enrol(session, f'large {n}', vcpus=32) for n in range(5)]
    booking.enrol(session, 'being enrolled', vcpus=32, reservable=False)
    booking.book(session, small, 1, 2)
    booking.book(session, hosts[0], 3, 5)
    booking.book(session, hosts[1], 8, 9)
    mine = booking.book(session, hosts[2], 3, 5)
    asked = booking.wanted(4, asked='[">", "$vcpus", "8"]')
    window = (1, 6)
    assert shortage(session, asked, window) == candidates.RefusalCounts(
        matching=5, taken=2, down=0
    )
    assert shortage(session, asked, window, ignore=[mine]).taken == 1
    assert shortage(
        session, booking.wanted(7), window
    ) == candidates.RefusalCounts(matching=6, taken=3, down=0)


def test_properties_that_no_host_has_had_are_told(any_database):
    with any_database.writer() as session:
        booking.enrol(session, 'one', properties={'gpu': 'A100'})
        asked = booking.wanted(
            asked='["and", ["==", "$gpu", "A100"], ["==", "$GPU", "A100"], '
            '["==", "$gpu ", "A100"], [">", "$vcpus", "1"], '
            '["==", "$a", "1"]]'
        )
        unknown = candidates.unknown_keys(session, asked)
        assert unknown == ['GPU', 'a', 'gpu ']
        assert candidates.unknown_keys(session, booking.wanted()) == []
