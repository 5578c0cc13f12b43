# SPDX-License-Identifier: Apache-2.0
"""Resource plugins change claims, inventories and the decisions of the
scheduler.
"""

from typing import ClassVar
from unittest import mock

import fixtures
from nova import exception as nova_exception
from nova.virt import fake

from nova_reservations.compute import resources
from nova_reservations.compute import service_hooks
from nova_reservations.compute import tracker as tracking_of_nova
from nova_reservations.tests.functional.nova import tracking
from nova_reservations.tracking import stats


class TrackingTestCase(tracking.TrackingTestCase):
    """Two hosts of 100 units each."""

    compute_resources = ('cu',)
    units = 100

    def flavor(self, **extra_specs):
        return self._create_flavor(
            vcpu=1,
            memory_mb=128,
            disk=1,
            ephemeral=0,
            extra_spec={
                key.replace('__', ':'): str(value)
                for key, value in extra_specs.items()
            },
        )

    def used(self, host):
        return self.figures(self.node(host), 'cu')['used']


class ClaimTest(TrackingTestCase):
    def test_a_boot_that_does_not_fit_goes_to_the_next_host(self):
        flavor = self.flavor(reservations__cu=60)
        hosts = {self.host_of(self.boot(flavor_id=flavor)) for _ in range(2)}
        self.assertEqual({'host1', 'host2'}, hosts)
        self.assertIn('maximum', self.why_not(flavor_id=flavor).lower())
        self.assertEqual([60, 60], [self.used(host) for host in self.hosts])

    def test_a_live_migration_that_does_not_fit_never_starts(self):
        large = self.flavor(reservations__cu=60)
        server = self.boot(flavor_id=large)
        first = self.host_of(server)
        other = self.boot(flavor_id=large)
        second = self.host_of(other)
        with mock.patch.object(fake.FakeDriver, 'pre_live_migration') as begun:
            self._live_migrate(server, 'error')
            self._live_migrate(server, 'error', host=second)
        begun.assert_not_called()
        self.assertEqual(first, self.host_of(server))
        self._delete_server(other)
        self._live_migrate(server)
        self.assertEqual(second, self.host_of(server))
        self._run_periodics()
        self.assertEqual(60, self.used(second))
        self.assertEqual(0, self.used(first))

    def test_a_resize_and_an_evacuation_that_do_not_fit_are_refused(self):
        large = self.flavor(reservations__cu=60)
        servers = [self.boot(flavor_id=large) for _ in self.hosts]
        larger = self.flavor(reservations__cu=70)
        self.api.post_server_action(
            servers[0]['id'], {'resize': {'flavorRef': larger}}
        )
        self._wait_for_migration_status(servers[0], ['error'])
        self._wait_for_server_parameter(
            servers[0], {'OS-EXT-STS:task_state': None}
        )
        self.stop_host(self.host_of(servers[0]))
        self.admin_api.post_server_action(servers[0]['id'], {'evacuate': {}})
        self._wait_for_migration_status(servers[0], ['error', 'failed'])
        self.assertEqual(60, self.used(self.host_of(servers[1])))


class PromiseTest(TrackingTestCase):
    hosts = ('host1', 'host2', 'host3')

    def test_two_live_migrations_do_not_get_the_same_units(self):
        flavor = self.flavor(reservations__cu=60)
        one, other, third = (self.boot(flavor_id=flavor) for _ in self.hosts)
        target = self.host_of(third)
        self._delete_server(third)
        self._live_migrate(one, host=target)
        # Nova counts the server on its target only from the next audit on.
        self.assertEqual(0, self.used(target))
        self._live_migrate(other, 'error', host=target)
        self._run_periodics()
        self.assertEqual(60, self.used(target))
        self._delete_server(one)
        self._live_migrate(other, host=target)

    def test_a_server_that_did_not_come_is_not_waited_for(self):
        flavor = self.flavor(reservations__cu=60)
        one, other, third = (self.boot(flavor_id=flavor) for _ in self.hosts)
        target = self.host_of(third)
        self._delete_server(third)
        with mock.patch.object(
            self.computes[target].driver,
            'check_can_live_migrate_destination',
            side_effect=nova_exception.MigrationPreCheckError(reason='no'),
        ):
            self._live_migrate(one, 'error', host=target)
        self._live_migrate(other, host=target)


class InventoryTest(TrackingTestCase):
    def provider(self, host):
        return self._get_provider_uuid_by_host(host)

    def test_placement_guards_units_that_it_is_asked_for(self):
        flavor = self.flavor(
            resources__CUSTOM_CU=60, resources__VCPU=0, reservations__cu=60
        )
        servers = [self.boot(flavor_id=flavor) for _ in self.hosts]
        self.assertEqual(
            {'host1', 'host2'}, {self.host_of(server) for server in servers}
        )
        self.assertIn('No valid host', self.why_not(flavor_id=flavor))
        for host in self.hosts:
            usage = self._get_provider_usages(self.provider(host))
            self.assertEqual((60, 0), (usage['CUSTOM_CU'], usage['VCPU']))

    def test_a_plugin_that_fails_leaves_its_inventory_to_the_servers(self):
        flavor = self.flavor(resources__CUSTOM_CU=60)
        server = self.boot(flavor_id=flavor)
        host = self.host_of(server)
        before = self._get_provider_inventory(self.provider(host))
        self.assertEqual(100, before['CUSTOM_CU']['total'])
        with mock.patch(
            'nova_reservations.compute.cu.ComputeUnits.capacity',
            side_effect=RuntimeError('no power'),
        ):
            for _ in range(4):
                self._run_periodics()
            compute = self.restart_compute_service(self.computes[host])
            self.computes[host] = compute
            self._run_periodics()
            self.assertEqual(
                before, self._get_provider_inventory(self.provider(host))
            )
        self._delete_server(server)


class Broken(resources.Quantity):
    """A plugin that raises where the test wants."""

    resource_classes = frozenset({'CUSTOM_BROKEN'})
    where: ClassVar[str] = ''

    def capacity(self, host):
        return 1

    def amount(self, usage):
        return 0

    def __getattribute__(self, name):
        if name == Broken.where:
            raise RuntimeError('out of order')
        return super().__getattribute__(name)


class BrokenPluginTest(TrackingTestCase):
    """Follows a server through its life with a plugin that raises."""

    compute_resources = ('cu', 'nowhere', 'broken')

    def _install(self, directory):
        super()._install(directory)
        load = tracking_of_nova.plugin_loader.load

        def loaded(namespace, *args, **kwargs):
            found = load(namespace, *args, **kwargs)
            if namespace == tracking_of_nova.NAMESPACE:
                found.found['broken'] = Broken
                found.missing.pop('broken')
            return found

        self.enterContext(
            mock.patch.object(tracking_of_nova.plugin_loader, 'load', loaded)
        )

    def live(self, where):
        self.useFixture(fixtures.MockPatchObject(Broken, 'where', where))
        flavor = self.flavor(reservations__cu=10)
        server = self.boot(flavor_id=flavor)
        self._run_periodics(raise_on_error=False)
        server = self._resize_server(server, self.flavor(reservations__cu=20))
        self._confirm_resize(server)
        self._run_periodics()
        self._live_migrate(server)
        self._run_periodics()
        self.assertEqual(20, self.used(self.host_of(server)))
        self._delete_server(server)
        self._run_periodics()
        for host in self.hosts:
            self.assertEqual(0, self.used(host))
            told = self.plugins(host)
            self.assertEqual(1, told.running['cu'])
            self.assertIn('no installed package', told.off['nowhere'])
            # Without servers these methods are not called.
            if where not in ('add_instance', 'test'):
                self.assertIn('it failed', told.off['broken'])

    def test_reset(self):
        self.live('reset')

    def test_add_instance(self):
        self.live('add_instance')

    def test_write(self):
        self.live('write')

    def test_test(self):
        self.live('test')

    def test_inventory(self):
        self.live('inventory')


class StatsTest(TrackingTestCase):
    def test_an_audit_without_a_change_writes_nothing(self):
        self.boot(flavor_id=self.flavor(reservations__cu=10))
        self._run_periodics()
        with mock.patch(
            'nova.objects.ComputeNode.save', autospec=True
        ) as saved:
            self._run_periodics()
        saved.assert_not_called()

    def test_a_reload_tries_again_what_was_off(self):
        capacity = 'nova_reservations.compute.cu.ComputeUnits.capacity'
        with mock.patch(capacity, side_effect=RuntimeError('no power')):
            for _ in range(4):
                self._run_periodics()
        self._run_periodics()
        self.assertIn('it failed 3 times', self.plugins('host1').off['cu'])
        self.assertIsNone(stats.decode(self.node('host1').stats, 'cu'))
        tracking.CONF.mutate_config_files()
        self._run_periodics()
        self.assertEqual(0, self.used('host1'))


class AuditTest(TrackingTestCase):
    def test_listeners_are_told_of_each_audit_and_a_bad_one_of_no_other(self):
        heard = []
        tracker = self.computes['host1'].manager.rt
        self.addCleanup(service_hooks._LISTENERS.pop, tracker)
        service_hooks.listen(tracker, lambda *_: 1 / 0)
        service_hooks.listen(tracker, lambda *told: heard.append(told))
        flavor = self.flavor(reservations__cu=10)
        self.boot(flavor_id=flavor, az='nova:host1', api=self.admin_api)
        self._run_periodics()
        [(node, reported, claimed)] = heard
        self.assertEqual('host1', node)
        # The fake hypervisor and Nova both count this server.
        self.assertEqual(
            (1, 1), (reported['vcpus_used'], claimed['vcpus_used'])
        )
        self.assertEqual(1, claimed['running_vms'])


class TakenAwayTest(TrackingTestCase):
    def test_a_class_that_servers_hold_must_not_go(self):
        """The administrators' page warns of this case."""
        flavor = self.flavor(resources__CUSTOM_CU=60)
        server = self.boot(flavor_id=flavor)
        host = self.host_of(server)
        self.flags(compute_resources=['vcpu'])
        # In this test the new process gets the driver of the old one.
        del self.computes[host].driver.update_provider_tree
        self.assertRaises(
            nova_exception.PlacementPciException,
            self.restart_compute_service,
            self.computes[host],
        )
