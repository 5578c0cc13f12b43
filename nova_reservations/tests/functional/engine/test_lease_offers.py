# SPDX-License-Identifier: Apache-2.0
"""An offer is accepted if it is requested at once, and no lease can start
earlier.
"""

import dataclasses

from hypothesis import given
from hypothesis import strategies as st
import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db.holdings import openings as rows
from nova_reservations.engine.booking import lease_requests
from nova_reservations.engine.leases import lease_offers
from nova_reservations.testing.region import minutes
from nova_reservations.tests.functional.engine import failures
from nova_reservations.tests.functional.engine import test_instances
from nova_reservations.tests.functional.engine import test_openings

HOST = (objects.HOST, {'min': 1, 'max': 1})


def hosts(count):
    return objects.HOST, {'min': count, 'max': count}


def wanted(region, *items, length=60, after=0, before=None, limit=20):
    return lease_offers.OfferQuery(
        project_id='lessee',
        user_id='user',
        reservations=tuple(
            lease_requests.NewReservation(*item) for item in items
        ),
        duration=minutes(length),
        start_after=region.now + minutes(after),
        start_before=None if before is None else region.now + minutes(before),
        limit=limit,
    )


def starts(region, found):
    """Return when the offers start, in minutes from now on."""
    return [
        (window.start - region.now) / minutes(1) for window in found.windows
    ]


def offered(region, *items, **asked):
    found = region.services.offers.find(
        wanted(region, *items, **asked), region.now
    )
    assert not found.truncated
    return starts(region, found)


def test_a_host_that_is_free_is_offered_at_once(region):
    assert offered(region, HOST) == [0]


def test_windows_between_leases_and_after_them_are_offered(region):
    region.lease(start=30, end=60, minimum=3)
    region.lease(start=90, end=120, minimum=2)
    assert offered(region, hosts(2), length=30) == [0, 60, 120]
    assert offered(region, hosts(1), length=31) == [60, 120]


def test_windows_in_which_promises_must_move_are_offered(make_region):
    region = make_region('one', 'two')
    first = region.lease(start=30, end=60, **failures.on('one'))
    region.lease(start=90, end=120, **failures.on('two'))
    assert offered(region, HOST, length=180) == [60, 120]
    region.delete(first)
    region.lease(start=30, end=60)
    assert offered(region, HOST, length=180)[0] == 0


def test_an_offer_lasts_as_long_as_is_wanted(region):
    found = region.services.offers.find(
        wanted(region, HOST, length=90), region.now
    )
    [window] = found.windows
    assert window.end - window.start == minutes(90)


def test_offers_are_as_many_as_are_wanted_between_the_times(region):
    for start in range(0, 100, 20):
        region.lease(start=start, end=start + 10, minimum=3)
    everything = offered(region, HOST, length=10)
    assert everything == [10, 30, 50, 70, 90]
    assert offered(region, HOST, length=10, limit=2) == [10, 30]
    assert offered(region, HOST, length=10, after=31, before=70) == [50, 70]
    assert offered(region, HOST, length=10, after=25, before=29) == []


def test_more_than_there_is_is_never_offered(region):
    assert offered(region, hosts(4)) == []


def test_an_offer_is_for_all_reservations_together(region):
    region.lease(end=60, minimum=2)
    region.lease(end=90)
    assert offered(region, HOST, HOST) == [60, 90]
    assert offered(region, HOST, HOST, HOST) == [90]


def test_hosts_and_slots_are_offered_together(make_region):
    region = make_region('one', 'two', types=test_instances.TYPES)
    region.lease(end=60)
    item = test_instances.slots(8)
    assert offered(region, HOST, item) == [60]
    assert offered(region, item, after=1) == [1, 60]


def test_nothing_is_written_and_nobody_is_told(region):
    region.lease(end=60, minimum=3)
    before, told = region.picture(), list(region.notes)
    offered(region, HOST)
    assert (region.picture(), region.notes) == (before, told)


@pytest.mark.parametrize(
    ('asked', 'reason'),
    [
        ({'after': -10}, 'Start date must be later'),
        ({'length': 0}, 'End date must be later'),
        ({'after': 10, 'before': 9}, 'start_before must not be earlier'),
        ({'items': [HOST] * 5}, 'at most 4 reservations'),
        ({'items': [('nothing', {})]}, 'not supported'),
    ],
)
def test_a_search_that_makes_no_sense_is_refused(region, asked, reason):
    items = asked.pop('items', [HOST])
    with pytest.raises(exception.InvalidInput, match=reason):
        offered(region, *items, **asked)


def test_no_more_time_is_taken_than_a_second(region):
    for start in range(0, 100, 20):
        region.lease(start=start, end=start + 10, minimum=3)
    spent = iter(range(100))
    region.services.offers.cpu = lambda: next(spent) * 0.25
    found = region.services.offers.find(
        wanted(region, HOST, length=10), region.now
    )
    assert starts(region, found) == [10, 30]
    assert found.truncated


def test_an_answer_says_if_not_all_was_looked_at(region, monkeypatch):
    for start in range(0, 100, 20):
        region.lease(start=start, end=start + 10)
    monkeypatch.setattr(rows.held, '__defaults__', (4,))
    asked = wanted(region, hosts(3), length=10)
    found = region.services.offers.find(asked, region.now)
    assert starts(region, found) == [10, 30, 50]
    assert found.truncated
    found = region.services.offers.find(
        dataclasses.replace(asked, start_before=region.now + minutes(40)),
        region.now,
    )
    assert not found.truncated


@given(
    st.lists(test_openings.spans(24), max_size=6),
    test_openings.spans(24),
    st.integers(0, 3),
)
def test_offers_are_accepted_and_no_lease_is_before_the_first(
    tmp_path_factory, booked, asked, cleaning
):
    region = test_openings.region_with(tmp_path_factory, booked, cleaning)
    # The search is not cut short on a slow machine.
    region.services.offers.cpu = lambda: 0
    after, length, count = asked
    found = offered(region, hosts(count), length=length, after=after)

    def is_accepted(start):
        try:
            region.leases.create(
                lease_requests.NewLease(
                    name='a lease',
                    project_id='lessee',
                    user_id='user',
                    start=region.now + minutes(start),
                    end=region.now + minutes(start + length),
                    before_end=None,
                    reservations=(
                        lease_requests.NewReservation(*hosts(count)),
                    ),
                ),
                region.now,
                dry_run=True,
            )
        except exception.NotEnoughResources:
            return False
        return True

    assert found
    assert all(map(is_accepted, found))
    assert not any(map(is_accepted, range(after, int(found[0]))))
    region.close()
