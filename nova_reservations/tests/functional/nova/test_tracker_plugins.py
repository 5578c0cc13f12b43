# SPDX-License-Identifier: Apache-2.0
"""The figures of plugins equal Nova's own after each step of a server's life.

This also holds while Nova's own figures are not as one would expect. The tests
compare the rows of Nova's database, which schedulers read.
"""

import contextlib
from unittest import mock

from nova_reservations.tests.functional.nova import tracking


class TrackerPluginsTest(tracking.TrackingTestCase):
    """:ivar small: 1 vcpu, 512 MiB, 10 units. :ivar large: 2, 1024 and 25."""

    compute_resources = ('vcpu', 'memory', 'cu')

    def setUp(self):
        super().setUp()
        self.small = self._create_flavor(
            name='small',
            vcpu=1,
            memory_mb=512,
            disk=1,
            ephemeral=0,
            extra_spec={'reservations:cu': '10'},
        )
        self.large = self._create_flavor(
            name='large',
            vcpu=2,
            memory_mb=1024,
            disk=1,
            ephemeral=0,
            extra_spec={'reservations:cu': '25'},
        )
        self.takes = {self.small: (1, 512, 10), self.large: (2, 1024, 25)}

    def shown(self, host):
        """Return vcpus, memory and units that are used. Check that the
        plugins' vcpus and memory are the same as Nova's own."""
        node = self.node(host)
        vcpus, memory, units = (
            self.figures(node, plugin)['used']
            for plugin in self.compute_resources
        )
        self.assertEqual(
            (node.vcpus_used, node.memory_mb_used), (vcpus, memory), host
        )
        return vcpus, memory - 512, units

    def assert_held(self, **flavors):
        """:param flavors: host -> flavors of its servers"""

        def are_held():
            for host, held in flavors.items():
                taken = [self.takes[flavor] for flavor in held]
                self.assertEqual(
                    tuple(map(sum, zip((0, 0, 0), *taken, strict=True))),
                    self.shown(host),
                    host,
                )

        self._wait_for_assert(are_held)

    def audit(self):
        self._run_periodics()

    def assert_settled(self, **flavors):
        """Check the figures now, and after an audit has counted everything
        again."""
        self.assert_held(**flavors)
        self.audit()
        self.assert_held(**flavors)

    def boot_on(self, host, flavor):
        return self.boot(
            flavor_id=flavor, az=f'nova:{host}', api=self.admin_api
        )

    def test_boot_stop_start_rebuild_delete(self):
        self.assert_settled(host1=[], host2=[])
        server = self.boot_on('host1', self.small)
        self.assert_settled(host1=[self.small], host2=[])
        other = self.boot_on('host1', self.large)
        self.assert_settled(host1=[self.small, self.large], host2=[])
        self._stop_server(server)
        self.assert_settled(host1=[self.small, self.large], host2=[])
        self._start_server(server)
        self.assert_settled(host1=[self.small, self.large], host2=[])
        image = self.glance.auto_disk_config_enabled_image['id']
        self._rebuild_server(server, image)
        self.assert_settled(host1=[self.small, self.large], host2=[])
        self._delete_server(server)
        self.assert_settled(host1=[self.large], host2=[])
        self._delete_server(other)
        self.assert_settled(host1=[], host2=[])

    def test_resize_confirmed_and_reverted(self):
        server = self.boot_on('host1', self.small)
        server = self._resize_server(server, self.large)
        self.assert_settled(host1=[self.small], host2=[self.large])
        server = self._revert_resize(server)
        self.assert_settled(host1=[self.small], host2=[])
        server = self._resize_server(server, self.large)
        self.assert_settled(host1=[self.small], host2=[self.large])
        self._confirm_resize(server)
        self.assert_settled(host1=[], host2=[self.large])

    def test_resize_on_the_same_host(self):
        self.flags(allow_resize_to_same_host=True)
        self.api_fixture.admin_api.put_service(
            self.computes['host2'].service_ref.uuid, {'status': 'disabled'}
        )
        server = self.boot_on('host1', self.small)
        server = self._resize_server(server, self.large)
        both = [self.small, self.large]
        self.assert_settled(host1=both, host2=[])
        server = self._revert_resize(server)
        self.assert_settled(host1=[self.small], host2=[])
        server = self._resize_server(server, self.large)
        self.assert_settled(host1=both, host2=[])
        self._confirm_resize(server)
        self.assert_settled(host1=[self.large], host2=[])

    def test_a_resize_that_fails(self):
        server = self.boot_on('host1', self.small)
        with self.fails('host2', 'finish_migration'):
            self.api.post_server_action(
                server['id'], {'resize': {'flavorRef': self.large}}
            )
            self._wait_for_state_change(server, 'ERROR')
        self.assert_held(host1=[self.small])
        self.audit()
        for host in self.hosts:
            self.shown(host)

    def test_cold_and_live_migration(self):
        server = self.boot_on('host1', self.small)
        server = self._migrate_server(server)
        self.assert_settled(host1=[self.small], host2=[self.small])
        self._confirm_resize(server)
        self.assert_settled(host1=[], host2=[self.small])
        self._live_migrate(server)
        # Nova's own figures change only with the next audit.
        for host in self.hosts:
            self.shown(host)
        self.audit()
        self.assert_held(host1=[self.small], host2=[])

    def test_a_live_migration_that_fails(self):
        server = self.boot_on('host1', self.small)
        with self.fails('host2', 'pre_live_migration'):
            self._live_migrate(server, 'failed')
        self.assert_held(host1=[self.small])
        self.audit()
        for host in self.hosts:
            self.shown(host)

    def test_shelve_and_unshelve(self):
        server = self.boot_on('host1', self.small)
        self._shelve_server(server)
        self.assert_settled(host1=[], host2=[])
        # The server goes to another host.
        self.api_fixture.admin_api.put_service(
            self.computes['host1'].service_ref.uuid, {'status': 'disabled'}
        )
        self._unshelve_server(server)
        self.assert_settled(host1=[], host2=[self.small])

    def test_evacuate_and_the_source_comes_back(self):
        server = self.boot_on('host1', self.large)
        source = self.computes['host1']
        self.stop_host('host1')
        self._evacuate_server(server, expected_host='host2')
        self.assert_held(host2=[self.large])
        # The host deletes the server that was evacuated from it.
        self.computes['host1'] = self.restart_compute_service(source)
        self.assert_settled(host1=[], host2=[self.large])

    def test_a_restart_counts_what_is_there(self):
        server = self.boot_on('host1', self.small)
        moving = self.boot_on('host1', self.small)
        moving = self._resize_server(moving, self.large)
        for host in self.hosts:
            self.computes[host] = self.restart_compute_service(
                self.computes[host]
            )
        self.assert_settled(host1=[self.small, self.small], host2=[self.large])
        self._revert_resize(moving)
        self._delete_server(server)
        self.assert_settled(host1=[self.small], host2=[])

    def test_a_spawn_that_fails(self):
        with self.fails('host1', 'spawn'), self.fails('host2', 'spawn'):
            server = self.post(flavor_id=self.large)
            self._wait_for_state_change(server, 'ERROR')
        self.assert_settled(host1=[], host2=[])
        with self.fails('host1', 'spawn'):
            server = self.boot(flavor_id=self.large)
        self.assert_settled(host1=[], host2=[self.large])

    def test_editing_a_flavor_never_moves_the_states(self):
        server = self.boot_on('host1', self.small)
        server = self._resize_server(server, self.large)
        admin = self.api_fixture.admin_api
        for flavor in (self.small, self.large):
            admin.post_extra_spec(
                flavor, {'extra_specs': {'reservations:cu': '99'}}
            )
        self.assert_settled(host1=[self.small], host2=[self.large])
        self.computes['host2'] = self.restart_compute_service(
            self.computes['host2']
        )
        self.assert_settled(host1=[self.small], host2=[self.large])
        self._delete_flavor(self.small)
        server = self._revert_resize(server)
        self.assert_settled(host1=[self.small], host2=[])
        self._delete_server(server)
        self.assert_settled(host1=[], host2=[])

    @contextlib.contextmanager
    def fails(self, host, method):
        with mock.patch.object(
            self.computes[host].driver,
            method,
            side_effect=RuntimeError('the hypervisor has a bad day'),
        ):
            yield
