# SPDX-License-Identifier: Apache-2.0
"""The metrics that operators watch agree with the region."""

import datetime

import pytest

from nova_reservations import exception
from nova_reservations.db.leases import leases
from nova_reservations.engine import claimed_leases
from nova_reservations.engine.booking import lease_requests
from nova_reservations.testing.region import minutes


def read(region, name, *labels):
    return region.services.metrics.read()[name][labels]


def leave(region, lease, worker):
    """Have a worker claim the lease, and then disappear."""
    seen = region.see(lease)
    with region.database.writer() as session:
        assert leases.claim(
            session,
            lease.id,
            seen.attempt,
            worker,
            region.now,
            region.now + claimed_leases.DURATION,
        )


def test_leases_are_counted_by_their_status(region):
    region.active_lease()
    region.lease(start=10, end=20)
    region.retry(minimum=3)
    region.work()
    assert read(region, 'leases', 'ACTIVE') == 1
    assert read(region, 'leases', 'PENDING') == 1
    assert read(region, 'leases', 'CREATING') == 1
    assert read(region, 'leases_waiting', 'retry') == 1
    assert read(region, 'leases_waiting', 'best_effort') == 0


def test_leases_that_are_over_are_not_counted(region):
    region.active_lease(end=1)
    region.forward(until=2)
    assert not sum(region.services.metrics.read()['leases'].values())


def test_hosts_are_counted_by_the_projects_that_have_them_now(region):
    region.active_lease(minimum=2, end=60, project='large')
    region.active_lease(end=60, project='small')
    region.lease(start=70, end=80, project='later')
    found = region.services.metrics.read()['project_hosts']
    assert found == {('large',): 2, ('small',): 1}


def test_host_seconds_are_those_of_the_record_and_of_this_day(region):
    def hours(project):
        return read(region, 'project_host_seconds_total', project) / 3600

    region.active_lease(minimum=2, end=30, project='large')
    lease = region.active_lease(end=15 * 60, project='small')
    region.now += minutes(45)
    # One lease is past its end, and no worker has looked: it counts until that
    # end.
    assert (hours('large'), hours('small')) == (2 * 0.5, 0.75)
    region.work()
    assert (hours('large'), hours('small')) == (2 * 0.5, 0.75)
    # Midnight was an hour ago.
    region.now += datetime.timedelta(hours=12, minutes=15)
    region.work()
    assert hours('small') == 1
    region.delete(lease)
    region.work()
    assert hours('small') == 1


def test_hosts_are_free_for_as_long_as_no_lease_has_them(region):
    region.lease(start=3 * 1440, end=4 * 1440)
    region.lease(start=20 * 1440, end=21 * 1440, minimum=2)
    found = region.services.metrics.read()['hosts_free']
    assert found == {('1',): 3, ('7',): 2, ('30',): 1}


def test_a_host_that_has_failed_is_told_with_its_lease(region):
    lease = region.active_lease(minimum=3)
    region.cloud.fail('one')
    region.look()
    assert region.see(lease).degraded
    assert read(region, 'leases_degraded') == 1
    assert read(region, 'hosts_held', 'failed') == 1
    assert (read(region, 'hosts'), read(region, 'hosts_bookable')) == (3, 2)


def test_a_lease_that_has_another_host_by_then_lacks_none(region):
    lease = region.active_lease(minimum=2)
    region.cloud.fail(min(region.hosts_of(lease)))
    region.look()
    # The owner has not acknowledged the other host yet.
    assert region.see(lease).degraded
    assert read(region, 'leases_degraded') == 0


def test_where_no_worker_looks_leases_are_overdue(region):
    region.lease(start=10, end=60)
    region.now += minutes(15)
    # The preparation was due ten minutes before the start.
    assert read(region, 'overdue_seconds', 'lease') == 15 * 60
    region.work()
    assert read(region, 'overdue_seconds', 'lease') == 0


def test_a_task_that_nobody_does_is_overdue(region):
    assert read(region, 'overdue_seconds', 'task') == 0
    region.now += datetime.timedelta(hours=1, minutes=2)
    assert read(region, 'overdue_seconds', 'task') == 120


def test_starts_and_ends_are_as_late_as_they_were(region):
    region.lease(start=10, end=30)
    region.forward(until=9)
    region.now += minutes(3)
    # The lease has not started, and counts as late already.
    assert read(region, 'lateness_seconds', 'start', '100') == 120
    region.work()
    for _ in range(2):
        region.active_lease(start=0, end=40)
    assert read(region, 'steps_recent', 'start') == 3
    assert read(region, 'lateness_seconds', 'start', '50') == 0
    assert read(region, 'lateness_seconds', 'start', '100') == 120
    region.now += minutes(19)
    assert read(region, 'lateness_seconds', 'end', '100') == 60
    region.work()
    assert read(region, 'lateness_seconds', 'end', '100') == 60
    region.now += minutes(90)
    assert read(region, 'steps_recent', 'end') == 0


def test_an_end_that_waits_is_told_of_until_it_is_over(region):
    lease = region.active_lease(end=10)
    for host in region.cloud.known:
        region.cloud.boot(host, 'somebody', f'stranger on {host}')
    region.forward(until=10)
    assert region.status(lease) == 'TERMINATING'
    region.now += minutes(5)
    assert read(region, 'longest_end_seconds') == 5 * 60
    region.now += minutes(25)
    region.work()
    assert region.status(lease) == 'ERROR'
    assert read(region, 'leases', 'ERROR') == 1
    assert read(region, 'longest_end_seconds') == 30 * 60
    region.cloud.instances.clear()
    region.now += minutes(2)
    region.work()
    assert region.status(lease) == 'TERMINATED'
    assert read(region, 'leases', 'ERROR') == 0
    assert read(region, 'longest_end_seconds') == 0


def test_refusals_are_counted_by_their_reasons(make_region):
    region = make_region(
        'one', max_lease_duration=datetime.timedelta(minutes=90)
    )
    lease = region.lease()
    for _ in range(2):
        with pytest.raises(exception.NotEnoughResources):
            region.lease()
    with pytest.raises(exception.OverLimit):
        region.lease(start=60, end=180)
    with pytest.raises(exception.OverLimit):
        region.change(lease, end=180)
    assert read(region, 'refusals_total', 'no_room') == 2
    assert read(region, 'refusals_total', 'over_limit') == 2


def test_a_refusal_of_a_plugin_is_counted_as_what_it_is(region, monkeypatch):
    class TooDear(exception.OverLimit):
        pass

    def refuse(*_):
        raise TooDear(reason='the budget is spent')

    monkeypatch.setattr(region.leases.enforcement, 'check_new', refuse)
    with pytest.raises(TooDear):
        region.lease()
    assert read(region, 'refusals_total', 'over_limit') == 1


def test_a_dry_run_that_is_refused_is_not_counted(region):
    lease = region.lease(minimum=3)
    with pytest.raises(exception.NotEnoughResources):
        region.leases.update(
            lease.id,
            lease_requests.LeaseChanges(
                reservations={lease.reservations[0].id: {'max': 4, 'min': 4}}
            ),
            region.now,
            dry_run=True,
        )
    assert read(region, 'refusals_total', 'no_room') == 0


def test_claims_that_are_taken_over_are_counted(region):
    one, two = region.lease(), region.lease()
    leave(region, one, 'a worker that dies')
    region.work()
    assert region.status(two) == 'ACTIVE'
    assert read(region, 'claims_taken_over_total') == 0
    region.now += claimed_leases.DURATION
    region.work()
    assert region.status(one) == 'ACTIVE'
    assert read(region, 'claims_taken_over_total') == 1


def test_a_clock_that_is_wrong_is_told_and_not_refused(region):
    real = region.services.clock._own
    region.services.clock._own = lambda: real() - minutes(5)
    assert read(region, 'clock_difference_seconds') == 300
