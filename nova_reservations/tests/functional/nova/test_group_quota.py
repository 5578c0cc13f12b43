# SPDX-License-Identifier: Apache-2.0
"""Server groups of reservations and the quotas of their projects, on a whole
Nova.

Decision 0065: doc/source/decisions/0065-usable-when-answered
"""

from nova import context as nova_context
from nova import objects as nova_objects
from nova.tests.functional.api import client as api_client
from oslo_limit import fixture as limit_fixture

from nova_reservations import objects
from nova_reservations.tests.functional.nova import base
from nova_reservations.tests.functional.nova import test_instances


class TestGroupQuota(test_instances.InstancesTestCase):
    def setUp(self):
        super().setUp()
        self.flags(server_groups=1, server_group_members=1, group='quota')
        self.enrol('host1', 'host2')

    def create_group(self, name='own'):
        body = {'server_group': {'name': name, 'policy': 'affinity'}}
        answer = self.api.api_post('/os-server-groups', body)
        return answer.body['server_group']['id']

    def group_of(self, lease):
        return objects.group_id(self.id_of(lease))

    def groups(self):
        answer = self.api.api_get('/os-server-groups')
        return {each['id'] for each in answer.body['server_groups']}

    def used(self):
        limits = self.api.api_get('/limits').body['limits']['absolute']
        return limits['totalServerGroupsUsed']

    def post_in_group(self, group, flavor_id='1'):
        server = self._build_server(networks='none', flavor_id=flavor_id)
        return self.api.post_server(
            {'server': server, 'os:scheduler_hints': {'group': group}}
        )

    def check_a_group_of_its_own(self):
        lease = self.slots(1, affinity=True)
        self.assertEqual(0, self.used())
        own = self.create_group()
        self.assertEqual({own, self.group_of(lease)}, self.groups())
        self.assertEqual(1, self.used())
        self.assertEqual(403, self.status_of_refusal(self.create_group))

    def test_a_project_may_have_its_own_groups_beside_those_of_leases(self):
        self.check_a_group_of_its_own()

    def test_a_project_may_have_its_own_groups_with_unified_limits_too(self):
        self.flags(driver='nova.quota.UnifiedLimitsDriver', group='quota')
        self.useFixture(limit_fixture.LimitFixture({'server_groups': 1}, {}))
        self.check_a_group_of_its_own()

    def test_groups_of_leases_count_neither_for_the_project_nor_for_the_user(
        self,
    ):
        lease = self.slots(1, affinity=True)
        counts = nova_objects.InstanceGroupList.get_counts(
            nova_context.get_admin_context(), base.MINE, lease.user_id
        )
        none = {'server_groups': 0}
        self.assertEqual({'project': none, 'user': none}, counts)

    def test_a_server_in_the_group_of_a_lease_is_in_no_other_group(self):
        lease = self.slots(1, affinity=True)
        own = self.create_group()
        for group, flavor_id in (
            (self.group_of(lease), self.id_of(lease)),
            (own, '1'),
        ):
            server = self.post_in_group(group, flavor_id)
            self._wait_for_state_change(server, 'ACTIVE', max_retries=60)
        self.assertEqual(403, self.status_of_refusal(self.post_in_group, own))

    def test_a_group_that_is_only_named_like_that_of_a_lease_counts(self):
        lease = self.slots(1, affinity=True)
        self.create_group(f'reservation:{self.id_of(lease)}')
        self.assertEqual(403, self.status_of_refusal(self.create_group))

    def test_groups_of_other_projects_leases_do_not_count_either(self):
        self.slots(1, affinity=True, project_id=base.OTHERS)
        self.create_group()
        self.assertEqual(403, self.status_of_refusal(self.create_group))

    def test_the_group_of_a_lease_is_shown_to_its_project_only(self):
        lease = self.slots(1, affinity=True)
        path = f'/os-server-groups/{self.group_of(lease)}'
        shown = self.api.api_get(path).body['server_group']
        self.assertEqual(f'reservation:{self.id_of(lease)}', shown['name'])
        self.assertRaises(
            api_client.OpenStackApiNotFoundException,
            self.others_api.api_get,
            path,
        )
