# SPDX-License-Identifier: Apache-2.0
import datetime

import pytest

from nova_reservations import exception
from nova_reservations.engine.booking import lease_requests
from nova_reservations.testing.region import minutes
from nova_reservations.testing.region import NOON
from nova_reservations.tests.functional.engine import failures

SECOND = datetime.timedelta(seconds=1)


def refused(region, lease, **changes):
    """Return the refusal of a change; check that nothing has changed."""
    before = region.picture()
    with pytest.raises(exception.ReservationsError) as caught:
        region.change(lease, **changes)
    assert region.picture() == before
    return str(caught.value)


class TestNames:
    def test_a_pending_lease_is_renamed(self, region):
        lease = region.lease(start=30)
        assert region.change(lease, name='new').name == 'new'
        assert region.told(lease) == ['create', 'update']

    def test_a_lease_that_is_over_is_renamed_and_stays_over(self, region):
        lease = region.active_lease()
        region.forward(until=61)
        lease = region.change(lease, name='new')
        assert lease.name == 'new'
        assert lease.status == 'TERMINATED'
        assert lease.due_at is None

    def test_a_lease_that_ends_is_renamed_and_goes_on_ending(self, region):
        lease = region.active_lease()
        (host,) = region.hosts_of(lease)
        region.cloud.slow_servers.add(region.cloud.boot(host, 'lessee'))
        region.forward(until=61)
        region.change(lease, name='new')
        region.cloud.finish_tasks()
        region.forward(until=62)
        assert region.status(lease) == 'TERMINATED'

    def test_a_lease_in_error_is_renamed(self, region):
        lease = region.lease(start=5, end=6)
        region.now = NOON + minutes(7)
        region.work()
        assert region.status(lease) == 'ERROR'
        assert region.change(lease, name='new').name == 'new'


class TestDates:
    def test_a_pending_lease_moves(self, region):
        lease = region.lease(start=30, end=60)
        lease = region.change(lease, start=90, end=120)
        assert lease.start_date == NOON + minutes(90)
        region.forward(until=89)
        assert region.status(lease) == 'PENDING'
        region.forward(until=91)
        assert region.status(lease) == 'ACTIVE'
        region.forward(until=121)
        assert region.status(lease) == 'TERMINATED'

    def test_a_pending_lease_that_moves_to_now_starts(self, region):
        lease = region.lease(start=30, end=60)
        region.change(lease, start=0)
        region.work()
        assert region.status(lease) == 'ACTIVE'

    def test_a_prepared_lease_that_moves_away_waits_anew(self, region):
        lease = region.lease(start=5, end=60)
        region.work()
        region.change(lease, start=40)
        region.forward(until=39)
        assert region.status(lease) == 'PENDING'
        region.forward(until=40)
        assert region.status(lease) == 'ACTIVE'

    def test_a_host_that_a_moved_lease_leaves_is_free(self, make_region):
        region = make_region('one')
        lease = region.lease(start=30, end=60)
        region.change(lease, start=60, end=90)
        region.lease(start=30, end=60)

    def test_a_moved_lease_takes_another_host_if_it_must(self, make_region):
        region = make_region('one', 'two')
        lease = region.lease(start=30, end=60)
        (host,) = region.hosts_of(lease)
        other = region.lease(start=60, end=90, minimum=1)
        # The second lease follows right after the first, on the same host.
        assert region.hosts_of(other) == {host}
        region.change(lease, end=90)
        assert region.hosts_of(lease) == {'one', 'two'} - {host}

    def test_the_host_that_a_prolonged_lease_leaves_goes_to_one_that_waits(
        self, make_region
    ):
        # Otherwise the lease would move for the one that waits.
        region = make_region('one', 'two', replan_limit=0)
        lease = region.lease(start=30, end=60)
        (host,) = region.hosts_of(lease)
        after = region.lease(start=60, end=90)
        assert region.hosts_of(after) == {host}
        waits = region.retry(start=30, end=60, **failures.on(host))
        region.work()
        assert region.status(waits) == 'CREATING'
        region.change(lease, end=90)
        region.work()
        assert region.hosts_of(waits) == {host}

    def test_a_prepared_lease_that_takes_another_host_has_it_made_ready(
        self, make_region
    ):
        region = make_region('one', 'two')
        lease = region.lease(start=5, end=60)
        region.lease(start=60, end=90)
        region.work()
        before = {*region.aggregate_of(lease)}
        region.change(lease, end=90)
        region.work()
        assert region.aggregate_of(lease) == region.hosts_of(lease) != before

    def test_a_started_lease_keeps_its_start(self, region):
        lease = region.active_lease()
        assert refused(region, lease, start=10) == (
            'Cannot modify the start date of already started leases'
        )

    def test_a_start_in_the_past_is_refused(self, region):
        lease = region.lease(start=30)
        assert refused(region, lease, start=-1) == (
            'Start date must be later than current date'
        )

    @pytest.mark.parametrize('end', [-1, 30, 29])
    def test_an_end_before_now_or_the_start_is_refused(self, region, end):
        lease = region.lease(start=30)
        assert refused(region, lease, end=end) == (
            'End date must be later than current and start date'
        )

    @pytest.mark.parametrize('slow', [True, False])
    def test_a_lease_that_is_over_can_only_be_renamed(self, region, slow):
        lease = region.active_lease()
        (host,) = region.hosts_of(lease)
        server = region.cloud.boot(host, 'lessee')
        if slow:
            region.cloud.slow_servers.add(server)
        region.forward(until=61)
        assert refused(region, lease, end=60) == (
            'Terminated leases can only be renamed'
        )

    def test_a_lease_in_error_has_no_dates_to_change(self, region):
        lease = region.lease(start=5, end=6)
        region.now = NOON + minutes(7)
        region.work()
        assert 'is ERROR' in refused(region, lease, end=60)

    def test_the_minute_that_has_begun_is_early_enough(self, region):
        region.now += 40 * SECOND
        lease = region.lease(start=30)
        start = region.now - 40 * SECOND
        region.leases.update(
            lease.id, lease_requests.LeaseChanges(start=start), region.now
        )
        region.work()
        assert region.status(lease) == 'ACTIVE'

    def test_an_active_lease_is_extended(self, region):
        lease = region.active_lease(end=60)
        region.change(lease, end=90)
        region.forward(until=89)
        assert region.status(lease) == 'ACTIVE'
        region.forward(until=91)
        assert region.status(lease) == 'TERMINATED'

    @pytest.mark.parametrize('seconds', [0, 20, 59])
    def test_an_end_in_the_past_does_not_end_a_lease_that_has_just_started(
        self, region, seconds
    ):
        lease = region.active_lease(end=60)
        region.now += seconds * SECOND
        for end in (-1, -60):
            assert refused(region, lease, end=end) == (
                'End date must be later than current and start date'
            )

    @pytest.mark.parametrize('end', [30, 0])
    def test_a_lease_ended_in_the_minute_of_its_start_has_lasted_a_second(
        self, region, end
    ):
        region.now += 30 * SECOND
        lease = region.active_lease(end=60)
        lease = region.leases.update(
            lease.id,
            lease_requests.LeaseChanges(end=NOON + end * SECOND),
            region.now,
        )
        assert lease.end_date == lease.start_date + SECOND
        region.now += SECOND
        region.work()
        assert region.status(lease) == 'TERMINATED'

    def test_an_active_lease_is_shortened(self, region):
        lease = region.active_lease(end=60)
        region.change(lease, end=30)
        region.forward(until=31)
        assert region.status(lease) == 'TERMINATED'

    def test_a_host_that_a_shortened_lease_leaves_is_free(self, make_region):
        region = make_region('one')
        lease = region.active_lease(end=60)
        region.change(lease, end=30)
        region.lease(start=30, end=60)

    def test_an_active_lease_ends_now(self, region):
        lease = region.active_lease(end=60)
        region.now += 10 * SECOND
        assert region.change(lease, end=0).end_date == region.now
        region.work()
        assert region.status(lease) == 'TERMINATED'

    def test_a_lease_that_ends_in_the_second_of_its_start_ends(self, region):
        lease = region.active_lease(end=60)
        region.change(lease, end=0)
        region.forward(until=1)
        assert region.status(lease) == 'TERMINATED'

    def test_the_host_of_a_lease_that_ended_now_can_be_leased_at_once(
        self, make_region
    ):
        region = make_region('one')
        lease = region.active_lease(end=60)
        region.now += 10 * SECOND
        region.change(lease, end=0)
        region.work()
        assert region.hosts_of(region.lease(project='next')) == {'one'}

    def test_an_active_lease_is_not_extended_over_the_next(self, make_region):
        region = make_region('one')
        lease = region.active_lease(end=60)
        region.lease(start=60, end=90)
        assert refused(region, lease, end=61) == (
            'Not enough hosts available: 1 host matches, 1 is '
            'taken in this window, 1 wanted, and an active lease keeps the 1 '
            'that it has'
        )

    def test_an_active_lease_is_extended_up_to_the_next(self, make_region):
        region = make_region('one')
        lease = region.active_lease(end=60)
        region.lease(start=70, end=90)
        assert region.change(lease, end=70).end_date == NOON + minutes(70)


class TestDemand:
    def test_a_pending_lease_gets_more_hosts(self, region):
        lease = region.lease(start=30)
        kept = region.hosts_of(lease)
        region.change(lease, min=2, max=2)
        assert len(region.hosts_of(lease)) == 2
        assert kept < region.hosts_of(lease)

    def test_a_pending_lease_gives_hosts_back(self, region):
        lease = region.lease(start=30, minimum=3)
        region.change(lease, min=1, max=1)
        assert len(region.hosts_of(lease)) == 1
        region.lease(start=30, minimum=2)

    def test_a_prepared_lease_that_gives_back_has_that_in_nova(self, region):
        lease = region.lease(start=5, minimum=3)
        region.work()
        region.change(lease, min=1, max=1)
        region.work()
        assert region.aggregate_of(lease) == region.hosts_of(lease)

    def test_a_pending_lease_may_change_all_its_hosts(self, region):
        lease = region.lease(
            start=30, hypervisor_properties='["==","$service_name","one"]'
        )
        region.change(
            lease, hypervisor_properties='["==","$service_name","two"]'
        )
        assert region.hosts_of(lease) == {'two'}

    def test_an_active_lease_gets_more_hosts_at_once(self, region):
        lease = region.active_lease()
        kept = region.hosts_of(lease)
        region.change(lease, min=3, max=3)
        region.work()
        assert region.aggregate_of(lease) == {'one', 'two', 'three'} > kept
        assert region.status(lease) == 'ACTIVE'

    def test_an_active_lease_may_want_fewer_at_least(self, region):
        lease = region.active_lease(minimum=2)
        region.change(lease, min=1)
        assert len(region.hosts_of(lease)) == 2

    def test_an_active_lease_does_not_change_its_hosts(self, region):
        lease = region.active_lease(
            hypervisor_properties='["==","$service_name","one"]'
        )
        refused(
            region,
            lease,
            hypervisor_properties='["==","$service_name","two"]',
        )

    def test_more_than_there_is_is_refused_with_the_count(self, region):
        lease = region.lease(start=30)
        assert refused(region, lease, min=4, max=4) == (
            'Not enough hosts available: 3 hosts match, 0 are '
            'taken in this window, 4 wanted'
        )

    def test_a_host_that_can_not_be_added_is_tried_again(self, region):
        lease = region.active_lease()
        region.change(lease, min=2, max=2)
        region.fails(
            'add host',
            exception.CloudRefused(what='a host', reason='unknown'),
        )
        region.work()
        waiting = region.see(lease)
        assert waiting.status == 'ACTIVE'
        assert waiting.status_reason == 'a host was refused: unknown'
        region.forward(until=1)
        assert region.aggregate_of(lease) == region.hosts_of(lease)
        assert region.see(lease).status_reason is None

    def test_a_host_that_can_not_be_added_does_not_put_off_the_end(
        self, region
    ):
        lease = region.active_lease(end=60)
        region.forward(until=59.5)
        region.change(lease, min=2, max=2)
        region.fails(
            'add host',
            exception.CloudRefused(what='a host', reason='unknown'),
        )
        region.forward(until=60)
        assert region.status(lease) == 'TERMINATED'

    def test_unknown_reservations_are_named(self, region):
        lease = region.lease(start=30)
        with pytest.raises(exception.InvalidInput, match='IDs are: x'):
            region.leases.update(
                lease.id,
                lease_requests.LeaseChanges(reservations={'x': {'min': 1}}),
                region.now,
            )

    def test_of_two_reservations_both_change_or_none(self, region):
        count = {'min': 1, 'max': 1}
        lease = region.lease_of(
            ('physical:host', count), ('physical:host', count), start=30
        )
        first, second = (item.id for item in lease.reservations)
        before = region.picture()
        with pytest.raises(exception.NotEnoughResources):
            region.leases.update(
                lease.id,
                lease_requests.LeaseChanges(
                    name='new',
                    reservations={
                        first: {'min': 2, 'max': 2},
                        second: {'min': 2, 'max': 2},
                    },
                ),
                region.now,
            )
        assert region.picture() == before

    def test_two_reservations_of_a_lease_share_no_host(self, region):
        count = {'min': 1, 'max': 1}
        lease = region.lease_of(
            ('physical:host', count), ('physical:host', {'min': 2, 'max': 2})
        )
        assert region.hosts_of(lease) == {'one', 'two', 'three'}
        region.work()
        first, second = (
            region.cloud.aggregate_hosts[item.id]
            for item in lease.reservations
        )
        assert not first & second


class TestWarnings:
    def warning(self, lease):
        return next(
            event
            for event in lease.events
            if event.event_type == 'before_end_lease'
        )

    def test_a_warning_is_an_hour_before_the_end(self, region):
        lease = region.lease(start=5, end=120)
        assert self.warning(lease).time == NOON + minutes(60)
        region.forward(until=59)
        assert self.warning(region.see(lease)).status == 'UNDONE'
        region.forward(until=61)
        assert self.warning(region.see(lease)).status == 'DONE'
        assert region.told(lease) == [
            'create',
            'event.start_lease',
            'event.before_end_lease',
        ]

    def test_the_warning_of_a_short_lease_is_at_the_start(self, region):
        lease = region.lease(start=5, end=20)
        assert self.warning(lease).time == NOON + minutes(5)
        region.forward(until=5)
        assert self.warning(region.see(lease)).status == 'DONE'

    def test_a_warning_is_when_it_was_asked_for(self, region):
        lease = region.lease_of(start=5, end=20, before_end=15)
        assert self.warning(lease).time == NOON + minutes(15)

    @pytest.mark.parametrize('before_end', [4, 5, 20, 21])
    def test_a_warning_outside_of_the_lease_is_refused(
        self, region, before_end
    ):
        with pytest.raises(exception.InvalidInput, match='lease limits'):
            region.lease_of(start=5, end=20, before_end=before_end)

    def test_no_warning_is_there_where_the_operator_wants_none(
        self, make_region
    ):
        region = make_region('one', before_end=minutes(0))
        assert len(region.lease().events) == 2

    def test_a_warning_can_be_asked_for_later(self, make_region):
        region = make_region('one', before_end=minutes(0))
        lease = region.active_lease()
        region.change(lease, before_end=30)
        region.forward(until=31)
        assert 'event.before_end_lease' in region.told(lease)

    def test_a_warning_moves_with_the_end(self, region):
        lease = region.lease(start=5, end=120)
        lease = region.change(lease, end=180)
        assert self.warning(lease).time == NOON + minutes(120)

    def test_a_warning_comes_again_after_an_extension(self, region):
        lease = region.active_lease(end=120)
        region.forward(until=61)
        lease = region.change(lease, end=120)
        assert self.warning(lease).status == 'UNDONE'
        region.forward(until=122)
        assert region.told(lease).count('event.before_end_lease') == 2

    def test_a_warning_does_not_come_again_for_a_lease_that_is_cut_short(
        self, region
    ):
        lease = region.active_lease(end=120)
        region.forward(until=61)
        region.change(lease, end=0)
        region.work()
        assert region.status(lease) == 'TERMINATED'
        assert region.told(lease).count('event.before_end_lease') == 1

    def test_a_lease_that_is_ended_before_it_is_warned_first(self, region):
        lease = region.active_lease(end=120)
        region.forward(until=10)
        region.change(lease, end=0)
        region.work()
        assert region.told(lease)[-2:] == [
            'event.before_end_lease',
            'event.end_lease',
        ]
