# SPDX-License-Identifier: Apache-2.0
"""A host that was disabled for a reboot lost its active leases, and their
servers stayed behind; one that was silent for a minute did, too; and the
outage of one switch moved the leases of a whole cell.

Issue 13, item 10.
"""

import datetime
import logging

import pytest

from nova_reservations import exception
from nova_reservations import objects
from nova_reservations import ports
from nova_reservations.db import allocations
from nova_reservations.db import candidates
from nova_reservations.engine import mass_failure
from nova_reservations.objects import search
from nova_reservations.objects import states
from nova_reservations.plugins.resource_types import instance
from nova_reservations.testing.region import minutes
from nova_reservations.tests import booking

HOUR = datetime.timedelta(hours=1)
TWO_MINUTES = datetime.timedelta(minutes=2)

WHOLE, MISSING, CHANGED = (False, False), (True, False), (False, True)

SILENT = ports.ComputeService(False, False, False)
DISABLED = ports.ComputeService(True, True, False)
REBOOTING = ports.ComputeService(False, True, False)
FORCED_DOWN = ports.ComputeService(False, False, True)


@pytest.fixture
def region(make_region):
    """Two hosts; what a lease needs within the hour is healed."""
    return make_region('one', 'two', healing_interval=HOUR)


@pytest.fixture
def repair(make_region):
    """Two hosts, which may be down for two minutes."""
    return make_region(
        'one', 'two', healing_interval=HOUR, down_after=TWO_MINUTES
    )


def see(region, service, *names):
    """Have the monitor see these nova-computes so; None: they work."""
    for name in names:
        region.cloud.recover(name)
        if service is not None:
            region.cloud.services[name] = service
    region.look()


def flags(region, lease):
    [reservation] = region.see(lease).reservations
    return reservation.missing_resources, reservation.resources_changed


def used(region, lease):
    access = region.access.find(lease.reservations[0].id)
    assert region.aggregate_of(lease) == access.hosts
    return access.hosts


def holds_of(region, lease):
    [name] = region.hosts_of(lease)
    return name


def healed_by(region):
    """Let the periodic check look, and all happen that follows."""
    region.healing.heal(region.now)
    region.work()


class TestDisabled:
    @pytest.mark.parametrize('service', [DISABLED, REBOOTING])
    def test_active_leases_keep_the_host_and_are_whole(self, region, service):
        lease = region.active_lease(end=300)
        name = holds_of(region, lease)
        see(region, service, name)
        region.now += minutes(60)
        see(region, service, name)
        assert used(region, lease) == {name}
        assert flags(region, lease) == WHOLE

    def test_no_new_lease_gets_it(self, region):
        see(region, DISABLED, 'one')
        with pytest.raises(exception.NotEnoughResources):
            region.lease(minimum=2)
        see(region, None, 'one')
        assert region.lease(minimum=2)

    @pytest.mark.parametrize('service', [DISABLED, SILENT, FORCED_DOWN])
    def test_it_is_not_free(self, repair, service):
        repair.lease(end=300, **on('one'))
        see(repair, service, 'one')
        [point] = repair.hosts.capacity(
            repair.now,
            repair.now + minutes(60),
            minutes(60),
            repair.now,
        )
        assert point.free == 1

    def test_a_lease_that_was_planned_before_fails(self, region):
        """The generation has moved on."""
        with region.database.reader() as session:
            found = candidates.find(
                session,
                search.Wanted('one', booking.wanted(), booking.window(0, 1)),
                search.Search(booking.NOW),
            )
        see(region, DISABLED, 'one')
        planned = {
            one.resource.id: one.generation
            for one in found
            if one.resource.name == 'one'
        }
        with (
            pytest.raises(exception.Conflict),
            region.database.writer() as session,
        ):
            allocations.advance(session, planned)

    def test_an_active_lease_there_can_be_extended(self, region):
        lease = region.active_lease(end=60)
        name = holds_of(region, lease)
        see(region, DISABLED, name)
        region.change(lease, end=120)
        region.work()
        assert used(region, lease) == {name}

    def test_slots_there_can_be_extended(self, make_region):
        region = make_region(
            'one', types={'virtual:instance': instance.VirtualInstance}
        )
        lease = region.lease_of(SLOT)
        region.work()
        see(region, DISABLED, 'one')
        region.change(lease, end=120)
        region.work()
        assert region.hosts_of(lease) == {'one'}
        with pytest.raises(exception.NotEnoughResources):
            region.lease_of(SLOT)

    def test_a_coming_lease_is_moved_when_it_is_prepared(self, region):
        """Its preparation is before the next check."""
        lease = region.lease(start=69, end=200)
        name = holds_of(region, lease)
        see(region, DISABLED, name)
        assert holds_of(region, lease) != name
        assert flags(region, lease) == WHOLE

    def test_one_that_comes_later_keeps_it_for_now(self, region):
        lease = region.lease(start=71, end=200)
        name = holds_of(region, lease)
        see(region, DISABLED, name)
        assert holds_of(region, lease) == name
        region.now += minutes(2)
        healed_by(region)
        assert holds_of(region, lease) != name

    def test_a_coming_lease_that_can_not_be_moved_is_flagged(self, region):
        lease = region.lease(start=30, end=200, minimum=2)
        see(region, DISABLED, 'one')
        assert flags(region, lease) == MISSING
        see(region, None, 'one')
        assert flags(region, lease) == WHOLE

    def test_which_it_stays_when_it_has_begun(self, region):
        lease = region.lease(start=30, end=200, minimum=2)
        see(region, DISABLED, 'one')
        region.forward(until=31)
        healed_by(region)
        assert region.status(lease) == 'ACTIVE'
        assert flags(region, lease) == MISSING
        region.add_host('three')
        region.work()
        assert used(region, lease) == {'two', 'three'}


class TestDown:
    def test_fails_if_it_lasts(self, repair):
        lease = repair.active_lease(end=300)
        name = holds_of(repair, lease)
        see(repair, SILENT, name)
        repair.now += TWO_MINUTES - datetime.timedelta(seconds=1)
        repair.look()
        assert used(repair, lease) == {name}
        assert flags(repair, lease) == WHOLE
        repair.now += datetime.timedelta(seconds=1)
        repair.look()
        assert name not in used(repair, lease)
        assert flags(repair, lease) == CHANGED

    def test_begins_anew_when_it_was_back(self, repair):
        lease = repair.active_lease(end=300)
        name = holds_of(repair, lease)
        for service in (SILENT, None, SILENT):
            see(repair, service, name)
            repair.now += minutes(1.5)
        assert used(repair, lease) == {name}

    def test_no_new_lease_gets_it_at_once(self, repair):
        see(repair, SILENT, 'one')
        with pytest.raises(exception.NotEnoughResources):
            repair.lease(minimum=2)

    def test_nova_that_gives_up_on_a_host_by_itself_is_down(self, repair):
        """Libvirt is gone: its nova-compute reports that it is disabled."""
        lease = repair.active_lease(end=300)
        name = holds_of(repair, lease)
        gave_up = ports.ComputeService(True, True, False, gave_up=True)
        see(repair, gave_up, name)
        repair.now += TWO_MINUTES
        repair.look()
        assert name not in used(repair, lease)

    def test_who_disables_a_host_that_has_failed_does_not_mend_it(
        self, repair
    ):
        lease = repair.active_lease(end=300)
        name = holds_of(repair, lease)
        repair.add_host('three')
        see(repair, FORCED_DOWN, name)
        see(repair, REBOOTING, name)
        assert name not in used(repair, lease)
        [failed] = repair.hosts.find(objects.HostQuery(name=name))
        assert failed.down_since

    def test_forced_down_is_failed_at_once(self, repair):
        lease = repair.active_lease(end=300)
        name = holds_of(repair, lease)
        see(repair, FORCED_DOWN, name)
        assert name not in used(repair, lease)


@pytest.mark.parametrize(
    'heal_active, service, moved',
    [
        ('failed', SILENT, True),
        ('failed', FORCED_DOWN, True),
        ('forced_down', SILENT, False),
        ('forced_down', FORCED_DOWN, True),
        ('never', SILENT, False),
        ('never', FORCED_DOWN, False),
    ],
)
class TestHealActive:
    @pytest.fixture
    def region(self, make_region, heal_active):
        return make_region(
            'one', 'two', heal_active=states.HealActive(heal_active)
        )

    def test_says_what_active_leases_get(self, region, service, moved):
        lease = region.active_lease(end=300)
        name = holds_of(region, lease)
        see(region, service, name)
        assert flags(region, lease) == (CHANGED if moved else MISSING)
        assert len(used(region, lease)) == moved
        assert region.see(lease).degraded

    def test_says_nothing_of_those_that_come(self, region, service, moved):
        lease = region.lease(start=30, end=200)
        name = holds_of(region, lease)
        see(region, service, name)
        assert holds_of(region, lease) != name

    def test_is_not_asked_where_the_owner_asks(self, region, service, moved):
        lease = region.active_lease(end=300)
        name = holds_of(region, lease)
        see(region, service, name)
        if moved:
            with pytest.raises(exception.InvalidState, match='has failed'):
                region.healing.replace_failed(lease.id, region.now)
            return
        shown = region.healing.replace_failed(lease.id, region.now)
        region.work()
        assert shown.reservations[0].resources_changed
        assert used(region, lease) == {'one', 'two'} - {name}
        assert flags(region, lease) == CHANGED
        assert region.told(lease)[-2:] == ['degraded', 'healed']


def test_a_host_that_is_fenced_later_is_replaced_then(make_region):
    region = make_region(
        'one', 'two', heal_active=states.HealActive.FORCED_DOWN
    )
    lease = region.active_lease(end=300)
    name = holds_of(region, lease)
    see(region, SILENT, name)
    assert flags(region, lease) == MISSING
    see(region, FORCED_DOWN, name)
    assert flags(region, lease) == CHANGED


class TestReplaceFailed:
    @pytest.fixture
    def region(self, make_region):
        return make_region('one', 'two', heal_active=states.HealActive.NEVER)

    def test_is_refused_where_nothing_is_free(self, region):
        lease = region.active_lease(end=300, minimum=2)
        see(region, SILENT, 'one')
        with pytest.raises(exception.NotEnoughResources, match='is free'):
            region.healing.replace_failed(lease.id, region.now)
        assert used(region, lease) == {'two'}

    def test_is_refused_when_the_lease_is_over(self, region):
        lease = region.active_lease(end=10)
        region.forward(until=11)
        with pytest.raises(exception.InvalidState, match='PENDING or ACTIVE'):
            region.healing.replace_failed(lease.id, region.now)

    def test_of_nothing_that_there_is(self, region):
        with pytest.raises(exception.NotFound):
            region.healing.replace_failed('none', region.now)


SLOT = (
    'virtual:instance',
    {
        'vcpus': 8,
        'memory_mb': 1024,
        'disk_gb': 10,
        'amount': 2,
        'affinity': None,
        'resource_properties': '',
    },
)


class TestTheOldHostIsBack:
    @pytest.fixture
    def lease(self, region):
        lease = region.active_lease(end=300)
        region.cloud.boot(holds_of(region, lease), 'lessee', 'stays')
        return lease

    @pytest.fixture
    def old(self, region, lease):
        name = holds_of(region, lease)
        see(region, SILENT, name)
        region.now += minutes(5)
        region.look()
        return name

    def test_and_the_new_one_is_given_back(self, region, lease, old):
        [new] = used(region, lease)
        assert new != old
        see(region, None, old)
        assert used(region, lease) == {old}
        assert flags(region, lease) == WHOLE
        assert region.told(lease)[-1] == 'healed'
        region.now += minutes(1)
        region.look()
        assert region.hosts_of(lease) == {old}
        assert region.hosts_of(region.lease(end=30)) == {new}
        region.work()
        # Again: nothing is left to do.
        before = region.picture()
        region.look()
        assert region.picture() == before

    def test_unless_that_is_used(self, region, lease, old):
        [new] = used(region, lease)
        region.cloud.boot(new, 'lessee', 'new')
        see(region, None, old)
        assert used(region, lease) == {new}
        assert flags(region, lease) == CHANGED
        # Nor when it is empty later: not before its owner has left it.
        del region.cloud.instances['new']
        region.look()
        assert used(region, lease) == {old}

    def test_unless_the_owner_has_taken_note(self, region, lease, old):
        [new] = used(region, lease)
        region.acknowledge(lease)
        see(region, None, old)
        assert used(region, lease) == {new}

    def test_unless_others_have_it_by_then(self, region, lease, old):
        [new] = used(region, lease)
        region.cloud.boot(new, 'lessee', 'new')
        del region.cloud.instances['stays']
        see(region, None, old)
        other = region.lease(start=60, end=120)
        assert region.hosts_of(other) == {old}
        del region.cloud.instances['new']
        region.look()
        assert used(region, lease) == {new}
        region.delete(other)
        region.look()
        assert used(region, lease) == {old}

    def test_unless_that_is_disabled(self, region, lease, old):
        [new] = used(region, lease)
        see(region, DISABLED, old)
        assert used(region, lease) == {new}

    def test_slots_go_back_too(self, make_region):
        region = make_region(
            'one',
            'two',
            types={'virtual:instance': instance.VirtualInstance},
        )
        lease = region.lease_of(SLOT, end=300)
        region.work()
        old = holds_of(region, lease)
        see(region, SILENT, old)
        assert flags(region, lease) == CHANGED
        see(region, None, old)
        assert used(region, lease) == {old}
        assert flags(region, lease) == WHOLE
        region.now += minutes(1)
        region.look()
        assert region.hosts_of(lease) == {old}

    def test_unless_the_owner_takes_note_at_that_moment(
        self, region, lease, old
    ):
        """After the look at Nova, and before the transaction."""
        [new] = used(region, lease)
        region.cloud.recover(old)
        region.monitoring.poll(region.now)

        def meanwhile(step):
            region.database.before = lambda step: None
            region.acknowledge(lease)

        region.database.before = meanwhile
        region.look()
        assert used(region, lease) == {new}


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
        """Of each host of the first cell, one."""
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
        # It would only be late otherwise.
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

    def test_one_after_the_other_is_no_mass(self, region, leases):
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
        # Of what else fails it was not the word.
        region.look()
        assert len(self.mass(region)) == 1
        assert mass_failure.release(
            region.database, objects.HOST, [], region.now
        ) == ([])

    def test_of_one_host_too(self, region, leases):
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
        # Nobody has said that the others are lost, too.
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
        """A fence that goes mad is no administrator."""
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


def on(name):
    return {'resource_properties': f'["==", "$service_name", "{name}"]'}


def in_cell_a():
    return {'resource_properties': '["<", "$service_name", "b"]'}


def free_all(region):
    """Have leases ask for any host, when they have theirs."""
    with region.database.writer() as session:
        session.connection().exec_driver_sql(
            'UPDATE nr_reservations SET params = '
            "json_set(params, '$.resource_properties', '')"
        )
