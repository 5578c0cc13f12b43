# SPDX-License-Identifier: Apache-2.0
"""A nova-scheduler that was given another database disbanded all leases.

The sweep took each reservation in Nova that its database did not know for a
leftover. With an empty database those are all reservations; with yesterday's
backup those are the reservations of today. Issue 13, item 11.
"""

import dataclasses
import datetime
from unittest import mock

from nova.objects import aggregate
import pytest

from nova_reservations.db.leases import deleted_leases
from nova_reservations.engine import identity
from nova_reservations.engine.audit import audit
from nova_reservations.engine.upkeep import purge
from nova_reservations.engine.worker import leftovers
from nova_reservations.objects import states
from nova_reservations.tests.functional.nova import shared
from nova_reservations.types.servers import instance

DAY = datetime.timedelta(days=1)

TYPES = {'virtual:instance': instance.VirtualInstance}


@pytest.fixture
def cloud(region):
    return region.cloud


@pytest.fixture
def sweep(region):
    return leftovers.Sweep(region.database, region.cloud).run


@pytest.fixture
def ours(region):
    return identity.of(region.database)


@pytest.fixture
def lose(cloud, ours):
    """Leave reservations in Nova that bear our database's name, and that our
    database does not know."""

    def lose(*names):
        for name in names:
            cloud.aggregate_hosts[name] = {'one'}
            cloud.aggregates.sign(name, ours)

    return lose


@pytest.fixture
def leave(region, lose):
    """Leave reservations of deleted leases in Nova."""

    def leave(*names):
        lease = region.lease(start=600, end=660)
        [reservation] = lease.reservations
        begun = tuple(
            dataclasses.replace(event, status=states.Event.DONE)
            for event in lease.events
        )
        with region.database.writer() as session:
            for name in names:
                of_it = dataclasses.replace(reservation, id=name)
                deleted = dataclasses.replace(
                    lease,
                    id=f'lease of {name}',
                    reservations=(of_it,),
                    events=begun,
                )
                deleted_leases.keep(session, deleted, region.now)
        region.delete(lease)
        lose(*names)

    return leave


def problems(region):
    found = region.services.audit.findings(region.now)
    return [(one.problem, one.repair is not None) for one in found]


def test_a_scheduler_on_an_empty_database_disbands_no_lease(
    region, make_region
):
    lease = region.active_lease()
    other = make_region()
    leftovers.Sweep(other.database, region.cloud).run()
    assert region.aggregate_of(lease) == region.hosts_of(lease)


def test_a_scheduler_on_an_empty_database_takes_no_slots_away(make_region):
    region, other = make_region('one', types=TYPES), make_region()
    lease = region.lease_of(
        (
            'virtual:instance',
            {
                'amount': 1,
                'vcpus': 1,
                'memory_mb': 1024,
                'disk_gb': 0,
                'affinity': None,
                'resource_properties': '',
            },
        )
    )
    region.work()
    before = dict(region.cloud.classes)
    leftovers.Sweep(other.database, region.cloud).run()
    assert region.cloud.classes == before
    assert region.aggregate_of(lease)


def test_a_class_that_stands_alone_is_nobodys(cloud, sweep):
    cloud.classes['2f2d2b5e-95b5-4c4e-8b68-0a8f4b7a9c11'] = {'one': 1}
    sweep()
    assert cloud.classes


def test_leftovers_of_a_stopped_worker_are_taken_away(
    region, cloud, sweep, leave
):
    lease = region.active_lease()
    leave(*'abc')
    cloud.classes['a'] = {'one': 1}
    sweep()
    assert set(cloud.aggregate_hosts) == {lease.reservations[0].id}
    assert cloud.classes == {}


def test_slots_that_are_held_are_known_next_time(cloud, sweep, leave):
    leave('a')
    cloud.classes['a'] = {'one': 1}
    cloud.stuck['a'] = {'a consumer'}
    sweep()
    assert set(cloud.aggregate_hosts) == {'a'}
    cloud.stuck.clear()
    sweep()
    assert cloud.aggregate_hosts == cloud.classes == {}


def test_a_class_of_a_deleted_lease_is_taken_away(cloud, sweep, leave):
    leave('a')
    del cloud.aggregate_hosts['a']
    cloud.classes['a'] = {'one': 1}
    sweep()
    assert cloud.classes == {}


def test_a_restored_database_disbands_no_leases_of_today(
    cloud, sweep, lose, caplog
):
    lose(*'abcd')
    sweep()
    assert set(cloud.aggregate_hosts) == set('abcd')
    assert 'If the database was restored' in caplog.text
    assert 'a, b, c, d' in caplog.text


def test_lost_leases_are_not_disbanded_even_if_they_are_few(
    cloud, sweep, lose
):
    """The sweep deleted up to three of them, and lost who had which hosts."""
    lose('a')
    for _ in range(2):
        sweep()
    assert set(cloud.aggregate_hosts) == {'a'}


def test_leftovers_of_a_stopped_worker_go_beside_what_is_not_known(
    cloud, sweep, leave, lose
):
    """The leftover stayed until an administrator repaired all."""
    leave(*'abc')
    lose(*'defg')
    sweep()
    assert set(cloud.aggregate_hosts) == set('defg')


def test_aggregates_that_are_not_known_are_named_once(
    cloud, sweep, lose, caplog
):
    """An ERROR was logged every minute until an administrator repaired all."""
    lose('a')
    for _ in range(3):
        sweep()
    assert [record.levelname for record in caplog.records] == ['ERROR']
    lose('b')
    for _ in range(3):
        sweep()
    assert [
        record.getMessage().endswith(': a, b') for record in caplog.records
    ] == [False, True]
    cloud.aggregate_hosts.clear()
    sweep()
    lose('a')
    sweep()
    assert len(caplog.records) == 3


def test_many_that_are_known_are_named_once_and_stay(
    cloud, sweep, leave, caplog
):
    leave(*'abcd')
    caplog.clear()
    for _ in range(3):
        sweep()
    assert set(cloud.aggregate_hosts) == set('abcd')
    [record] = caplog.records
    assert 'a, b, c, d' in record.getMessage()


def test_the_aggregate_of_a_purged_lease_is_named_and_stays(
    region, cloud, sweep, leave, caplog
):
    leave('a')
    region.services.purge.purge(purge.Cutoffs(leases=region.now + DAY))
    sweep()
    assert set(cloud.aggregate_hosts) == {'a'}
    assert caplog.records[-1].getMessage().endswith(': a')
    [(problem, can_be_repaired)] = problems(region)
    assert problem == 'Aggregate a is of no lease any more'
    assert can_be_repaired


def test_an_administrator_has_leftovers_taken_away_by_the_audit(
    region, cloud, leave
):
    leave(*'abcd')
    auditor = audit.Audit(
        region.database,
        cloud,
        region.services.lifecycle.bookings,
        region.types,
    )
    for finding in auditor.findings(region.now):
        finding.repair()
    assert cloud.aggregate_hosts == {}
    assert problems(region) == []


def test_the_first_time_after_an_upgrade_signs_and_takes_nothing_away(
    region, cloud, sweep, leave, ours
):
    lease = region.active_lease()
    leave('left behind')
    del cloud.signed[lease.reservations[0].id]
    sweep()
    assert cloud.signed[lease.reservations[0].id] == ours
    assert 'left behind' in cloud.aggregate_hosts
    sweep()
    assert set(cloud.aggregate_hosts) == {lease.reservations[0].id}


def test_an_aggregate_that_is_not_signed_and_not_known_stays(cloud, sweep):
    cloud.aggregate_hosts['somebody'] = {'one'}
    sweep()
    assert set(cloud.aggregate_hosts) == {'somebody'}


def test_an_audit_says_whose_they_are(region, cloud, leave):
    leave('ours')
    cloud.aggregate_hosts['unknown'] = {'one'}
    cloud.aggregate_hosts['theirs'] = {'one'}
    cloud.signed['theirs'] = 'another'
    known, theirs, unknown = sorted(problems(region))
    assert known == ('Aggregate ours is of no lease any more', True)
    assert 'but of database another' in theirs[0]
    assert not theirs[1], 'a repair on the wrong database disbands all'
    assert 'does not name its database' in unknown[0]
    assert unknown[1]


def test_an_audit_of_an_empty_database_opens_no_host(region, make_region):
    """The audit took the trait off all hosts: leased hosts were open to
    strangers."""
    region.active_lease()
    other = make_region()
    for finding in audit.Audit(
        other.database,
        region.cloud,
        other.services.lifecycle.bookings,
        other.types,
    ).findings(region.now):
        if finding.repair is not None:
            finding.repair()
    assert region.cloud.marked == {'one', 'two', 'three'}
    assert problems(region) == []


def test_a_database_has_one_name(any_database):
    assert identity.of(any_database) == identity.of(any_database)


def test_an_aggregate_bears_no_name_that_it_had_before(
    region, cloud, sweep, ours
):
    """The sweep signs the aggregate of a known lease again, whatever name was
    there."""
    lease = region.active_lease()
    cloud.signed[lease.reservations[0].id] = 'another'
    sweep()
    assert cloud.signed[lease.reservations[0].id] == ours


class SweepOnNovaTest(shared.SharedNova):
    hosts = ('host1',)

    def test_aggregates_bear_the_name_of_the_database(self):
        self.enrol('host1')
        [reservation] = self.lease().reservations
        cloud = self.services.hosts.cloud
        name = identity.of(self.services.database)
        self.assertEqual({reservation.id: name}, cloud.aggregates.origins())
        unsigned = self.aggregates()[reservation.id]
        self.admin_api.api_post(
            f'/os-aggregates/{unsigned["id"]}/action',
            {'set_metadata': {'metadata': {'reservations:database': None}}},
        )
        self.assertEqual({reservation.id: None}, cloud.aggregates.origins())
        sweep = leftovers.Sweep(self.services.database, cloud)
        sweep.run()
        self.assertEqual({reservation.id: name}, cloud.aggregates.origins())
        sweep.run()
        self.assertIn(reservation.id, self.aggregates())

    def test_a_lease_that_starts_while_aggregates_are_read_is_signed(self):
        self.enrol('host1')
        by_key = aggregate.AggregateList.get_by_metadata_key
        reads = []

        def read_and_start(*args):
            reads.append(found := by_key(*args))
            if len(reads) == 1:
                self.lease()
            return found

        with mock.patch.object(
            aggregate.AggregateList, 'get_by_metadata_key', read_and_start
        ):
            origins = self.services.hosts.cloud.aggregates.origins()
        self.assertNotIn(None, origins.values())

    def test_the_sweep_sends_no_notification_that_could_hang(self):
        self.enrol('host1')
        [reservation] = self.lease().reservations
        cloud = self.services.hosts.cloud
        unsigned = self.aggregates()[reservation.id]
        self.admin_api.api_post(
            f'/os-aggregates/{unsigned["id"]}/action',
            {'set_metadata': {'metadata': {'reservations:database': None}}},
        )
        self.stub_out('nova.rpc.LEGACY_NOTIFIER', None)
        leftovers.Sweep(self.services.database, cloud).run()
        self.assertNotIn(None, cloud.aggregates.origins().values())
