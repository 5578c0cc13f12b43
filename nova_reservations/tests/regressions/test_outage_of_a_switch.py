# SPDX-License-Identifier: Apache-2.0
"""The outage of one switch moved the leases of a whole cell.

Issue 13, item 10.
"""

import logging

import pytest

from nova_reservations import objects
from nova_reservations.engine.healing import mass_failure
from nova_reservations.testing.region import minutes
from nova_reservations.tests.regressions.failing_hosts import CHANGED
from nova_reservations.tests.regressions.failing_hosts import flags
from nova_reservations.tests.regressions.failing_hosts import FORCED_DOWN
from nova_reservations.tests.regressions.failing_hosts import healed_by
from nova_reservations.tests.regressions.failing_hosts import HOUR
from nova_reservations.tests.regressions.failing_hosts import MISSING
from nova_reservations.tests.regressions.failing_hosts import on
from nova_reservations.tests.regressions.failing_hosts import see
from nova_reservations.tests.regressions.failing_hosts import SILENT
from nova_reservations.tests.regressions.failing_hosts import TWO_MINUTES
from nova_reservations.tests.regressions.failing_hosts import WHOLE


class TestMassFailure:
    NAMES = ('a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'b2', 'b3')

    @pytest.fixture
    def region(self, make_region):
        region = make_region(
            *self.NAMES, healing_interval=HOUR, down_after=TWO_MINUTES
        )
        region.cloud.cells = {name: f'cell {name[0]}' for name in self.NAMES}
        return region

    @pytest.fixture
    def leases(self, region):
        """One lease for each host of the first cell."""
        leases = [
            region.lease(end=300, **on(name))
            for name in self.NAMES
            if name[0] == 'a'
        ]
        region.work()
        free_all(region)
        return [region.see(lease) for lease in leases]

    def lost(self, region, *names):
        see(region, SILENT, *names)
        region.now += TWO_MINUTES
        region.look()

    def mass(self, region):
        return [
            payload
            for kind, payload in region.notes
            if kind == 'resources.mass_failure'
        ]

    def test_is_told_and_nothing_is_moved(self, region, leases, caplog):
        coming = region.lease(start=301, end=400, minimum=5, **in_cell_a())
        before = [region.hosts_of(lease) for lease in leases]
        with caplog.at_level(logging.ERROR):
            self.lost(region, 'a1', 'a2', 'a3')
        assert [region.hosts_of(lease) for lease in leases] == before
        assert [flags(region, lease) for lease in leases] == [
            MISSING,
            MISSING,
            MISSING,
            WHOLE,
            WHOLE,
        ]
        assert len(region.hosts_of(coming)) == 5
        assert 'nova-reservations-manage heal' in caplog.text
        assert self.mass(region) == [
            {
                'resource_type': 'physical:host',
                'domain': 'cell a',
                'failed': ['a1', 'a2', 'a3'],
                'resources': 5,
            }
        ]
        # The leases are not healed later either, when the periodic check runs.
        region.now += HOUR
        region.look()
        healed_by(region)
        assert [region.hosts_of(lease) for lease in leases] == before
        assert len(self.mass(region)) == 1

    def test_other_cells_are_healed(self, region, leases):
        lease = region.active_lease(end=300, **on('b1'))
        free_all(region)
        self.lost(region, 'a1', 'a2', 'a3', 'b1')
        assert flags(region, lease) == CHANGED
        assert flags(region, leases[0]) == MISSING

    def test_two_are_no_mass(self, region, leases):
        self.lost(region, 'a1', 'a2')
        assert flags(region, leases[0]) == flags(region, leases[1]) == CHANGED

    def test_the_first_to_fail_waits_for_the_others(self, region, leases):
        see(region, SILENT, 'a1')
        region.now += minutes(1)
        see(region, SILENT, 'a2', 'a3')
        region.now += minutes(1)
        region.look()
        assert flags(region, leases[0]) == MISSING
        region.now += minutes(1)
        region.look()
        assert [flags(region, lease) for lease in leases[:3]] == [MISSING] * 3

    def test_failures_one_after_the_other_are_no_mass(self, region, leases):
        for name, lease in zip(('a1', 'a2', 'a3'), leases, strict=False):
            self.lost(region, name)
            assert flags(region, lease) == CHANGED
            region.now += minutes(11)

    def test_an_administrator_has_the_last_word(self, region, leases):
        self.lost(region, 'a1', 'a2', 'a3')
        released = mass_failure.release(
            region.database, objects.HOST, [], region.now
        )
        region.work()
        assert released == ['a1', 'a2', 'a3']
        assert [flags(region, lease) for lease in leases[:3]] == [CHANGED] * 3
        # The release stands: there is no second alert, and nothing left to
        # release.
        region.look()
        assert len(self.mass(region)) == 1
        assert mass_failure.release(
            region.database, objects.HOST, [], region.now
        ) == ([])

    def test_an_administrator_has_the_last_word_on_a_single_host_too(
        self, region, leases
    ):
        self.lost(region, 'a1', 'a2', 'a3')
        mass_failure.release(
            region.database, objects.HOST, ['a2', 'b1'], region.now
        )
        region.work()
        assert [flags(region, lease) for lease in leases[:3]] == [
            MISSING,
            CHANGED,
            MISSING,
        ]
        # The administrator has not released the other hosts.
        region.now += HOUR
        region.look()
        assert [flags(region, lease) for lease in leases[:3]] == [
            MISSING,
            CHANGED,
            MISSING,
        ]
        assert mass_failure.release(
            region.database, objects.HOST, [], region.now
        ) == (['a1', 'a3'])

    def test_is_over_when_all_are_back(self, region, leases):
        self.lost(region, 'a1', 'a2', 'a3')
        see(region, None, 'a1', 'a2', 'a3')
        assert [flags(region, lease) for lease in leases] == [WHOLE] * 5
        self.lost(region, 'a1')
        assert flags(region, leases[0]) == CHANGED

    def test_the_last_ones_have_the_time_to_come_back(self, region, leases):
        self.lost(region, 'a1', 'a2', 'a3')
        see(region, None, 'a1', 'a2')
        region.now += minutes(1)
        region.look()
        assert flags(region, leases[2]) == MISSING
        region.now += minutes(1)
        region.look()
        assert flags(region, leases[2]) == CHANGED

    def test_is_seen_in_the_list_of_hosts(self, region, leases):
        self.lost(region, 'a1', 'a2', 'a3')
        braked = {
            each.facts.service_host
            for each in region.hosts.find(objects.HostQuery())
            if each.braked_at is not None
        }
        assert braked == {'a1', 'a2', 'a3'}

    def test_forced_down_ones_count_too(self, region, leases):
        """A fencing agent that runs wild forces hosts down without an
        administrator."""
        see(region, FORCED_DOWN, 'a1', 'a2', 'a3')
        assert [flags(region, lease) for lease in leases[:3]] == [MISSING] * 3

    def test_an_owner_may_go_on(self, region, leases):
        self.lost(region, 'a1', 'a2', 'a3')
        region.healing.replace_failed(leases[0].id, region.now)
        assert flags(region, leases[0]) == CHANGED

    def test_a_limit_of_all_is_none(self, make_region):
        region = make_region('a1', 'a2', 'a3', 'a4', heal_limit=100)
        lease = region.active_lease(end=300, **on('a1'))
        free_all(region)
        see(region, SILENT, 'a1', 'a2', 'a3')
        assert flags(region, lease) == CHANGED


def in_cell_a():
    return {'resource_properties': '["<", "$service_name", "b"]'}


def free_all(region):
    """Have leases that have their hosts ask for any host from now on."""
    with region.database.writer() as session:
        session.connection().exec_driver_sql(
            'UPDATE nr_reservations SET params = '
            "json_set(params, '$.resource_properties', '')"
        )
