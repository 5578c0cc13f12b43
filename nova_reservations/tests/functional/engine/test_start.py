# SPDX-License-Identifier: Apache-2.0
import datetime
import logging

import pytest
import sqlalchemy as sa

from nova_reservations import exception
from nova_reservations.db import models
from nova_reservations.db.leases import leases
from nova_reservations.engine import claimed_leases
from nova_reservations.engine import steps
from nova_reservations.testing.region import minutes
from nova_reservations.testing.region import NOON
from nova_reservations.testing.steps import Steps

pytestmark = pytest.mark.usefixtures('long_waits')

SECOND = datetime.timedelta(seconds=1)


REFUSED = exception.CloudRefused(what='add host', reason='two is unknown')
UNREACHABLE = exception.CloudUnavailable(service='Nova', reason='no route')


def run_alone(region, lease):
    """Have a worker claim and run this lease before any other due lease."""
    lease = region.see(lease)
    with region.database.writer() as session:
        assert leases.claim(
            session,
            lease.id,
            lease.attempt,
            'w',
            region.now,
            until=region.now + minutes(1),
        )
    region.worker().runner.run(
        claimed_leases.Claim(lease.id, lease.attempt + 1, 'w')
    )


def states_of_events(lease):
    return {event.event_type: str(event.status) for event in lease.events}


def test_a_lease_for_now_is_active_at_the_first_look(region):
    lease = region.lease(minimum=2, end=120)
    region.work()
    lease = region.see(lease)
    assert lease.status == 'ACTIVE'
    assert region.aggregate_of(lease) == region.hosts_of(lease)
    assert len(region.hosts_of(lease)) == 2
    assert [str(item.status) for item in lease.reservations] == ['active']
    assert states_of_events(lease) == {
        'start_lease': 'DONE',
        'before_end_lease': 'UNDONE',
        'end_lease': 'UNDONE',
    }


def test_a_lease_without_reservations_starts_and_ends(region):
    lease = region.lease_of(start=5)
    region.forward(until=5)
    assert region.status(lease) == 'ACTIVE'
    region.forward(until=60)
    assert region.status(lease) == 'TERMINATED'


def test_a_lease_for_later_starts_at_its_second_and_not_before(region):
    lease = region.lease(start=30)
    region.forward(until=29)
    region.now = NOON + minutes(30) - SECOND
    region.work()
    assert region.status(lease) == 'PENDING'
    region.now += SECOND
    region.work()
    assert region.status(lease) == 'ACTIVE'


def test_the_aggregate_of_a_lease_is_made_ready_ten_minutes_ahead(region):
    lease = region.lease(start=30)
    region.now = NOON + minutes(20) - SECOND
    region.work()
    assert region.aggregate_of(lease) is None
    region.now += SECOND
    region.work()
    assert region.aggregate_of(lease) == region.hosts_of(lease)
    assert region.status(lease) == 'PENDING'


def test_nothing_is_made_ready_ahead_if_the_operator_says_so(make_region):
    region = make_region('one', prepare_ahead=minutes(0))
    lease = region.lease(start=30)
    region.now = NOON + minutes(30) - SECOND
    region.work()
    assert region.aggregate_of(lease) is None
    region.forward(until=30)
    assert region.status(lease) == 'ACTIVE'


def test_a_prepared_start_is_one_record_and_no_write_to_the_cloud(region):
    region.lease(start=5, end=200)
    region.forward(until=4)
    region.now = NOON + minutes(5)
    with Steps(region) as steps:
        region.work()
    # One write claims the lease, and one records the start.
    assert steps.taken == ['record'] * 2


def test_prepared_leases_of_one_second_start_in_one_record(region):
    leases = [region.lease(start=5, end=200) for _ in range(3)]
    region.forward(until=4)
    region.now = NOON + minutes(5)
    with Steps(region) as steps:
        region.work()
    assert steps.taken == ['record'] * 2
    assert [region.status(lease) for lease in leases] == ['ACTIVE'] * 3
    for lease in leases:
        lease = region.see(lease)
        assert [str(item.status) for item in lease.reservations] == ['active']
        assert states_of_events(lease)['start_lease'] == 'DONE'
        assert lease.claimed_by is None
        assert region.told(lease).count('event.start_lease') == 1


def test_a_lease_that_is_not_as_it_was_prepared_holds_up_no_others(region):
    leases = [region.lease(start=5, end=200) for _ in range(3)]
    region.forward(until=4)
    region.aggregate_of(leases[0]).clear()
    region.fails('add host', UNREACHABLE, times=3)
    region.now = NOON + minutes(5)
    region.work()
    assert [region.status(lease) for lease in leases] == [
        'STARTING',
        'ACTIVE',
        'ACTIVE',
    ]
    region.forward(until=6)
    assert region.status(leases[0]) == 'ACTIVE'
    assert region.aggregate_of(leases[0]) == region.hosts_of(leases[0])


def test_a_lease_of_a_type_that_was_switched_off_holds_up_no_others(region):
    leases = [region.lease(start=5, end=200) for _ in range(3)]
    region.forward(until=4)
    with region.database.writer() as session:
        session.execute(
            sa.update(models.Reservation)
            .where(models.Reservation.lease_id == leases[1].id)
            .values(resource_type='switched off')
        )
    region.now = NOON + minutes(5)
    region.work()
    assert [region.status(lease) for lease in leases] == [
        'ACTIVE',
        'STARTING',
        'ACTIVE',
    ]


def test_a_lease_that_is_deleted_meanwhile_holds_up_no_others(region):
    leases = [region.lease(start=5, end=200) for _ in range(3)]
    region.forward(until=4)
    region.now = NOON + minutes(5)
    made = []

    def delete_before_the_start_is_recorded(step):
        made.append(step)
        if len(made) == 2:
            region.delete(leases[1])

    region.database.before = delete_before_the_start_is_recorded
    region.work()
    assert region.status(leases[0]) == 'ACTIVE'
    assert region.status(leases[2]) == 'ACTIVE'
    assert 'event.start_lease' not in region.told(leases[1])
    with pytest.raises(exception.NotFound):
        region.see(leases[1])


def test_a_start_mends_what_was_prepared_and_then_changed(region):
    lease = region.lease(start=5, minimum=2)
    region.forward(until=4)
    region.aggregate_of(lease).pop()
    region.forward(until=5)
    assert region.aggregate_of(lease) == region.hosts_of(lease)
    assert region.status(lease) == 'ACTIVE'


def test_nobody_moves_a_lease_that_is_given_its_resources(region):
    lease = region.lease(start=5, end=60)
    region.forward(until=4)
    region.aggregate_of(lease).clear()
    refused = []

    def move(step):
        if step == 'add host':
            with pytest.raises(exception.InvalidState, match='STARTING'):
                region.change(lease, start=20)
            refused.append(step)

    region.cloud.before = move
    region.forward(until=5)
    assert refused
    assert region.status(lease) == 'ACTIVE'


def test_of_back_to_back_leases_the_end_runs_before_the_start(make_region):
    region = make_region('one')
    first = region.lease(end=60)
    second = region.lease(start=60, end=120, project='another')
    region.forward(until=59)
    server = region.cloud.boot('one', 'lessee')
    region.cloud.slow_servers.add(server)
    region.forward(until=60.2)
    assert region.status(first) == 'TERMINATING'
    assert region.status(second) == 'PENDING'
    assert region.see(second).status_detail == (
        'Waiting for earlier leases to leave one'
    )
    region.cloud.finish_tasks()
    region.forward(until=62)
    assert region.status(first) == 'TERMINATED'
    assert region.status(second) == 'ACTIVE'
    assert region.see(second).status_reason is None


def test_a_lease_that_leaves_a_host_wakes_the_one_that_waits_for_it(
    make_region,
):
    region = make_region('one')
    region.lease(end=60)
    second = region.lease(start=60, end=120, project='another')
    region.forward(until=59)
    server = region.cloud.boot('one', 'lessee')
    region.cloud.slow_servers.add(server)
    region.forward(until=60.2)
    with region.database.writer() as session:
        session.execute(
            sa.update(models.Lease)
            .where(models.Lease.id == second.id)
            .values(due_at=NOON + minutes(90))
        )
    region.cloud.finish_tasks()
    region.forward(until=62)
    assert region.status(second) == 'ACTIVE'


@pytest.mark.parametrize('prepared', [True, False])
def test_the_end_comes_first_also_when_the_start_is_looked_at_first(
    make_region, prepared
):
    region = make_region('one')
    first = region.active_lease(end=60)
    second = region.lease(start=60, end=120)
    if prepared:
        region.forward(until=55)
    region.now = NOON + minutes(60)
    run_alone(region, second)
    assert region.status(first) == 'ACTIVE'
    assert region.status(second) == 'PENDING'
    region.forward(until=61)
    assert region.status(first) == 'TERMINATED'
    assert region.status(second) == 'ACTIVE'


def test_a_refused_start_is_an_error_with_its_reason_and_undone(region):
    lease = region.lease(minimum=3)
    region.fails('add host', REFUSED)
    region.work()
    lease = region.see(lease)
    assert lease.status == 'ERROR'
    assert lease.status_reason == 'add host was refused: two is unknown'
    assert [str(item.status) for item in lease.reservations] == ['error']
    assert states_of_events(lease)['start_lease'] == 'ERROR'
    assert region.aggregate_of(lease) is None
    assert region.hosts_of(lease) == set()
    assert not lease.in_nova
    assert 'event.start_lease' not in region.told(lease)


def test_the_hosts_of_a_refused_start_can_be_leased_again(make_region):
    region = make_region('one')
    region.lease()
    region.fails('add host', REFUSED)
    region.work()
    assert region.hosts_of(region.active_lease()) == {'one'}


def test_a_preparation_that_failed_is_tried_again_at_the_start(region):
    lease = region.lease(start=5)
    region.fails('add host', REFUSED)
    region.work()
    assert region.status(lease) == 'PENDING'
    region.forward(until=5)
    assert region.status(lease) == 'ACTIVE'
    assert region.aggregate_of(lease) == region.hosts_of(lease)


def test_a_start_waits_for_a_cloud_that_does_not_answer(region):
    lease = region.lease()
    region.fails('add host', UNREACHABLE)
    region.work()
    lease = region.see(lease)
    assert lease.status == 'STARTING'
    assert lease.status_reason == 'Nova can not be reached at this moment'
    assert lease.claimed_by is None
    region.forward(until=1)
    lease = region.see(lease)
    assert lease.status == 'ACTIVE'
    assert lease.status_reason is None


def test_the_cause_of_a_wait_is_logged_once_however_long_it_lasts(
    region, caplog
):
    lease = region.lease()
    region.fails('add host', UNREACHABLE, times=100)
    with caplog.at_level(logging.INFO):
        region.forward(until=0.9)
    told = [one for one in caplog.records if 'no route' in one.getMessage()]
    assert [one.levelname for one in told] == ['WARNING']
    assert region.status(lease) == 'STARTING'


def test_a_lease_that_was_prepared_late_has_no_reason_left(region):
    lease = region.lease(start=5)
    region.fails('add host', UNREACHABLE)
    region.work()
    assert region.see(lease).status_reason
    region.forward(until=1)
    assert region.see(lease).status_reason is None


def test_a_lease_that_nobody_started_before_its_end_is_an_error(region):
    lease = region.lease(start=30, end=40)
    region.now = NOON + minutes(41)
    region.work()
    lease = region.see(lease)
    assert lease.status == 'ERROR'
    assert lease.status_reason == (
        'It could not be started before its end: no worker was there'
    )
    assert region.hosts_of(lease) == set()


def test_a_lease_kept_waiting_until_its_end_says_for_what(make_region):
    region = make_region('one')
    region.active_lease(end=60, project='slow')
    second = region.lease(start=60, end=61)
    region.cloud.boot('one', 'somebody else')
    region.forward(until=61.1)
    second = region.see(second)
    assert second.status == 'ERROR'
    assert second.status_detail == (
        'It could not be started before its end: '
        'Waiting for earlier leases to leave one'
    )
    assert region.aggregate_of(second) is None


def test_the_reason_of_a_failed_lease_stays_while_it_is_undone(make_region):
    region = make_region('one')
    lease = region.lease(end=2)
    region.fails('add host', UNREACHABLE, times=100)
    region.forward(until=1)
    region.now = NOON + minutes(2)
    region.fails('delete aggregate', UNREACHABLE)
    region.forward(until=3)
    lease = region.see(lease)
    assert lease.status == 'ERROR'
    assert not lease.in_nova
    assert lease.status_reason == (
        'It could not be started before its end: '
        'Nova can not be reached at this moment'
    )


def test_no_host_is_in_the_aggregates_of_two_active_leases(make_region):
    region = make_region('one')
    first = region.lease(end=60)
    second = region.lease(start=60, end=120)
    region.forward(until=55)
    # The host is prepared for both leases, but only one of them is active.
    assert region.aggregate_of(first) == region.aggregate_of(second)
    assert region.status(second) == 'PENDING'
    region.forward(until=61)
    assert region.aggregate_of(first) is None


def test_every_step_of_a_lease_is_in_the_table(region):
    assert set(region.worker().runner.steps) == set(steps.Step)


def test_a_conflict_that_lasts_has_pauses(region, monkeypatch):
    """It is about other rows than those of the lease, which stays as it is."""
    lease = region.lease()
    tries = []

    def change(*args, **columns):
        tries.append(region.now)
        if len(tries) == 9:
            raise AssertionError('It is tried without a pause')
        raise exception.Conflict(kind='Host', id='one')

    with monkeypatch.context() as lasting:
        lasting.setattr(leases, 'change', change)
        region.work()
        assert len(tries) == 2
        region.forward(until=0.15)
        assert len(tries) == 4
    region.forward(until=0.3)
    assert region.status(lease) == 'ACTIVE'
