# SPDX-License-Identifier: Apache-2.0
"""Refusals are remembered, and what more hosts would have granted is
counted.
"""

import datetime

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.engine.outlook import refused_demand
from nova_reservations.engine.outlook import replay
from nova_reservations.objects import refusal as refusals
from nova_reservations.objects import states
from nova_reservations.testing import region as regions
from nova_reservations.testing.region import minutes
from nova_reservations.tests.functional.engine import test_shares

ALL = refusals.RefusalQuery()


@pytest.fixture
def region(make_region):
    return make_region('one', 'two', types=test_shares.TYPES)


def refuse(region, *items, **window):
    items = items or (test_shares.whole(3),)
    with pytest.raises(exception.NotEnoughResources):
        region.lease_of(*items, **window)


def remembered(region, **query):
    return region.services.demand.find(refusals.RefusalQuery(**query))


def test_a_refusal_is_remembered_with_what_was_asked_for(region):
    refuse(region, start=10, end=70)
    [refusal] = remembered(region)
    assert refusal.project_id == 'lessee'
    assert refusal.kind == objects.HOST
    assert refusal.asked_at == region.now
    assert (refusal.start, refusal.end) == (
        region.now + minutes(10),
        region.now + minutes(70),
    )
    [part] = refusal.parts
    assert (part.params['min'], part.params['max']) == (3, 3)


def test_the_same_ask_of_a_project_is_remembered_once_a_day(region):
    for start in (0, 0, 30):
        refuse(region, start=start, end=start + 60)
    assert len(remembered(region)) == 1
    refuse(region, end=90)
    refuse(region, project='others')
    assert len(remembered(region)) == 3
    region.now += datetime.timedelta(days=1)
    refuse(region)
    assert len(remembered(region)) == 4


def test_no_more_of_a_day_than_a_project_may_fill(region, monkeypatch):
    monkeypatch.setattr(refused_demand, 'MOST', 2)
    for end in (10, 20, 30, 40):
        refuse(region, end=end)
    assert len(remembered(region)) == 2
    refuse(region, project='others')
    assert len(remembered(region)) == 3


def test_an_ask_that_is_too_long_is_not_remembered(region):
    long = ', '.join(f'["!=", "$hypervisor_type", "{n}"]' for n in range(200))
    item = {'min': 3, 'max': 3, 'hypervisor_properties': f'["and", {long}]'}
    refuse(region, (objects.HOST, item))
    assert remembered(region) == []


def test_offers_dry_runs_and_leases_that_wait_are_no_demand(region):
    kind, item = test_shares.whole(3)
    region.retry(3)
    region.work()
    region.now += minutes(5)
    region.work()
    asked = regions.lease_requests.NewLease(
        'a lease',
        'lessee',
        'user',
        region.now,
        region.now + minutes(60),
        None,
        (regions.lease_requests.NewReservation(kind, item),),
    )
    with pytest.raises(exception.NotEnoughResources):
        region.leases.create(asked, region.now, dry_run=True)
    assert remembered(region) == []


def test_a_refused_best_effort_lease_is_demand(region):
    refuse(region, lease_type=states.LeaseType.BEST_EFFORT)
    assert len(remembered(region)) == 1


def test_the_reason_of_a_refusal_is_told_though_it_is_not_remembered(
    region, monkeypatch
):
    def fail(*_):
        raise exception.DatabaseUnavailable(reason='it is full')

    monkeypatch.setattr(refused_demand.refused_leases, 'insert', fail)
    refuse(region)
    assert remembered(region) == []


def test_refusals_are_found_by_time_and_project_in_pages(region):
    for end in (10, 20, 30):
        refuse(region, end=end)
        region.now += minutes(1)
    refuse(region, project='others')
    everything = remembered(region)
    first = remembered(region, limit=2)
    rest = remembered(region, limit=2, marker=first[-1].id)
    assert first + rest == everything
    assert remembered(region, project_id='others') == everything[3:]
    assert remembered(region, start=region.now) == everything[3:]
    assert remembered(region, end=region.now) == everything[:3]


def test_old_refusals_are_forgotten(region, monkeypatch):
    monkeypatch.setattr(refused_demand, 'BATCH', 1)
    refuse(region, end=10)
    refuse(region, end=20)
    region.now += region.options.demand_history
    refuse(region)
    region.now += minutes(1)
    region.services.demand.forget(region.now)
    [left] = remembered(region)
    assert left.asked_at == region.now - minutes(1)


def tried(region, more, like=None):
    run = replay.Replay(region.database, region.types, region.options)
    return [each.accepted for each in run.run(ALL, more, like, region.now)]


class TestMoreHosts:
    def test_more_hosts_are_for_the_lease_that_was_asked_for_first(
        self, region
    ):
        region.lease(0, 60, 2)
        refuse(region, test_shares.whole(1), end=60)
        refuse(region, test_shares.whole(2), end=60)
        assert tried(region, 0) == [False, False]
        assert tried(region, 1) == [True, False]
        assert tried(region, 3) == [True, True]

    def test_a_booked_lease_stays_booked_but_moves(self, region):
        region.lease(0, 30, 1)
        region.lease(30, 60, 1)
        region.lease(0, 60, 1)
        refuse(region, test_shares.whole(1), end=60)
        assert tried(region, 0) == [False]
        assert tried(region, 1) == [True]

    def test_more_hosts_are_like_another_host(self, region):
        one, two = region.hosts.find(objects.HostQuery())
        region.hosts.update(one.id, {'gpu': 'yes'}, region.now)
        asked = {
            'min': 2,
            'max': 2,
            'resource_properties': '["==", "$gpu", "yes"]',
        }
        refuse(region, (objects.HOST, asked))
        assert tried(region, 5, two.id) == [False]
        assert tried(region, 1, one.id) == [True]

    def test_slots_find_room_beside_slots(self, region):
        full = region.hosts.find(objects.HostQuery())[0].facts
        [vcpus] = [
            each.capacity
            for each in full.inventories
            if each.resource_class == 'VCPU'
        ]
        region.lease_of(test_shares.share(1, 1, 1), end=60)
        refuse(region, test_shares.share(3, vcpus - 1, 1), end=60)
        assert tried(region, 0) == [False]
        assert tried(region, 1) == [True]
        refuse(region, test_shares.whole(2), end=60)
        assert tried(region, 1) == [True, False]
        assert tried(region, 3) == [True, True]

    def test_a_type_that_is_not_known_any_more_is_told(self, region):
        refuse(region, test_shares.share(1, 10_000, 1))
        region.types.pop(test_shares.SHARE)
        assert tried(region, 1) == [None]

    def test_a_host_that_is_not_for_new_leases_is_no_example(self, region):
        region.lease(0, 60, 2)
        refuse(region, test_shares.whole(1), end=60)
        with pytest.raises(exception.InvalidInput, match='another one'):
            tried(region, 1, 77)
