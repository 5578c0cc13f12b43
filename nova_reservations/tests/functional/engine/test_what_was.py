# SPDX-License-Identifier: Apache-2.0
"""Lists and calendars show of the past what was: it does not change, and no
two leases had one host at the same time.

Decision 0061: doc/source/decisions/0061-what-is-shown-is-what-was
"""

import pytest

from nova_reservations import objects
from nova_reservations.db.upkeep import audit
from nova_reservations.objects import interval
from nova_reservations.testing.region import minutes
from nova_reservations.tests.functional.engine import shown
from nova_reservations.tests.functional.engine import test_instances
from nova_reservations.tests.functional.engine.failures import fail
from nova_reservations.tests.functional.engine.failures import recover


@pytest.fixture
def lease(region):
    """A lease of all three hosts for an hour, ten minutes after its start."""
    lease = region.active_lease(minimum=3)
    region.now += minutes(10)
    return lease


def give_back(region, lease, *names):
    region.change(lease, release_hosts=names)
    region.work()


def calendar(region, project_id='lessee'):
    """Return the bars of each host of the last hour, in minutes before
    now."""
    hour = interval.Interval(region.now - minutes(60), region.now)
    return [
        sorted(
            (
                (bar.start - region.now) / minutes(1),
                (min(bar.end, region.now) - region.now) / minutes(1),
            )
            for bar in host.bars
        )
        for host in region.resources.calendar(objects.HOST).of_project(
            project_id, hour, 0, 10, region.now
        )
    ]


class TestAnActiveLease:
    def test_a_second_host_that_is_given_back_leaves_the_first_as_it_was(
        self, region, lease
    ):
        give_back(region, lease, 'one')
        region.now += minutes(10)
        give_back(region, lease, 'two')
        assert shown.of_lease(region, lease) == [
            ('one', 0, 10),
            ('three', 0, 60),
            ('two', 0, 20),
        ]

    @pytest.mark.parametrize('end', [5, 30, 200])
    def test_another_end_is_none_of_what_it_has_given_back(
        self, region, lease, end
    ):
        give_back(region, lease, 'one', 'two')
        other = region.active_lease(minimum=2, end=60)
        region.now += minutes(1)
        region.change(lease, end=end)
        assert shown.of_lease(region, lease) == [
            ('one', 0, 10),
            ('three', 0, 11 + end),
            ('two', 0, 10),
        ]
        assert shown.overlaps(region) == []
        assert shown.of_lease(region, other)[0] == ('one', 0, 60)

    def test_a_host_that_it_gets_later_was_not_its_own_before(self, region):
        lease = region.active_lease(minimum=1)
        [first] = region.hosts_of(lease)
        region.now += minutes(10)
        region.change(lease, min=2, max=2)
        region.work()
        [other] = region.hosts_of(lease) - {first}
        assert shown.of_lease(region, lease) == sorted(
            [(first, 0, 60), (other, 10, 60)]
        )
        region.change(lease, end=100)
        assert shown.of_lease(region, lease) == sorted(
            [(first, 0, 110), (other, 10, 110)]
        )
        assert sorted(map(len, calendar(region))) == [0, 0, 1]

    def test_a_host_that_it_gets_again_was_another_ones_meanwhile(
        self, region, lease
    ):
        give_back(region, lease, 'one')
        other = region.active_lease(end=10)
        region.now += minutes(20)
        region.work()
        assert region.status(other) == 'TERMINATED'
        region.change(lease, min=3, max=3)
        region.work()
        assert shown.of_lease(region, lease) == [
            ('one', 0, 10),
            ('one', 30, 60),
            ('three', 0, 60),
            ('two', 0, 60),
        ]
        assert shown.of_lease(region, other) == [('one', 0, 10)]

    def test_a_host_that_it_has_for_no_second_is_not_shown(self, region):
        lease = region.active_lease(minimum=3)
        give_back(region, lease, 'one', 'two')
        other = region.active_lease(minimum=2)
        assert shown.of_lease(region, lease) == [('three', 0, 60)]
        assert shown.overlaps(region) == []
        assert region.hosts_of(other) == {'one', 'two'}

    def test_all_that_it_has_ends_with_it(self, region, lease):
        region.now += minutes(1)
        region.change(lease, end=0)
        region.work()
        assert region.status(lease) == 'TERMINATED'
        assert {window[2] for window in shown.of_lease(region, lease)} == {11}

    def test_a_change_after_its_end_does_not_prolong_it_until_now(
        self, region
    ):
        lease = region.lease(minimum=3, end=0.25)
        later = region.lease(minimum=3, start=0.5)
        region.now += minutes(0.75)
        # No worker has been there, and an end in this minute is one now.
        region.change(lease, end=-0.6)
        assert region.hosts_of(later) == region.hosts_of(lease)
        assert shown.overlaps(region) == []
        with region.database.reader() as session:
            assert audit.doubled(session) == []

    def test_a_lease_that_begins_in_this_minute_had_nothing_before(
        self, region, lease
    ):
        region.now += minutes(0.5)
        give_back(region, lease, 'one')
        region.now += minutes(0.25)
        other = region.lease(start=-0.75)
        region.work()
        assert region.hosts_of(other) == {'one'}
        assert shown.overlaps(region) == []
        assert shown.of_lease(region, other) == [('one', 0.75, 60.75)]


class TestAReplacement:
    @pytest.fixture
    def lease(self, region):
        lease = region.active_lease(minimum=2)
        region.now += minutes(10)
        return lease

    def test_the_window_of_another_host_begins_when_it_is_given(
        self, region, lease
    ):
        lost, kept = sorted(region.hosts_of(lease))
        [spare] = {'one', 'two', 'three'} - {lost, kept}
        fail(region, lost)
        region.work()
        assert shown.of_lease(region, lease) == sorted(
            [(lost, 0, 10), (kept, 0, 60), (spare, 10, 60)]
        )

    def test_the_host_that_comes_back_was_away_meanwhile(self, region, lease):
        lost, kept = sorted(region.hosts_of(lease))
        [spare] = {'one', 'two', 'three'} - {lost, kept}
        fail(region, lost)
        region.work()
        region.now += minutes(10)
        recover(region, lost)
        fail(region, spare)
        region.work()
        assert shown.of_lease(region, lease) == sorted(
            [
                (lost, 0, 10),
                (lost, 20, 60),
                (kept, 0, 60),
                (spare, 10, 20),
            ]
        )


class TestOthers:
    @pytest.fixture
    def region(self, make_region):
        return make_region('one', 'two', types=test_instances.TYPES)

    def test_slots_that_a_lease_gets_later_were_not_its_own_before(
        self, region
    ):
        lease = test_instances.active(region, *test_instances.slots(8))
        [first] = region.hosts_of(lease)
        region.now += minutes(10)
        region.change(lease, amount=10)
        region.work()
        [other] = region.hosts_of(lease) - {first}
        ends = {window[2] for window in shown.of_lease(region, lease)}
        assert len(ends) == 1
        assert [
            window[:2] for window in shown.of_lease(region, lease)
        ] == sorted([(first, 0), (other, 10)])
