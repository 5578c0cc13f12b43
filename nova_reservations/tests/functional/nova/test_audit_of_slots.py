# SPDX-License-Identifier: Apache-2.0
"""An audit names whatever a start has made in Nova and somebody has deleted,
and makes it again."""

from nova import context as nova_context
from nova import objects as nova_objects

from nova_reservations import objects
from nova_reservations.cloud.placement import placement
from nova_reservations.cloud.placement import provider_trees
from nova_reservations.cloud.slots import slot_classes
from nova_reservations.tests.functional.nova import base
from nova_reservations.tests.functional.nova import test_instances


class AuditOfSlotsTest(test_instances.InstancesTestCase):
    def setUp(self):
        super().setUp()
        self.enrol('host1', 'host2')

    def problems(self):
        found = self.services.audit.findings(self.now)
        return [finding.problem for finding in found]

    def assert_named_and_mended(self, lease, *expected):
        found = self.services.audit.findings(self.now)
        self.assertEqual(
            [f'Reservation {self.id_of(lease)}: {text}' for text in expected],
            [finding.problem for finding in found],
        )
        for finding in found:
            finding.repair()
        self.work()
        self.assertEqual([], self.problems())

    def flavor(self, lease):
        return nova_objects.Flavor.get_by_flavor_id(
            nova_context.get_admin_context(), self.id_of(lease)
        )

    def group(self, lease):
        return nova_objects.InstanceGroup.get_by_uuid(
            nova_context.get_admin_context(),
            objects.group_id(self.id_of(lease)),
        )

    def test_a_flavor_that_is_deleted_or_changed_is_made_again(self):
        lease = self.slots(2)
        server = self.boot_in(lease)
        self.assertEqual([], self.problems())
        self.admin_api.api_delete(f'/flavors/{self.id_of(lease)}')
        self.assert_named_and_mended(lease, 'its flavor is gone')
        self.boot_in(lease)

        flavor = self.flavor(lease)
        flavor.remove_access(base.MINE)
        flavor.add_access('of an administrator')
        self.assert_named_and_mended(
            lease, f'project {base.MINE} has no access to its flavor'
        )
        self.assertCountEqual(
            [base.MINE, 'of an administrator'], self.flavor(lease).projects
        )
        specs = dict(flavor.extra_specs)
        url = f'/flavors/{self.id_of(lease)}/os-extra_specs'
        self.admin_api.api_delete(f'{url}/{sorted(specs)[0]}')
        self.admin_api.api_post(url, {'extra_specs': {'more': 'yes'}})
        self.assert_named_and_mended(lease, 'its flavor was changed')
        self.assertEqual(specs, self.flavor(lease).extra_specs)
        self.assertEqual(flavor.id, self.flavor(lease).id)

        self.end_completely(lease)
        self._wait_until_deleted(server)
        self.assertEqual([], self.problems())

    def test_a_server_group_gets_its_servers_again(self):
        lease = self.slots(2, affinity=False)
        server = self.boot_in(lease)
        self.api.api_delete(
            f'/os-server-groups/{objects.group_id(self.id_of(lease))}'
        )
        self.assert_named_and_mended(lease, 'its server group is gone')
        self.assertEqual('anti-affinity', self.group(lease).policy)
        self.assertEqual([server['id']], self.group(lease).members)
        self.assertNotEqual(
            self.host_of(server), self.host_of(self.boot_in(lease))
        )

    def test_metadata_slots_and_members_are_made_again(self):
        lease = self.slots(2)
        key = self.id_of(lease)
        aggregate = self.aggregates()[key]['id']
        self.admin_api.api_post(
            f'/os-aggregates/{aggregate}/action',
            {'set_metadata': {'metadata': {'blazar:owner': None}}},
        )
        self.assert_named_and_mended(
            lease, 'the metadata of its aggregate was changed'
        )
        [host] = self.inventories(lease)
        uuid = self._get_provider_uuid_by_host(host)
        slot_classes.set_inventory(
            provider_trees.our_child(uuid),
            objects.slot_class(key),
            0,
            check=lambda: None,
        )
        placement.set_member(uuid, key, present=False)
        found = self.services.audit.findings(self.now)
        self.assertEqual(2, len(found), found)
        for finding in found:
            finding.repair()
        self.work()
        self.assertEqual([], self.problems())
        self.assertEqual({host: 2}, self.inventories(lease))
