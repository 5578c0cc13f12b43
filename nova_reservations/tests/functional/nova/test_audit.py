# SPDX-License-Identifier: Apache-2.0
"""An audit names what others break in Nova and in placement, and mends it."""

import uuid

from nova_reservations.cloud.placement import placement
from nova_reservations.engine import identity
from nova_reservations.tests.functional.nova import base
from nova_reservations.tests.functional.nova import shared


class AuditTest(shared.SharedNova):
    def setUp(self):
        super().setUp()
        self.auditor = self.services.audit
        self.enrol('host1', 'host2')
        self.uuids = {
            host: self._get_provider_uuid_by_host(host) for host in self.hosts
        }

    def problems(self):
        return [finding.problem for finding in self.auditor.findings(self.now)]

    def act_on_aggregate(self, name, action, host):
        self.admin_api.api_post(
            f'/os-aggregates/{self.aggregates()[name]["id"]}/action',
            {action: {'host': host}},
        )

    def assert_named_and_mended(self, *expected):
        found = self.auditor.findings(self.now)
        self.assertEqual(len(expected), len(found), found)
        for text, finding in zip(expected, found, strict=True):
            self.assertIn(text, finding.problem)
            finding.repair()
        self.work()
        self.assertEqual([], self.problems())

    def test_nothing_is_found_in_the_life_of_a_lease(self):
        self.assertEqual([], self.problems())
        lease = self.lease(2)
        self.boot(lease)
        self.assertEqual([], self.problems())
        self.end_completely(lease)
        self.assertEqual([], self.problems())

    def test_a_trait_that_was_lost(self):
        placement.set_trait(self.uuids['host1'], present=False)
        self.assert_named_and_mended('Host host1 lacks the trait')
        self.assertEqual('host3', self.host_of(self.boot()))

    def test_a_trait_that_another_database_may_have_set(self):
        placement.set_trait(self.uuids['host3'], present=True)
        [finding] = self.auditor.findings(self.now)
        self.assertIn(f'Provider {self.uuids["host3"]}', finding.problem)
        self.assertIsNone(finding.repair)

    def test_a_member_of_the_pool_that_was_lost_in_nova(self):
        self.act_on_aggregate('freepool', 'remove_host', 'host1')
        self.assert_named_and_mended('Host host1 is not in the aggregate')
        self.assertCountEqual(
            ['host1', 'host2'], self.aggregates()['freepool']['hosts']
        )

    def test_a_member_of_the_pool_that_was_lost_in_placement(self):
        placement.set_member(
            self.uuids['host1'],
            self.aggregates()['freepool']['uuid'],
            present=False,
        )
        self.assert_named_and_mended('Host host1 is not in the aggregate')

    def test_a_host_that_a_lease_lost_in_nova(self):
        lease = self.lease(2)
        reservation = lease.reservations[0].id
        self.act_on_aggregate(reservation, 'remove_host', 'host2')
        self.assert_named_and_mended(
            f'Reservation {reservation} has other hosts in Nova'
        )
        self.assertCountEqual(
            ['host1', 'host2'], self.aggregates()[reservation]['hosts']
        )

    def test_a_host_that_a_lease_lost_in_placement(self):
        lease = self.lease(2)
        reservation = lease.reservations[0].id
        placement.set_member(self.uuids['host2'], reservation, present=False)
        self.assert_named_and_mended(
            f'Reservation {reservation} has other hosts in placement'
        )

    def test_a_whole_aggregate_that_a_lease_lost(self):
        lease = self.lease()
        reservation = lease.reservations[0].id
        [host] = self.hosts_of(lease)
        self.act_on_aggregate(reservation, 'remove_host', host)
        self.admin_api.delete_aggregate(self.aggregates()[reservation]['id'])
        self.assert_named_and_mended(
            f'Reservation {reservation} has other hosts in Nova'
        )
        self.assertEqual(host, self.host_of(self.boot(lease)))

    def test_an_aggregate_that_a_stopped_worker_left(self):
        left = str(uuid.uuid4())
        cloud = self.services.hosts.cloud
        [host] = cloud.hosts.find_hosts('host1')
        cloud.aggregates.set_aggregate_hosts(
            left,
            base.MINE,
            [host],
            lambda: None,
            identity.of(self.services.database),
        )
        self.assert_named_and_mended(f'Aggregate {left} is of no lease')
        self.assertEqual(['freepool'], list(self.aggregates()))

    def test_a_member_that_only_placement_still_has(self):
        lease = self.lease()
        self.end_completely(lease)
        reservation = lease.reservations[0].id
        placement.set_member(self.uuids['host1'], reservation, present=True)
        self.assert_named_and_mended(f'Aggregate {reservation} is of no lease')
        self.assertNotIn(
            reservation, self._get_provider_aggregates(self.uuids['host1'])
        )

    def test_aggregates_of_others_in_placement_are_left_alone(self):
        shared = str(uuid.uuid4())
        placement.set_member(self.uuids['host1'], shared, present=True)
        self.assertEqual([], self.problems())
