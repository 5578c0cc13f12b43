# SPDX-License-Identifier: Apache-2.0
"""Limits of projects, and of all leases."""

import datetime

import pytest
import sqlalchemy as sa

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations.db import models
from nova_reservations.engine.booking import lease_requests
from nova_reservations.objects import limits
from nova_reservations.objects import states
from nova_reservations.testing import addresses
from nova_reservations.testing.region import minutes
from nova_reservations.tests.functional.engine import pools
from nova_reservations.tests.functional.engine import test_lease_offers
from nova_reservations.tests.functional.engine import test_replanning
from nova_reservations.tests.functional.engine import test_series

DAY = 24 * 60


@pytest.fixture
def limited(make_region):
    """Makes regions with four hosts, and limits of the project ``lessee``."""

    def make(*, terms=None, **most):
        region = make_region('one', 'two', 'three', 'four', **(terms or {}))
        limit(region, **most)
        return region

    return make


def limit(region, **most):
    known = {'lessee': limits.Limits(**most)}
    region.leases.limits.source = lambda project: known.get(
        project, limits.Limits()
    )


def refused(said):
    return pytest.raises(exception.OverLimit, match=said)


def leases_of(region):
    with region.database.reader() as session:
        return session.scalar(
            sa.select(sa.func.count()).select_from(models.Lease)
        )


# What a project holds


@pytest.fixture
def mixed(make_region):
    """Four addresses, and two pools with six GiB."""
    region = make_region(
        'one',
        types={**addresses.TYPES, pools.POOL: pools.Pool},
        monitors=addresses.MONITORS,
    )
    addresses.enrol(region, 101, 102, 103, 104)
    for name in 'ab':
        region.resources.add(pools.POOL, name, region.now, {pools.GIB: 6})
    return region


def gib(size, count=1):
    return pools.POOL, {'size': size, 'count': count}


def test_resources_of_any_type_count_at_any_instant(mixed):
    limit(mixed, resources={'virtual:floatingip': 2})
    mixed.lease_of(addresses.asked(2), start=0, end=60)
    with refused('4 floating IPs at 2030-01-01 12:30, 2 allowed for this pro'):
        mixed.lease_of(addresses.asked(2), start=30, end=90)
    mixed.lease_of(addresses.asked(2), start=60, end=120)
    mixed.lease_of(gib(1), (objects.HOST, {'min': 1, 'max': 1}))
    mixed.lease_of(addresses.asked(2), start=0, end=60, project='other')


def test_reservations_of_one_lease_count_together(mixed):
    limit(mixed, resources={'virtual:floatingip': 2})
    with refused('3 floating IPs'):
        mixed.lease_of(addresses.asked(1), addresses.asked(2))


def test_amounts_count_in_units_of_their_class(mixed):
    limit(mixed, resources={'test:pool/STORAGE_GB': 5})
    mixed.lease_of(gib(1, count=2), start=30, end=90)
    with refused('6 STORAGE_GB of test:pool at 2030-01-01 12:30, 5 allowed'):
        mixed.lease_of(gib(4))
    mixed.lease_of(gib(3))


def test_a_whole_counts_with_all_that_is_in_it(mixed):
    """A whole pool counts with all its units; hosts count as hosts and slots
    alone."""
    limit(mixed, resources={'test:pool/STORAGE_GB': 9})
    mixed.lease_of((pools.POOL, {}), start=30, end=90)
    with refused('12 STORAGE_GB of test:pool at 2030-01-01 13:00, 9 allowed'):
        mixed.lease_of((pools.POOL, {}), start=60, end=120)
    with refused('10 STORAGE_GB of test:pool at 2030-01-01 12:30, 9 allowed'):
        mixed.lease_of(gib(4), (objects.HOST, {'min': 1, 'max': 1}))
    mixed.lease_of(gib(3), (objects.HOST, {'min': 1, 'max': 1}))
    assert test_lease_offers.offered(mixed, (pools.POOL, {})) == [90]


def test_wholes_count_once_with_however_many_classes(mixed):
    name = 'of many'
    mixed.resources.add(pools.POOL, name, mixed.now, {'A': 1, 'B': 2})
    mixed.resources.add(pools.POOL, 'empty', mixed.now, {})
    mixed.lease_of((pools.POOL, {'count': 4}))
    _, used = mixed.leases.limits.used('lessee', mixed.now)
    assert used.resources == {
        'test:pool': 4,
        'test:pool/STORAGE_GB': 12,
        'test:pool/A': 1,
        'test:pool/B': 2,
    }


def test_wholes_count_by_their_number(mixed):
    limit(mixed, resources={'test:pool': 1})
    mixed.lease_of((pools.POOL, {}))
    with refused('2 test:pool at'):
        mixed.lease_of((pools.POOL, {}))
    mixed.lease_of(gib(6))


def test_a_reservation_of_any_type_is_not_enlarged_beyond_the_limit(mixed):
    limit(mixed, resources={'virtual:floatingip': 2})
    lease = mixed.lease_of(addresses.asked(2), start=5)
    with refused('3 floating IPs'):
        mixed.change(lease, amount=3)
    mixed.change(lease, amount=1)
    assert len(mixed.hosts_of(lease)) == 1


def test_use_of_any_type_is_told(mixed):
    limit(mixed, resources={'virtual:floatingip': 2})
    mixed.lease_of(addresses.asked(1), gib(2, count=3), start=5)
    mixed.lease_of((pools.POOL, {}), start=120, end=180)
    known, used = mixed.leases.limits.used('lessee', mixed.now)
    assert known.resources == {'virtual:floatingip': 2}
    assert used.resources == {
        'virtual:floatingip': 1,
        'test:pool': 1,
        'test:pool/STORAGE_GB': 6,
    }
    assert (used.hosts, used.slots) == (0, 0)


def test_a_lease_too_many_is_refused_and_leaves_nothing(limited):
    region = limited(leases=2)
    region.lease(start=60, end=120)
    region.lease(start=60, end=120)
    with refused('^Over the limit: 3 leases, 2 allowed for this project$'):
        region.lease(start=60, end=120)
    assert leases_of(region) == 2


def test_leases_of_other_projects_do_not_count(limited):
    region = limited(leases=1, hosts=1)
    region.lease()
    region.lease(project='other')


def test_leases_that_are_over_do_not_count(limited):
    region = limited(leases=1, hosts=1)
    region.lease(end=10)
    region.forward(until=20)
    region.lease()


def test_hosts_count_at_any_instant(limited):
    region = limited(hosts=3)
    region.lease(start=0, end=60, minimum=2)
    region.lease(start=60, end=120, minimum=2)
    region.lease(start=30, end=90)
    with refused('4 hosts at 2030-01-01 12:30, 3 allowed for this project'):
        region.lease(start=30, end=90)
    region.lease(start=120, end=180, minimum=3)


def test_host_hours_count_from_now_on(limited):
    region = limited(host_hours=4)
    region.lease(start=0, end=120, minimum=2)
    with refused('5 host hours from now on, 4 allowed for this project'):
        region.lease(start=180, end=240)
    region.forward(until=60)
    region.lease(start=120, end=240)


def test_a_lease_is_not_prolonged_beyond_the_limit(limited):
    region = limited(hosts=2)
    region.lease(start=60, end=120, minimum=1)
    lease = region.lease(start=0, end=60, minimum=2)
    with refused('3 hosts at 2030-01-01 13:00, 2 allowed'):
        region.change(lease, end=90)
    assert region.see(lease).end_date == region.now + minutes(60)


def test_a_lease_is_not_enlarged_beyond_the_limit(limited):
    region = limited(hosts=2)
    lease = region.lease(minimum=2)
    with refused('3 hosts at'):
        region.change(lease, min=3, max=3)
    assert len(region.hosts_of(lease)) == 2


def test_a_project_that_has_too_much_may_give_back(limited, make_region):
    region = limited()
    lease = region.lease(start=60, end=240, minimum=4)
    limit(region, leases=0, hosts=2, host_hours=1)
    region.change(lease, end=180)
    region.change(lease, min=3, max=3)
    with refused('4 hosts'):
        region.change(lease, min=4, max=4)
    region.change(lease, name='renamed')
    region.delete(lease)


def test_nothing_is_written_where_nothing_is_limited(region):
    region.change(region.lease(), end=90)
    with region.database.reader() as session:
        assert session.scalars(sa.select(models.Project)).all() == []


def test_bookings_of_a_project_with_limits_are_all_counted(limited):
    region = limited(hosts=3)
    lease = region.lease(start=60, end=120)
    region.lease(project='other')
    region.change(lease, end=90)
    region.change(lease, name='renamed')
    with region.database.reader() as session:
        [counted] = session.scalars(sa.select(models.Project)).all()
    assert (counted.project_id, counted.generation) == ('lessee', 2)


def test_healing_is_never_refused(limited):
    region = limited(hosts=1)
    lease = region.active_lease()
    limit(region, hosts=0)
    [failed] = region.hosts_of(lease)
    region.cloud.fail(failed)
    region.look()
    assert len(region.hosts_of(lease) - {failed}) == 1


def test_a_promise_that_moves_for_others_is_never_refused(make_region):
    region = make_region('one', 'two')
    promised = [
        test_replanning.put_on(region, 'one', 60, 90),
        test_replanning.put_on(region, 'two', 150, 180),
    ]
    limit(region, leases=0, hosts=0)
    lease = region.lease(end=240, project='other')
    left = {'one', 'two'} - region.hosts_of(lease)
    assert [region.hosts_of(each) for each in promised] == [left, left]


# Leases that wait


def test_a_lease_that_waits_counts(limited):
    region = limited(waiting=1)
    region.lease(minimum=4)
    region.retry()
    with refused('2 leases that wait, 1 allowed for this project'):
        region.retry()


def test_a_lease_does_not_wait_for_more_than_it_may_have(limited):
    region = limited(hosts=2)
    region.lease(minimum=4, project='other')
    with refused('3 hosts'):
        region.retry(minimum=3)


def test_a_lease_that_waits_does_not_get_more_than_its_project_may_have(
    limited,
):
    region = limited(hosts=2)
    region.lease(end=30, minimum=4, project='other')
    one = region.retry(minimum=2, end=300)
    two = region.retry(minimum=2, end=300)
    region.forward(until=31)
    assert region.status(one) == states.Lease.ACTIVE
    assert region.status(two) == states.Lease.CREATING
    assert 'Over the limit: 4 hosts' in region.see(two).status_reason
    region.delete(one)
    region.forward(until=40)
    assert region.status(two) == states.Lease.ACTIVE


def test_a_project_at_its_limit_keeps_nothing_from_those_behind(limited):
    region = limited(hosts=2)
    region.lease(end=30, minimum=4, project='other')
    region.retry(minimum=2, end=300)
    region.retry(minimum=2, end=300)
    behind = region.retry(minimum=2, end=300, project='third')
    region.forward(until=31)
    assert region.status(behind) == states.Lease.ACTIVE


def test_a_lease_that_waits_is_not_asked_for_more_than_it_may_have(limited):
    region = limited(hosts=2)
    region.lease(end=30, minimum=4, project='other')
    lease = region.retry(minimum=2, end=300)
    with refused('3 hosts'):
        region.change(lease, min=3, max=3)


def test_a_dry_run_is_refused_as_well_and_leaves_nothing(limited):
    region = limited(hosts=2)
    asked = new_lease(region, minimum=3)
    with refused('3 hosts'):
        region.leases.create(asked, region.now, dry_run=True)
    with region.database.reader() as session:
        assert session.scalars(sa.select(models.Project)).all() == []


def test_leases_of_a_series_are_all_compared_with_the_limit(limited):
    region = limited(hosts=1)
    region.lease(start=2 * DAY, end=2 * DAY + 60)
    with refused('2 hosts at 2030-01-03 12:30, 1 allowed'):
        test_series.create(region, 30, 90)
    test_series.create(region, 60, 120)


# Offers, and the times of refusals


def new_lease(region, minimum=1, start=0, end=60, **more):
    return lease_requests.NewLease(
        name='a lease',
        project_id='lessee',
        user_id='user',
        start=region.now + minutes(start),
        end=region.now + minutes(end),
        before_end=None,
        reservations=(
            lease_requests.NewReservation(
                objects.HOST, {'min': minimum, 'max': minimum}
            ),
        ),
        **more,
    )


def test_windows_beyond_the_limit_are_not_offered(limited):
    region = limited(hosts=2)
    region.lease(start=0, end=60)
    region.lease(start=0, end=30)
    region.lease(start=90, end=120, minimum=2)
    offered = test_lease_offers.offered(
        region, test_lease_offers.HOST, length=30
    )
    assert offered == [30, 60, 120]


def test_nothing_is_offered_to_who_may_have_no_more_leases(limited):
    region = limited(leases=1)
    region.lease()
    with refused('2 leases, 1 allowed'):
        test_lease_offers.offered(region, test_lease_offers.HOST)


def test_a_refusal_tells_a_start_that_is_allowed(limited):
    region = limited(hosts=2)
    region.lease(start=0, end=60, minimum=4, project='other')
    region.lease(start=60, end=120)
    with pytest.raises(exception.NotEnoughResources) as refusal:
        region.lease(minimum=2)
    assert refusal.value.values['earliest_start'] == (
        region.now + minutes(120)
    )


def test_a_refusal_tells_an_end_that_is_allowed(limited):
    region = limited(hosts=2)
    lease = region.lease(start=0, end=60, minimum=2)
    region.lease(start=120, end=180)
    region.lease(start=150, end=240, minimum=3, project='other')
    with pytest.raises(exception.NotEnoughResources) as refusal:
        region.change(lease, end=200)
    assert refusal.value.values['latest_end'] == region.now + minutes(120)


# Terms of all leases


def terms(**hours):
    return {
        name: datetime.timedelta(hours=value) for name, value in hours.items()
    }


def test_a_lease_lasts_no_longer_than_is_allowed(limited):
    region = limited(terms=terms(max_lease_duration=2))
    with refused('a duration of 3 hours, 2 hours allowed for this project'):
        region.lease(end=180)
    lease = region.lease(end=120)
    with refused('a duration of 150 minutes, 2 hours'):
        region.change(lease, end=150)
    region.change(lease, end=60)


def test_an_exempt_project_has_leases_of_any_duration(limited):
    region = limited(
        terms={
            **terms(max_lease_duration=2, reservation_extension_window=1),
            'max_lease_duration_exempt_project_ids': frozenset({'lessee'}),
        }
    )
    lease = region.active_lease(end=300)
    region.change(lease, end=600)


def test_a_lease_is_prolonged_only_shortly_before_its_end(limited):
    region = limited(
        terms=terms(max_lease_duration=2, reservation_extension_window=0.5)
    )
    lease = region.active_lease(end=120)
    with refused(
        'the lease can be prolonged from 2030-01-01 13:30 on, 30 minutes '
        'before its end'
    ):
        region.change(lease, end=150)
    region.forward(until=90)
    with refused('a duration of 121 minutes, 2 hours'):
        region.change(lease, end=151)
    region.change(lease, end=150)


def test_a_lease_that_was_shortened_is_not_prolonged_any_sooner(limited):
    region = limited(
        terms=terms(max_lease_duration=2, reservation_extension_window=0.5)
    )
    lease = region.active_lease(end=120)
    region.change(lease, end=40)
    region.forward(until=30)
    for end in (11, 120):
        with refused(
            'the lease can be prolonged from 2030-01-01 13:30 on, 30 minutes '
            'before the latest end that it has had'
        ):
            region.change(lease, end=end)
    region.change(lease, end=5)
    with refused('the lease can be prolonged from 2030-01-01 13:30 on'):
        region.change(lease, end=10)


def test_the_latest_end_is_that_to_which_a_lease_was_prolonged(limited):
    region = limited(
        terms=terms(max_lease_duration=2, reservation_extension_window=0.5)
    )
    lease = region.active_lease(end=120)
    region.forward(until=90)
    region.change(lease, end=10)
    with refused('a duration of 121 minutes, 2 hours'):
        region.change(lease, end=151)
    region.change(lease, end=150)
    region.change(lease, end=110)
    with refused('the lease can be prolonged from 2030-01-01 15:30 on'):
        region.change(lease, end=111)


def test_ends_before_the_start_of_a_lease_do_not_count(limited):
    region = limited(
        terms=terms(max_lease_duration=2, reservation_extension_window=0.5)
    )
    lease = region.lease(start=60, end=180)
    region.change(lease, start=0, end=20)
    region.work()
    region.change(lease, end=60)


def test_a_lease_starts_no_later_than_is_allowed(limited):
    region = limited(terms=terms(max_start_ahead=24))
    with refused(
        'a start at 2030-01-02 12:01, 2030-01-02 12:00 is the last that is '
        'allowed now, 1 day ahead'
    ):
        region.lease(start=DAY + 1, end=DAY + 60)
    lease = region.lease(start=DAY, end=DAY + 60)
    with refused('a start at'):
        region.change(lease, start=DAY + 30, end=DAY + 60)


def test_the_lease_that_a_server_gets_by_default_is_not_limited(limited):
    region = limited(leases=0, hosts=0, terms=terms(max_lease_duration=0.5))
    region.leases.create(new_lease(region, by_default=True), region.now)
    _, used = region.leases.limits.used('lessee', region.now)
    assert (used.leases, used.hosts, used.host_hours) == (0, 0, 0)
