# SPDX-License-Identifier: Apache-2.0
"""Each enrolment sent the pool's aggregate with all its hosts to all
schedulers.

Issue 13, item 14.
"""

from nova_reservations.tests.functional.nova import shared


class PoolTest(shared.SharedNova):
    def seen_in(self, aggregate):
        """Return the hosts that nova-scheduler knows to be in the
        aggregate."""
        known = self.aggregates()[aggregate]['id']
        manager = self.scheduler_service.manager.host_manager
        return {
            host
            for host, ids in manager.host_aggregates_map.items()
            if known in ids
        }

    def assert_is_told(self, aggregate, *hosts):
        def is_told():
            self.assertEqual(set(hosts), self.seen_in(aggregate))

        self._wait_for_assert(is_told)

    def add_metadata(self, metadata):
        pool = self.aggregates()['freepool']
        self.admin_api.post_aggregate_action(
            pool['id'], {'set_metadata': {'metadata': metadata}}
        )

    def test_schedulers_are_not_told_what_says_nothing_to_them(self):
        self.enrol('host1', 'host2')
        # Casts arrive in order: one of the pool would have come before this
        # one.
        [reservation] = self.lease(hosts=2).reservations
        self.assert_is_told(reservation.id, 'host1', 'host2')
        self.assertEqual(set(), self.seen_in('freepool'))
        self.assertEqual(
            {'host1', 'host2'}, {*self.aggregates()['freepool']['hosts']}
        )

    def test_metadata_of_the_pool_are_true_of_all_its_hosts(self):
        self.enrol('host1')
        self.add_metadata({'cpu_weight_multiplier': '2.0'})
        self.assert_is_told('freepool', 'host1')
        host2, _ = self.enrol('host2', 'host3')
        self.assert_is_told('freepool', 'host1', 'host2', 'host3')
        self.services.hosts.enrolment.remove(host2.id, self.now)
        self.assert_is_told('freepool', 'host1', 'host3')
